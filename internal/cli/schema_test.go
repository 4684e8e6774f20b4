package cli

import (
	"bytes"
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

// ran runs a command line in a folder.
func ran(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, wrong bytes.Buffer
	env := config.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &wrong, Getenv: func(string) string { return "" }, Cwd: dir,
		Now: time.Now, Sleep: blob.Sleep,
	}
	code = Main(t.Context(), args, env)
	return code, out.String(), wrong.String()
}

func TestSchemaCommand(t *testing.T) {
	dir := t.TempDir()
	want, err := os.ReadFile(filepath.Join("..", "..", "schemas", "cdn.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cdn", "CDN", "cdns"} {
		if code, out, _ := ran(t, dir, "explain", "--schema", name); code != diag.ExitOK || out != string(want) {
			t.Errorf("%s: exit %d, %.80s", name, code, out)
		}
	}
	for _, name := range kind.SchemaNames() {
		want, _ := os.ReadFile(filepath.Join("..", "..", "schemas", name+".schema.json"))
		if code, out, _ := ran(t, dir, "explain", "--schema", name); code != diag.ExitOK || out != string(want) {
			t.Errorf("%s is not the schema of that name", name)
		}
	}
	if code, out, _ := ran(t, dir, "explain", "--schema"); code != diag.ExitOK || !strings.Contains(out, "\nproject ") || strings.Count(out, "\n") < 8 {
		t.Errorf("exit %d, %s", code, out)
	}
	for line, want := range map[string]string{
		"explain --schema projct": "did you mean project?", "explain --schema nothing": "trueup explain --schema lists them",
		"explain --schema --live cdn": "none of the others can be",
	} {
		if code, _, wrong := ran(t, dir, strings.Fields(line)...); code != diag.ExitError || !strings.Contains(wrong, want) {
			t.Errorf("%s: exit %d, %s", line, code, wrong)
		}
	}
}
