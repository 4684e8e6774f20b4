package cli

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/internal/diag"
	"trueup/internal/e2e/quirks"
	"trueup/internal/report"
	"trueup/internal/sandbox"
)

// frozen is a project beside a platform, both of which can be brought back to
// what they were, with a clock that stands.
type frozen struct {
	*stage
	now      time.Time
	platform string
	files    map[string][]byte
}

func freeze(t *testing.T, build func(s *stage)) *frozen {
	f := &frozen{stage: newStage(t), now: time.Now().UTC().Truncate(time.Second), platform: t.TempDir()}
	f.reopen()
	build(f.stage)
	f.close()
	f.files = map[string][]byte{}
	for _, dir := range []string{f.dir, f.platform} {
		maps.Copy(f.files, contents(t, dir))
	}
	return f
}

// reopen serves the platform as its folder has it.
func (f *frozen) reopen() {
	f.t.Helper()
	server, err := quirks.Open(sandbox.ServerOptions{
		Dir: f.platform, Now: func() time.Time { return f.now }, Workspaces: []sandbox.WorkspaceKey{workspace},
		Tokens: map[string][]string{
			canary + "-dlv":     {sandbox.RoleCDNAdmin, sandbox.RolePurger},
			canary + "-compute": {sandbox.RoleComputeAdmin},
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.server = server
}

func (f *frozen) close() {
	f.t.Helper()
	if err := f.server.Close(); err != nil {
		f.t.Fatal(err)
	}
}

// contents are the files below a folder, by their paths.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// thaw brings project and platform back.
func (f *frozen) thaw() {
	f.t.Helper()
	for _, dir := range []string{f.dir, f.platform} {
		for path := range contents(f.t, dir) {
			if err := os.Remove(path); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	for path, content := range f.files {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	f.reopen()
}

// tells is all that a run says and writes but ledger and platform, in every
// format.
func (f *frozen) tells(fault string, args ...string) string {
	f.t.Helper()
	f.thaw()
	defer f.close()
	if fault != "" {
		if err := f.server.AddFaults(fault); err != nil {
			f.t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	env := f.env(&out, &errs)
	env.Now = func() time.Time { return f.now }
	code := Main(context.Background(), args, env)
	told := fmt.Sprintf("exit %d\n%s%s", code, out.String(), errs.String())
	files := contents(f.t, f.dir)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if name := strings.TrimPrefix(path, f.dir); !strings.HasPrefix(name, "/ledger/") && !bytes.Equal(files[path], f.files[path]) {
			told += fmt.Sprintf("\n== %s\n%s", name, files[path])
		}
	}
	return told
}

// busy is a project in which every command has something to say of many objects.
func busy(s *stage) {
	const n = 24
	for i := range n {
		name := fmt.Sprintf("web-%02d", i)
		s.write("manifests/"+name+".yaml", fmt.Sprintf(matrixCDN, name, "true"))
		if i%3 == 0 {
			s.write(fmt.Sprintf("manifests/disk-%02d.yaml", i), fmt.Sprintf(matrixSnapshot, fmt.Sprintf("disk-%02d", i)))
		}
	}
	s.must(diag.ExitOK, "apply", "--auto-approve")
	for i := range n {
		name := fmt.Sprintf("web-%02d", i)
		switch i % 6 {
		case 1: // git changed
			s.write("manifests/"+name+".yaml", fmt.Sprintf(matrixCDN, name, "false"))
		case 2: // live changed
			s.put(fmt.Sprintf(matrixCDN, name, "false"))
		case 3: // new, together with what was there
			s.write("manifests/new-"+name+".yaml", fmt.Sprintf(matrixCDN, "new-"+name, "true")+"---\n"+
				fmt.Sprintf(matrixSnapshot, fmt.Sprintf("new-%02d", i)))
		case 4: // not in git
			s.put(fmt.Sprintf(matrixCDN, "other-"+name, "true"))
		}
		s.write(fmt.Sprintf("manifests/purge-%02d.yaml", i), fmt.Sprintf(
			"apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-%02d-4f2a9c1b}\nspec: {hostname: %s.example.com, paths: [/a, /b/*, /a]}\n", i, name))
	}
}

// mistaken is a project with mistakes in many files.
func mistaken(s *stage) {
	for i := range 30 {
		text := fmt.Sprintf(matrixCDN, fmt.Sprintf("Web_%02d", i%20), "on")
		if i%4 == 0 {
			text += "  unknown: [}\n"
		}
		s.write(fmt.Sprintf("manifests/m-%02d.yaml", i), text)
	}
}

// TestOutputOfAnyParallelism is the same, byte for byte: of every command, in
// every format, on any number of processors.
func TestOutputOfAnyParallelism(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var reports []string
	for _, format := range report.Formats() {
		reports = append(reports, "--report", format+"=out."+format)
	}
	type pace struct{ parallelism, processors int }
	paces := []pace{{1, 1}, {50, 4}}
	well, badly := freeze(t, busy), freeze(t, mistaken)
	for _, c := range []struct {
		*frozen
		args  string
		fault string
		says  string
	}{
		{well, "validate", "", "purge-23.yaml:4:56"},
		{badly, "validate", "", "m-29.yaml"},
		{well, "plan --drift report --out plan.json", "", "new-web-03"},
		{badly, "plan", "", "m-29.yaml"},
		{well, "drift", "", "web-02"},
		{well, "apply --auto-approve", "", "new-web-21"},
		{well, "apply --auto-approve --drift report", "PATCH *web-*3: 422 x*", "422 Unprocessable"},
		{well, "pull --diff", "", "web-02"},
		{well, "pull --dir -", "", "other-web-04"},
		{well, "pull --dir pulled", "", "other-web-04"},
	} {
		t.Run(c.args+c.fault, func(t *testing.T) {
			c.t = t
			var first string
			for _, at := range paces {
				runtime.GOMAXPROCS(at.processors)
				args := strings.Fields(c.args)
				c.vars["TRUEUP_PARALLELISM"] = strconv.Itoa(at.parallelism)
				if !strings.HasPrefix(c.args, "pull") {
					args = append(args, reports...)
				}
				told := c.tells(c.fault, args...)
				switch {
				case first == "":
					first = told
					if !strings.Contains(told, c.says) {
						t.Fatalf("nothing is said of %s:\n%.2000s", c.says, told)
					}
				case told != first:
					t.Errorf("%d at once on %d processors: %s", at.parallelism, at.processors, differing(first, told))
				}
			}
		})
	}
}

// differing shows where two texts part.
func differing(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-300)
	return fmt.Sprintf("\n%s\nand not\n%s", b[from:min(len(b), i+300)], a[from:min(len(a), i+300)])
}
