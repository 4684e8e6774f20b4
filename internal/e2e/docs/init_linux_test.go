package docs

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestInitAtATerminal answers the questions of init as a newcomer would: each shows its default and what follows from
// an answer, and Enter drops nothing that was chosen.
func TestInitAtATerminal(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	s := startPrompt(t, shell, shellStart{
		args: []string{"--norc", "--noprofile", "-i"},
		setup: "PS1='> '; bind 'set enable-bracketed-paste off'; mkdir new; cd new; git init -q; " +
			"git remote add origin git@github.com:acme/cdns.git",
	})
	s.write(t, "trueup init; echo en''ded $?; ls .github/workflows; cat trueup.yaml; echo li''sted\r")
	commit := strings.Repeat("0123456789", 4)
	for _, step := range []struct{ prompt, says, answer string }{
		{"workspace (no default): ", "from your profile in the web console", "acme"},
		{"uuid (no default): ", "CDNs of this workspace only", ""},
		{"uuid (no default): ", "", "5a1d"},
		{"ledger [git:refs/trueup/ledger]: ", "file:.trueup/ledger     a folder: works on this machine only", "file:.trueup/ledger"},
		{"manifests [examples]: ", "None of these changes the platform", ""},
		{"ci [none]: ", "github  writes .github/workflows", "github"},
		{"OWNER/NAME@COMMIT (no default): ", "with your tokens", ""},
		{"OWNER/NAME@COMMIT (no default): ", "", "acme/trueup@" + commit},
		{"Type yes to do this [no]: ", "write .github/workflows/trueup-plan.yml", "yes"},
	} {
		if shown := s.until(t, step.prompt); !strings.Contains(shown, step.says) || strings.Contains(shown, `\n`) {
			t.Errorf("before %q: %q is not in\n%s", step.prompt, step.says, shown)
		}
		s.write(t, step.answer+"\r")
	}
	shown := s.until(t, "\nlisted")
	for _, want := range []string{"trueup-plan.yml", "name: \"acme\"", "uuid: \"5a1d\"", "store: \"file:.trueup/ledger\""} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
}

// until waits for a text, and returns what was shown up to it. What is shown next is empty then.
func (s *prompt) until(t *testing.T, want string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if shown := s.seen(); strings.Contains(shown, want) {
			s.mutex.Lock()
			s.out.Reset()
			s.mutex.Unlock()
			return shown
		}
	}
	t.Fatalf("%q was not shown, but\n%q", want, s.seen())
	return ""
}
