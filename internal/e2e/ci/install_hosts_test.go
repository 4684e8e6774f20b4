//go:build linux

package ci

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallFromPrivateHost: it needs the password in the address, and the one that it sends on to does not get it.
func TestInstallFromPrivateHost(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"wget", "curl"} {
		t.Run("without "+missing, func(t *testing.T) {
			i := newInstallation(t)
			i.without(missing)
			i.write("bin/go", "#!/bin/sh\nexit 1\n")
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, token, _ := r.BasicAuth(); token != "secret" {
					http.NotFound(w, r)
					return
				}
				i.token = "" // which is what the storage gets
				http.Redirect(w, r, i.mirror.URL+"/mirror/"+releasedArchive, http.StatusFound)
			}))
			defer host.Close()
			login := strings.NewReplacer("://", "://job:secret@")
			for address, private := range map[string]bool{i.mirror.URL + "/mirror": false, login.Replace(i.mirror.URL) + "/mirror": true, login.Replace(host.URL): true} {
				i.token = "secret"
				said, program, err := i.run("TRUEUP_DOWNLOAD=" + address)
				if (err == nil) != private || strings.HasPrefix(program, "trueup v1.2.3") != private || strings.Contains(said, "secret") {
					t.Errorf("from %s: %v, installed is %q: %s", address, err, program, said)
				}
			}
		})
	}
}

// TestInstallFromGitLab runs the commands of the template: a private project's packages need the job's token.
func TestInstallFromGitLab(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{"of-the-job": "trueup v1.2.3", "of-another": "built"} {
		i := newInstallation(t)
		i.token = "of-the-job"
		script := gitlabInstalls(t, strings.TrimSpace(i.git("rev-parse", "HEAD")))
		cmd := exec.Command("bash", "-c", script+"trueup version")
		cmd.Env = []string{
			i.variable(), "HOME=" + i.dir, "CI_SERVER_URL=https://gitlab.example", "CI_API_V4_URL=" + i.mirror.URL + "/api/v4", "CI_JOB_TOKEN=" + token,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + filepath.Join(i.dir, "clone") + ".insteadOf", "GIT_CONFIG_VALUE_0=https://gitlab.example/tools/trueup.git",
		}
		out, err := cmd.CombinedOutput()
		if lines := strings.Split(strings.TrimSpace(string(out)), "\n"); err != nil || !strings.HasPrefix(lines[len(lines)-1], want) || strings.Contains(string(out), token) {
			t.Errorf("with the token %s: %v: %s", token, err, out)
		}
	}
}

// gitlabInstalls returns the commands of the template that install trueup at a commit.
func gitlabInstalls(t *testing.T, commit string) string {
	t.Helper()
	_, jobs := readGitLab(t, gitlabFile)
	script := "set -euo pipefail\n"
	for _, part := range jobs["-plan"].Script {
		if strings.Contains(part, "install.sh") {
			script += strings.NewReplacer("$[[ inputs.project ]]", "tools/trueup", "$[[ inputs.commit ]]", commit).Replace(part)
		}
	}
	return script
}

// TestFetchFromGitLab: git sends the job's token to a private project, and has it in the arguments of no program,
// which every user of the machine can read.
func TestFetchFromGitLab(t *testing.T) {
	t.Parallel()
	sent := ""
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, token, ok := r.BasicAuth()
		if !ok {
			w.Header().Set("WWW-Authenticate", "Basic realm=GitLab")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		sent = user + ":" + token + r.URL.Path
		http.NotFound(w, r)
	}))
	defer host.Close()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("bash", "-c", gitlabInstalls(t, trueupCommit))
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(trace), "CI_SERVER_URL=" + host.URL, "CI_API_V4_URL=" + host.URL, "CI_JOB_TOKEN=of-the-job", "GIT_TRACE=" + trace,
	}
	out, err := cmd.CombinedOutput()
	arguments, readErr := os.ReadFile(trace)
	if err == nil || sent != "gitlab-ci-token:of-the-job/tools/trueup.git/info/refs" || readErr != nil || !strings.Contains(string(arguments), "remote-http") || strings.Contains(string(arguments)+string(out), "of-the-job") {
		t.Errorf("%v: sent is %q: %s%s", err, sent, out, arguments)
	}
}

// TestInstallByAction runs the first step of the action: where it looks for archives, and what it asks of the next steps.
func TestInstallByAction(t *testing.T) {
	t.Parallel()
	step := readAction(t).Runs.Steps[0]
	if releases := "${{ github.server_url }}/${{ github.action_repository }}/releases/download"; step.Env["RELEASES"] != releases || step.Env["TRUEUP_DOWNLOAD"] != "${{ inputs.download }}" || step.Env["TRUEUP_CACHE"] != "${{ runner.tool_cache }}/trueup" {
		t.Errorf("the step has %v", step.Env)
	}
	for name, test := range map[string]struct {
		arrange func(i *installation)
		// mirror is the input, releases what the host has. program and output are nothing if the step fails.
		mirror, releases, program, output string
	}{
		"the host's archive":   {(*installation).asAction, "", "/mirror", "trueup v1.2.3", ""},
		"a mirror's":           {(*installation).asAction, "/mirror", "/nowhere", "trueup v1.2.3", ""},
		"not there":            {(*installation).asAction, "", "/nowhere", "", "build=true\n"},
		"a clone's own origin": {func(i *installation) { i.git("remote", "add", "origin", i.mirror.URL+"/nowhere") }, "", "/mirror", "", "build=true\n"},
		"another archive": {func(i *installation) {
			i.asAction()
			i.served = append(i.archive[:len(i.archive):len(i.archive)], 0)
		}, "", "/mirror", "", ""},
	} {
		i := newInstallation(t)
		test.arrange(i)
		if test.mirror != "" {
			test.mirror = i.mirror.URL + test.mirror
		}
		output := filepath.Join(i.dir, "output")
		i.write("output", "")
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Env = []string{
			i.variable(), "HOME=" + i.dir, "GITHUB_ACTION_PATH=" + filepath.Join(i.dir, "clone"), "RUNNER_TEMP=" + i.dir, "GITHUB_OUTPUT=" + output,
			"RELEASES=" + i.mirror.URL + test.releases, "TRUEUP_DOWNLOAD=" + test.mirror, "TRUEUP_CACHE=" + filepath.Join(i.dir, "cache"),
		}
		said, err := cmd.CombinedOutput()
		program, _ := exec.Command(filepath.Join(i.dir, "trueup", "trueup")).Output()
		asked, readErr := os.ReadFile(output)
		if (err != nil) != (test.program+test.output == "") || !strings.HasPrefix(string(program), test.program) || test.program == "" && len(program) > 0 || string(asked) != test.output || readErr != nil {
			t.Errorf("%s: %v: installed is %q, asked for is %q: %s", name, err, program, asked, said)
		}
	}
}
