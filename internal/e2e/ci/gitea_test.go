//go:build linux

package ci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/internal/e2e/harness"
)

// gitea is a code host that is real.
type gitea struct {
	t *testing.T
	// address has the name and the password of its administrator, and trueup is the newest commit of acme/trueup there.
	address, trueup string
}

// TestGitea runs testdata/gitea: the shipped workflows on the host that .ci/gitea starts.
func TestGitea(t *testing.T) {
	g := gitea{t, os.Getenv("TRUEUP_TEST_GITEA"), os.Getenv("TRUEUP_TEST_GITEA_COMMIT")}
	if g.address == "" {
		t.Skip("TRUEUP_TEST_GITEA does not say where Gitea is: .ci/gitea starts one")
	}
	harness.RunScripts(t, "internal/e2e/ci/testdata/gitea", true, map[string]harness.Command{"gitea": g.cmdGitea, "ran": g.cmdRan})
}

// cmdGitea sends a request to the host's API, and prints the answer:
//
//	gitea METHOD PATH [JSON]
//
// From the first one on, $GITEA is where repositories are pushed to, and $COMMIT the one of acme/trueup.
func (g gitea) cmdGitea(s *harness.Script, args []string) error {
	if len(args) < 2 {
		return harness.ErrUsage
	}
	s.Setenv("GITEA", g.address)
	s.Setenv("COMMIT", g.trueup)
	answer, err := g.call(args[0], args[1], strings.Join(args[2:], " "))
	if err == nil {
		_, err = s.Stdout().Write(append(answer, '\n'))
	}
	return err
}

func (g gitea) call(method, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.address+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	answer, err := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer, err
}

// giteaRun is a run of a workflow, or one of its jobs.
type giteaRun struct {
	ID                             int64
	Name, Path, Status, Conclusion string
}

// cmdRan waits until the N-th run of a workflow of acme/site ends, and prints what its jobs printed, and what
// became of each:
//
//	ran FILE N
func (g gitea) cmdRan(s *harness.Script, args []string) error {
	if len(args) != 2 {
		return harness.ErrUsage
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for limit := time.Now().Add(20 * time.Minute); time.Now().Before(limit); time.Sleep(time.Second) {
		runs, err := g.runs("runs?limit=50")
		if err != nil {
			return err
		}
		// The newest is the first.
		runs = slices.DeleteFunc(runs, func(r giteaRun) bool { return !strings.HasPrefix(r.Path, args[0]+"@") })
		if len(runs) >= n && runs[len(runs)-n].Status == "completed" {
			return g.printJobs(s, runs[len(runs)-n].ID)
		}
	}
	return errors.New("the run has not ended within 20 minutes")
}

// runs are those that the host lists at a path, or the jobs of one.
func (g gitea) runs(path string) ([]giteaRun, error) {
	answer, err := g.call(http.MethodGet, "repos/acme/site/actions/"+path, "")
	if err != nil {
		return nil, err
	}
	var list struct {
		Runs []giteaRun `json:"workflow_runs"`
		Jobs []giteaRun
	}
	err = json.Unmarshal(answer, &list)
	return append(list.Runs, list.Jobs...), err
}

// lineTime is what the host puts before each line of a log.
var lineTime = regexp.MustCompile(`(?m)^\S+Z `)

func (g gitea) printJobs(s *harness.Script, run int64) error {
	jobs, err := g.runs(fmt.Sprintf("runs/%d/jobs", run))
	for _, j := range jobs {
		var log []byte
		if j.Conclusion != "skipped" {
			log, err = g.call(http.MethodGet, fmt.Sprintf("repos/acme/site/actions/jobs/%d/logs", j.ID), "")
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Stdout(), "%s\njob %s: %s\n", lineTime.ReplaceAll(log, nil), j.Name, j.Conclusion); err != nil {
			return err
		}
	}
	return err
}
