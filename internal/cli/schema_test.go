package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/internal/exit"
	"trueup/internal/kind"
)

// ran runs a command line in a folder.
func ran(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, wrong bytes.Buffer
	env := Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &wrong, Getenv: func(string) string { return "" }, Dir: dir,
		Now: time.Now, Sleep: Sleep,
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
		if code, out, _ := ran(t, dir, "schema", name); code != exit.OK || out != string(want) {
			t.Errorf("%s: exit %d, %.80s", name, code, out)
		}
	}
	if code, out, _ := ran(t, dir, "schema", "--list"); code != exit.OK || !strings.Contains(out, "\nproject ") || strings.Count(out, "\n") < 8 {
		t.Errorf("exit %d, %s", code, out)
	}
	for line, want := range map[string]string{
		"schema": "name a kind", "schema projct": "did you mean project?", "schema cdn --list": "remove KIND",
		"schema --dir=": "--dir is empty", "schema nothing": "schema --list lists them",
	} {
		if code, _, wrong := ran(t, dir, strings.Fields(line)...); code != exit.Error || !strings.Contains(wrong, want) {
			t.Errorf("%s: exit %d, %s", line, code, wrong)
		}
	}
}

func TestSchemasAreWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s", "cdn.schema.json")
	write := func(want int, says string) {
		t.Helper()
		if code, out, wrong := ran(t, dir, "schema", "--dir", "s"); code != want || !strings.Contains(out+wrong, says) {
			t.Errorf("exit %d, %s%s", code, out, wrong)
		}
	}
	write(exit.OK, "written s/cdn.schema.json\n")
	write(exit.OK, "there already s/cdn.schema.json\n")
	for _, name := range kind.SchemaNames() {
		want, _ := os.ReadFile(filepath.Join("..", "..", "schemas", name+".schema.json"))
		got, err := os.ReadFile(filepath.Join(dir, "s", name+".schema.json"))
		if _, printed, _ := ran(t, dir, "schema", name); err != nil || !bytes.Equal(got, want) || printed != string(want) {
			t.Errorf("%s is not the schema of that name: %v", name, err)
		}
	}
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "CDN"}`)
	write(exit.OK, "written s/cdn.schema.json\n")
	for _, others := range []string{`{"title": "CDN"}`, `mine`, `{"$schema": "x", "title": "Other"}`} {
		put(others)
		write(exit.Error, "remove it")
		if now, err := os.ReadFile(file); err != nil || string(now) != others {
			t.Errorf("%q became %.40q, %v", others, now, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), file); err != nil {
		t.Fatal(err)
	}
	write(exit.Error, "cdn.schema.json")
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("a link was written through")
	}
}
