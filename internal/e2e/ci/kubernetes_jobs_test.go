//go:build linux

package ci

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// indexes are those of a list such as 1,3-5.
func (c *cluster) indexes(list string) (all []int) {
	c.t.Helper()
	for part := range strings.SplitSeq(list, ",") {
		if part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err := errors.Join(err1, err2); err != nil {
			c.t.Fatal(err)
		}
		for i := from; i <= to; i++ {
			all = append(all, i)
		}
	}
	return all
}

// outcomes are what the page says that a Job does when a pod has ended: how many pods an index gets whose pods always end
// so, and whether it fails.
var outcomes = map[string]struct {
	pods  int
	fails bool
}{
	"the shard is done": {1, false},
	"fails the shard at once: another try would end the same": {1, true},
	"tries again, up to six times":                            {7, true},
}

// killed stands for a code in the page's table.
const killed = "or it is killed"

// said returns what the page says of each end of a pod, for apply or drift.
func (c *cluster) said(command string) map[string]string {
	c.t.Helper()
	said := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.+) \| (.+) \|$`).FindAllStringSubmatch(c.page, -1) {
		ends, more, _ := strings.Cut(row[1], ", for drift also ")
		if command == "drift" {
			ends += ", " + more
		}
		for end := range strings.SplitSeq(ends, ", ") {
			if _, err := strconv.Atoi(end); err == nil || end == killed {
				said[end] = row[2]
			}
		}
	}
	if len(said) < 10 {
		c.t.Fatalf("docs/fleets.md says only %v", said)
	}
	return said
}

// startCodes starts a Job for apply and one for drift, whose pods end in each way. It returns their names, by command.
func (c *cluster) startCodes() map[string]string {
	c.programs(`#!/bin/sh
case " $* " in *' -- apply '*) ends=apply ;; *' -- drift '*) ends=drift ;; esac
end=$(sed -n "$((JOB_COMPLETION_INDEX + 1))p" "/usr/local/bin/$ends")
[ "$end" != '` + killed + `' ] || kill -9 $$
exit "$end"
`)
	c.edit(kustomization, realImage, codesImage)
	// Another name, because others take the one of the branch meanwhile.
	commit := c.commit("pods that end in each way")
	c.command("bash", "-euo", "pipefail", "-c", "kubectl kustomize deploy/kubernetes | sed 's/^  name: trueup-apply$/  name: codes/; s/COMMIT/"+commit+"/' | kubectl apply -f -")
	c.schedule("* * * * *", false)
	drift := c.startedByCronJob()
	c.schedule("17 */6 * * *", true)
	c.edit(kustomization, codesImage, realImage)
	return map[string]string{"apply": "codes", "drift": drift}
}

// programs writes the image whose pods end as the page's table says.
func (c *cluster) programs(script string) {
	folder := c.images[codesImage]
	err := os.WriteFile(filepath.Join(folder, "trueup"), []byte(script), 0o700)
	for _, command := range []string{"apply", "drift"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, command), []byte(strings.Join(c.ends(command), "\n")+"\n"), 0o600))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// ends are how the pods of each index end.
func (c *cluster) ends(command string) []string {
	list := slices.Sorted(maps.Keys(c.said(command)))
	for len(list) < shards {
		list = append(list, "0")
	}
	return list
}

// testCodes compares what the controllers did with what the page says.
func (c *cluster) testCodes(jobs map[string]string) {
	for command, name := range jobs {
		said := c.said(command)
		j, pods := c.waitForJob(name)
		failed := c.indexes(j.Status.FailedIndexes)
		if n := len(failed) + len(c.indexes(j.Status.CompletedIndexes)); n != shards {
			c.t.Errorf("%s: %d indexes ended", command, n)
		}
		for i, end := range c.ends(command) {
			want, ok := outcomes[said[end]]
			if !ok {
				c.t.Fatalf("docs/fleets.md says %q of %s", said[end], end)
			}
			fails := slices.Contains(failed, i)
			if len(pods[i]) != want.pods || fails != want.fails {
				c.t.Errorf("%s: %d pods ended with %s, failed: %t", command, len(pods[i]), end, fails)
			}
			for _, p := range pods[i] {
				code := strings.Replace(end, killed, "137", 1)
				if got := strconv.Itoa(p.Status.ContainerStatuses[0].State.Terminated.ExitCode); got != code {
					c.t.Errorf("%s: a pod ended with %s, should %s", command, got, code)
				}
			}
			if i < len(said) {
				c.t.Logf("%s, %s: %d pods, fails: %t", command, end, len(pods[i]), fails)
			}
		}
	}
}

// testApply applies the purges of the whole fleet. While each of three pods sends one, it is killed, its node is drained,
// or its node goes away. Then the same commit is applied again.
func (c *cluster) testApply() {
	victims := c.victims()
	blows := []*blow{
		{project: victims[0], do: func(r *runningPod) error {
			c.each(func(other *runningPod) {
				if other == r {
					c.kill(r, syscall.SIGKILL)
				}
			})
			return nil
		}},
		{project: victims[1], do: c.drain},
		{project: victims[2], do: c.lose},
	}
	c.strike(blows)
	commit := c.commit("the fleet")
	c.apply(commit, 0)
	j, pods := c.waitForJob("trueup-apply")
	c.platform.OnRequest(nil)
	if j.Status.CompletedIndexes != fmt.Sprintf("0-%d", shards-1) || j.Status.FailedIndexes != "" {
		c.t.Errorf("completed %q, failed %q", j.Status.CompletedIndexes, j.Status.FailedIndexes)
	}
	// The API keeps no pod that was evicted, or whose node is gone.
	for n, want := range []struct {
		code    int
		ignored string
		kept    bool
	}{{137, "", true}, {130, "1", false}, {137, "1", false}} {
		b := blows[n]
		left := pods[c.shard[b.project]]
		var codes []int
		for _, p := range left {
			codes = append(codes, c.code(p.Metadata.Name))
		}
		ignored := left[len(left)-1].Metadata.Annotations["batch.kubernetes.io/job-index-ignored-failure-count"]
		c.t.Logf("a pod of index %d ended with %d; those that are left with %v; %q ignored", c.shard[b.project], c.code(b.struck), codes, ignored)
		kept := slices.ContainsFunc(left, func(p pod) bool { return p.Metadata.Name == b.struck })
		if c.code(b.struck) != want.code || ignored != want.ignored || kept != want.kept {
			c.t.Errorf("blow %d: should be exit %d, %q ignored", n, want.code, want.ignored)
		}
	}
	c.sentOnce(fleetSize * perProject)
	c.merged(commit, 0, fmt.Sprintf("Apply of %d projects: %d purges posted, %[1]d unchanged.", fleetSize, fleetSize*perProject))
	c.apply(commit, 0)
	c.sentOnce(fleetSize * perProject)
}

// blow is what befalls a pod while a purge of a project is sent for the first time.
type blow struct {
	project string
	do      func(*runningPod) error
	// struck is the pod.
	struck string
	once   sync.Once
}

// victims are projects of different shards, but not those of other tests.
func (c *cluster) victims() (projects []string) {
	taken := []int{c.shard[invalid], c.shard[missing], c.shard[unpinned]}
	for _, p := range slices.Sorted(maps.Keys(c.shard)) {
		if i := c.shard[p]; !slices.Contains(taken, i) {
			taken, projects = append(taken, i), append(projects, p)
		}
	}
	return projects
}

// strike has blows befall pods.
func (c *cluster) strike(blows []*blow) {
	c.platform.OnRequest(func(method, path string) {
		for _, b := range blows {
			n, _ := strconv.Atoi(b.project[1:])
			if method != http.MethodPost || !strings.HasSuffix(path, "/workspaces/"+workspace(n)+"/purges") {
				continue
			}
			b.once.Do(func() {
				var r *runningPod
				c.each(func(other *runningPod) {
					if strings.HasPrefix(other.Spec.Containers[0].Image, realImage) && other.index() == strconv.Itoa(c.shard[b.project]) {
						r = other
					}
				})
				b.struck = r.Metadata.Name
				if err := b.do(r); err != nil {
					c.t.Error(err)
				}
			})
		}
	})
}

// sentOnce demands that the platform executed that many purges of the fleet, each once.
func (c *cluster) sentOnce(want int) {
	c.t.Helper()
	executed, err := c.platform.CountExecutedPurges()
	if err != nil {
		c.t.Fatal(err)
	}
	seen := 0
	for name, n := range executed {
		if n != 1 {
			c.t.Errorf("%s was executed %d times", name, n)
		}
		if strings.HasPrefix(name, "rel-") {
			seen++
		}
	}
	if seen != want {
		c.t.Errorf("%d purges were executed, %d should", seen, want)
	}
}

// merged merges the results of a Job, and demands an exit code and words.
func (c *cluster) merged(folder string, code int, words ...string) {
	c.t.Helper()
	out, got := c.exits(c.program(), "show", filepath.Join(c.claim("trueup-results"), folder))
	if got != code {
		c.t.Errorf("show: exit %d\n%s", got, out)
	}
	for _, w := range words {
		if !strings.Contains(out, w) {
			c.t.Errorf("show does not say %q\n%s", w, out)
		}
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	c.t.Logf("show %s: exit %d: %s", folder, got, lines[len(lines)-1])
}

// testInvalid applies a commit with an invalid manifest, a project that names another workspace and no ledger, and a new
// purge.
func (c *cluster) testInvalid() {
	c.edit(invalid+"/manifests/cdn.yaml", "kind: CDN", "kind: CND")
	c.write(unpinned+"/trueup.yaml", fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nworkspace: {name: other, uuid: %s}\nmanifests: [manifests]\n", workspace(fleetSize)))
	c.edit(missing+"/manifests/purges.yaml", "rel-0", "rel-new")
	commit := c.commit("one project is invalid")
	c.apply(commit, 4)
	j, pods := c.waitForJob("trueup-apply")
	c.failedOnce(j, pods, invalid, unpinned)
	c.sentOnce(fleetSize*perProject + 1)
	c.merged(commit, 4, invalid+"/manifests/cdn.yaml", "TRUEUP_PROJECTS allows only", "1 purge posted")
}

// failedOnce demands that the indexes of these projects failed at the first try, and no others.
func (c *cluster) failedOnce(j job, pods map[int][]pod, projects ...string) {
	c.t.Helper()
	var want []int
	for _, p := range projects {
		want = append(want, c.shard[p])
	}
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(c.indexes(j.Status.FailedIndexes), want) {
		c.t.Errorf("%s: indexes %q failed, %v should", j.Metadata.Name, j.Status.FailedIndexes, want)
	}
	for _, i := range want {
		if len(pods[i]) != 1 {
			c.t.Errorf("%s: index %d was tried %d times", j.Metadata.Name, i, len(pods[i]))
		}
	}
}

// testOlder applies a commit after a newer one.
func (c *cluster) testOlder() {
	if err := c.platform.ResetRequests(); err != nil {
		c.t.Fatal(err)
	}
	older := strings.TrimSpace(c.command("git", "rev-parse", "HEAD~1"))
	c.apply(older, 3)
	c.merged(older, 3, "is older than commit")
	requests, err := c.platform.Requests()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range requests {
		if r.Method != http.MethodGet {
			c.t.Errorf("an older commit sends %s %s", r.Method, r.Path)
		}
	}
}

// testSettle has the CronJob's Job settle what nobody left open.
func (c *cluster) testSettle() {
	c.command("kubectl", "-n", "trueup", "create", "job", "--from=cronjob/trueup-settle", "settle-now")
	j, pods := c.waitForJob("settle-now")
	c.failedOnce(j, pods, invalid, unpinned)
}

// testPrune has the CronJob's Job remove results of two weeks ago, and no others.
func (c *cluster) testPrune() {
	at := time.Now().AddDate(0, 0, -15)
	old := filepath.Join(c.claim("trueup-results"), "old")
	if err := errors.Join(os.MkdirAll(filepath.Join(old, "p01"), 0o700), os.Chtimes(old, at, at)); err != nil {
		c.t.Fatal(err)
	}
	before := c.kept()
	c.command("kubectl", "-n", "trueup", "create", "job", "--from=cronjob/trueup-prune", "prune-now")
	c.waitForJob("prune-now")
	if left := c.kept(); !slices.Equal(left, slices.DeleteFunc(before, func(name string) bool { return name == "old" })) || len(left) == 0 {
		c.t.Errorf("left are the results %q", left)
	}
}

// kept are the names of the folders with results.
func (c *cluster) kept() (names []string) {
	c.t.Helper()
	folders, err := os.ReadDir(c.claim("trueup-results"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range folders {
		names = append(names, f.Name())
	}
	return names
}

// testDrift has the CronJob's Job find that a CDN is gone.
func (c *cluster) testDrift() {
	if err := c.platform.Remove("CDN", missing, missing); err != nil {
		c.t.Fatal(err)
	}
	c.command("kubectl", "-n", "trueup", "create", "job", "--from=cronjob/trueup-drift", "drift-now")
	j, pods := c.waitForJob("drift-now")
	c.failedOnce(j, pods, invalid, missing, unpinned)
	c.merged("drift-now", 4, missing)
}
