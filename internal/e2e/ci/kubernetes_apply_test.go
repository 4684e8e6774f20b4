package ci

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestApplyScriptEnds runs deploy/kubernetes/apply.sh with a kubectl that answers as the cluster does in each case.
func TestApplyScriptEnds(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	for name, c := range map[string]struct {
		jobs string // what a look at a Job prints, from the second one on
		pod  string // the exit code of the pod that merges
		code int
		says string
	}{
		"complete": {jobs: "1 Complete", pod: "0"},
		"failed":   {jobs: "1 SuccessCriteriaMet Failed", pod: "7", code: 7},
		"no pod":   {jobs: "1 Failed", code: 1, says: "left no exit code"},
		"deleted":  {jobs: "", code: 1, says: "trueup-apply was deleted or replaced"},
		"replaced": {jobs: "2", code: 1, says: "trueup-apply was deleted or replaced"},
		"endless":  {jobs: "1", code: 1, says: "trueup-apply did not end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			// Ten minutes pass whenever the script looks.
			scripts := map[string]string{
				"sleep": "exit 0",
				"date":  "echo x >>" + bin + "/looks; echo $(($(wc -l <" + bin + "/looks) * 600))",
				"kubectl": `case "$*" in
*"get job"*) if [ -e ` + bin + `/begun ]; then echo '` + c.jobs + `'; else : >` + bin + `/begun; echo '1'; fi ;;
*"get pods"*) printf '%s' '` + c.pod + `' ;;
*) cat >/dev/null ;;
esac`,
			}
			for name, text := range scripts {
				if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil { //nolint:gosec // it is run
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join("deploy", "kubernetes", "apply.sh"), strings.Repeat("a", 40))
			cmd.Env = append(cmd.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("%v %v\n%s", err, exit, out)
			}
			if !strings.Contains(string(out), c.says) {
				t.Errorf("no %q in\n%s", c.says, out)
			}
		})
	}
}
