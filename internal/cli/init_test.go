package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/internal/blob"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// initIn runs init in a folder, where somebody at a terminal gives the answers;
// nil is no terminal.
func initIn(t *testing.T, dir string, answers []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(t.Context(), append([]string{"init"}, args...), config.Env{
		Stdin: strings.NewReader(strings.Join(answers, "\n") + "\n"), Stdout: &out, Stderr: &errs,
		Getenv: addressed(nil), Now: time.Now, Sleep: blob.Sleep, Cwd: dir, StdinIsTTY: answers != nil,
	})
	return code, out.String(), errs.String()
}

// addressed is an environment that has the platform's addresses.
func addressed(vars map[string]string) func(string) string {
	return func(name string) string {
		switch name {
		case "TRUEUP_DELIVERY_URL", "TRUEUP_COMPUTE_URL":
			return "http://127.0.0.1:9/" + name
		}
		return vars[name]
	}
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestInitKeepsAnswers: a failure after the last question repeats the answers as flags.
func TestInitKeepsAnswers(t *testing.T) {
	answers := []string{"acme", "5a1d", "file:.trueup/ledger", "examples", "no"}
	var errs bytes.Buffer
	if code := Main(t.Context(), []string{"init"}, config.Env{
		Stdin: strings.NewReader(strings.Join(answers, "\n") + "\n"), Stdout: io.Discard, Stderr: &errs,
		Getenv: addressed(nil), Now: time.Now, Sleep: blob.Sleep, Cwd: t.TempDir(), StdinIsTTY: true,
	}); code != diag.ExitError {
		t.Errorf("exit %d", code)
	}
	want := "to give these answers again: trueup init --workspace acme --uuid 5a1d --ledger file:.trueup/ledger --manifests examples\n"
	if !strings.Contains(errs.String(), want) {
		t.Error(errs.String())
	}
}

// TestInitAsks: what no flag says is asked, with what is usual as the proposal,
// and again where an answer can't be one.
func TestInitAsks(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := initIn(t, dir, []string{"", "a b", "acme", "5a1d", "ledger", "file:.trueup/ledger", "live", "examples", "yes"})
	if code != diag.ExitOK {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{
		"name and uuid have letters, digits", "ledger [git:refs/trueup/ledger]: ", "works on this machine only", "waits until you add that remote",
		`--manifests is "live": write pull, examples or none`, "manifests [pull]: ", "  write trueup.yaml\n", "Type yes to do this [no]: ",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not in\n%s", want, stderr)
		}
	}
	text := content(t, dir, "trueup.yaml")
	for _, want := range []string{"name: \"acme\"\n", "uuid: \"5a1d\"\n", "store: \"file:.trueup/ledger\"\n", "  id: \""} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if code, stdout, _ := initIn(t, dir, []string{}); code != diag.ExitOK || !strings.Contains(stdout, "nothing to do: everything is there") {
		t.Errorf("again: exit %d\n%s", code, stdout)
	}
}

// TestInitAsksOnlyWhatItCannotKnow: what the environment pins, a remote shows or a folder has is not asked.
func TestInitAsksOnlyWhatItCannotKnow(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "manifests/.gitkeep", "")
	var out bytes.Buffer
	code := Main(t.Context(), []string{"init"}, config.Env{
		Stdin: strings.NewReader("acme\nno\n"), Stdout: &out, Stderr: &out, Now: time.Now, Sleep: blob.Sleep, Cwd: dir, StdinIsTTY: true,
		Getenv: addressed(map[string]string{"TRUEUP_WORKSPACE": "5a1d", "TRUEUP_LEDGER": "file:" + t.TempDir()}),
	})
	if code != diag.ExitError || strings.Count(out.String(), "]: ")+strings.Count(out.String(), "(no default): ") != 2 {
		t.Errorf("exit %d\n%s", code, out.String())
	}
}

// TestInitWritesNothingWithoutAYes: nor does it make a ledger.
func TestInitWritesNothingWithoutAYes(t *testing.T) {
	for _, answers := range [][]string{{"acme"}, {"acme", "5a1d", "", "", "y"}, {"acme", "5a1d", "", "", "YES"}, {"acme", "5a1d", "none", "none"}, nil} {
		dir := t.TempDir()
		args := []string{}
		if answers == nil {
			args = []string{"--workspace", "acme", "--uuid", "5a1d"}
		}
		code, _, stderr := initIn(t, dir, answers, args...)
		if code != diag.ExitError || !strings.Contains(stderr, "nothing was written") {
			t.Errorf("%q: exit %d: %s", answers, code, stderr)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%q: %v is there", answers, entries)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSchemaIsNamedFromWhereAManifestIs: where there is none to name, or the
// manifest is not of the project, none is named.
func TestSchemaIsNamedFromWhereAManifestIs(t *testing.T) {
	dir := t.TempDir()
	p := config.Project{Dir: dir}
	if got := p.SchemaAt(filepath.Join(dir, "a.yaml")); got != "" {
		t.Errorf("there is no %s", got)
	}
	write(t, dir, kind.EditorSchemaFile, "{}")
	for name, want := range map[string]string{
		"a.yaml": ".trueup.schema.json", "m/a.yaml": "../.trueup.schema.json", "./m/../m/b/a.yaml": "../../.trueup.schema.json",
		"../a.yaml": "", "/a.yaml": "",
	} {
		full := name
		if !filepath.IsAbs(name) {
			full = filepath.Join(dir, name)
		}
		if got := p.SchemaAt(full); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := (config.Project{}).SchemaAt(filepath.Join(dir, "a.yaml")); got != "" {
		t.Errorf("without a project: %s", got)
	}
}

// TestALedgerOfTheEnvironmentStaysThere: a place on one machine is no matter of
// the repository, and what is no store is not shown.
func TestALedgerOfTheEnvironmentStaysThere(t *testing.T) {
	dir, at := t.TempDir(), t.TempDir()
	run := func(store string) (int, string) {
		var out bytes.Buffer
		code := Main(t.Context(), []string{"init", "--workspace", "acme", "--uuid", "5a1d", "--manifests", "examples", "--auto-approve"}, config.Env{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Now: time.Now, Sleep: blob.Sleep, Cwd: dir,
			Getenv: addressed(map[string]string{"TRUEUP_LEDGER": store}),
		})
		return code, out.String()
	}
	if code, out := run("https://me:" + canary + "@example.com/ledger"); code != diag.ExitError || strings.Contains(out, canary) {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out := run("file:" + at); code != diag.ExitOK {
		t.Fatalf("exit %d: %s", code, out)
	}
	text := content(t, dir, "trueup.yaml")
	if strings.Contains(text, at) || strings.Contains(text, "store") || !strings.Contains(text, "  id: \"") {
		t.Errorf("%s", text)
	}
}

// TestInitDoubtsAnEmptyWorkspace: at a terminal, nothing is written unless somebody says that the UUID is right.
func TestInitDoubtsAnEmptyWorkspace(t *testing.T) {
	for answer, want := range map[string]int{"": diag.ExitError, "y": diag.ExitError, "yes": diag.ExitOK} {
		s := newStage(t)
		dir := t.TempDir()
		var out bytes.Buffer
		code := Main(t.Context(), []string{"init", "--workspace", workspace.Name, "--uuid", workspace.UUID, "--ledger", "none", "--manifests", "pull"}, config.Env{
			Stdin: strings.NewReader("yes\n" + answer + "\n"), Stdout: &out, Stderr: &out, Getenv: func(name string) string { return s.vars[name] }, Now: time.Now, Sleep: blob.Sleep,
			Cwd: dir, StdinIsTTY: true,
		})
		if code != want || !strings.Contains(out.String(), ": is the UUID right?\nIf not, compare workspace: in trueup.yaml") ||
			!strings.Contains(out.String(), "Type yes to go on [no]: ") {
			t.Errorf("%q: exit %d\n%s", answer, code, out.String())
		}
		if entries, err := os.ReadDir(dir); err != nil || (len(entries) > 0) != (want == diag.ExitOK) {
			t.Errorf("%q: %v, %v", answer, entries, err)
		}
	}
}
