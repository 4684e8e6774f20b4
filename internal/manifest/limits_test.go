package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"trueup/internal/e2e/inputs"
)

// many are files that each hold a CDN.
func many(n int) fstest.MapFS {
	files := fstest.MapFS{}
	for i := range n {
		text := fmt.Sprintf("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: s%d}\nspec: {hostname: s%d.example.com}\n", i, i)
		files[fmt.Sprintf("d%d/%d.yaml", i%7, i)] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// TestLimits: each bound is kept, and named with the file and what to do.
func TestLimits(t *testing.T) {
	twice := fstest.MapFS{"x.yaml": &fstest.MapFile{Data: []byte(inputs.Shop + "---\n" + inputs.Shop)}}
	for name, c := range map[string]struct {
		files  fs.FS
		limits Limits
		want   string
	}{
		"file":      {many(1), Limits{File: 50}, "manifests/d0/0.yaml:1:1: error: the file is larger than 50 bytes [yaml-size]"},
		"total":     {many(9), Limits{Total: 500}, "manifests/d0/0.yaml:0:0: error: the manifests are larger in total than 500 bytes [yaml-size]"},
		"files":     {many(9), Limits{Files: 8}, "error: there are more than 8 files [yaml-size]"},
		"objects":   {many(9), Limits{Objects: 8}, "error: the manifests have more than 8 objects in total [yaml-size]"},
		"values":    {many(1), Limits{Values: 5}, "manifests/d0/0.yaml:3:1: error: a document has more than 5 values [yaml-size]"},
		"as it is":  {many(9), Limits{File: 200, Total: 9 * 200, Files: 9, Objects: 9, Values: 20}, ""},
		"documents": {twice, Limits{Values: 60}, "duplicate-object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, findings, err := Load(t.Context(), []PathSource{{FS: c.files, Path: ".", Display: "manifests"}}, LoadSettings{Limits: c.limits, Parallelism: 1})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if len(findings) > 0 {
					t.Error(findings)
				}
				return
			}
			for _, f := range findings {
				if strings.Contains(f.String(), c.want) && f.Fix != "" {
					return
				}
			}
			t.Errorf("want %q, got %v", c.want, findings)
		})
	}
}

// TestAliasesOfLongTextsAreBounded: few aliases, each of a long text, are a bomb
// as well; and so are the names of members that merge keys bring in.
func TestAliasesOfLongTextsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: large, and slow with the race detector")
	}
	long := strings.Repeat("x", 200_000)
	values := inputs.PurgeOf("  a: &a " + long + "\n  b: [" + strings.Repeat("*a, ", 4000) + "]\n")
	names := inputs.PurgeOf("  a: &a\n    ? " + long + "\n    : x\n  b: [" + strings.Repeat("{<<: *a}, ", 4000) + "]\n")
	documents := strings.Repeat(inputs.PurgeOf("  a: &a "+long+"\n  b: ["+strings.Repeat("*a, ", 60)+"]\n")+"---\n", 20)
	for name, text := range map[string]string{"values": values, "names": names, "documents": documents} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, findings := loadText(t, text, LoadSettings{})
		runtime.ReadMemStats(&after)
		if !strings.Contains(fmt.Sprint(findings), "aliases expand to more than 16 MiB [yaml-alias]") {
			t.Errorf("%s: %.300s", name, fmt.Sprint(findings))
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Errorf("%s: %d MiB were allocated", name, used>>20)
		}
	}
}

// TestFindingsRepeatLittle: a finding of a huge key does not hold the key.
func TestFindingsRepeatLittle(t *testing.T) {
	_, findings := loadText(t, inputs.PurgeOf("  "+strings.Repeat("k", 1<<20)+": {a: on, b: off}\n"), LoadSettings{})
	if len(findings) == 0 {
		t.Fatal("no finding")
	}
	for _, f := range findings {
		if n := len(f.Field) + len(f.Message) + len(f.Fix); n > 4*2000 {
			t.Errorf("a finding of %d bytes", n)
		}
	}
}

// failing is a file system in which one thing can't be read.
type failing struct {
	fstest.MapFS
	name string
	err  error
	// grows adds to a file while it is read, shrinks takes away.
	grows, shrinks string
}

func (f failing) Open(name string) (fs.File, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	opened, err := f.MapFS.Open(name)
	if err == nil && (name == f.grows || name == f.shrinks) {
		return &unsteady{File: opened, cut: name == f.shrinks}, nil
	}
	return opened, err
}

func (f failing) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return f.MapFS.ReadDir(name)
}

// unsteady is a file that changes after it was looked at.
type unsteady struct {
	fs.File
	cut  bool
	read bool
}

func (u *unsteady) Read(p []byte) (int, error) {
	if u.cut && u.read {
		return 0, io.EOF
	}
	u.read = true
	return u.File.Read(p[:min(len(p), 10)])
}

func (u *unsteady) Stat() (fs.FileInfo, error) {
	info, err := u.File.Stat()
	if u.read && !u.cut {
		return grown{info}, err
	}
	return info, err
}

type grown struct{ fs.FileInfo }

func (g grown) Size() int64 { return g.FileInfo.Size() + 1 }

// TestWhatCanNotBeReadIsNotAbsent: whatever keeps a part of the tree from being
// read ends the run with an error that names it; nothing looks as if it had been
// removed.
func TestWhatCanNotBeReadIsNotAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		files failing
		want  string
	}{
		"folder":  {failing{name: "d1", err: fs.ErrPermission}, "read folder manifests/d1: permission denied: the user that runs trueup needs permission to read all of it"},
		"file":    {failing{name: "d1/1.yaml", err: fs.ErrPermission}, "read manifests/d1/1.yaml: permission denied"},
		"gone":    {failing{name: "d1/1.yaml", err: fs.ErrNotExist}, "read manifests/d1/1.yaml: it was deleted just now"},
		"disk":    {failing{name: "d1/1.yaml", err: errors.New("input/output error")}, "read manifests/d1/1.yaml: input/output error"},
		"grows":   {failing{grows: "d1/1.yaml"}, "read manifests/d1/1.yaml: it changed while trueup read it"},
		"shrinks": {failing{shrinks: "d1/1.yaml"}, "read manifests/d1/1.yaml: it changed while trueup read it"},
	} {
		t.Run(name, func(t *testing.T) {
			c.files.MapFS = many(9)
			set, _, err := Load(t.Context(), []PathSource{{FS: c.files, Path: ".", Display: "manifests"}}, LoadSettings{})
			if set != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestNamesThatDifferInCaseOnly(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{"Shop.yaml", "shop.yaml", "A/x.yaml", "a/y.yaml", ".B", ".b", "n.txt", "N.txt"} {
		files[name] = &fstest.MapFile{Data: []byte("# nothing\n")}
	}
	_, findings, err := Load(t.Context(), []PathSource{{FS: files, Path: "."}}, LoadSettings{})
	if err != nil || len(findings) != 2 || findings[0].Rule != ruleFileCase || findings[1].Path != "shop.yaml" {
		t.Errorf("%v, %v", findings, err)
	}
}

// TestManyFilesAreQuick: a hundred thousand tiny files would be 10 s at the rate
// that this one still allows.
func TestManyFilesAreQuick(t *testing.T) {
	const n = 10_000
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set, findings, err := Load(ctx, []PathSource{{FS: many(n), Path: "."}}, LoadSettings{})
	if err != nil || len(findings) > 0 || len(set.Objects) != n {
		t.Errorf("%d objects, %v, %v", len(set.Objects), findings, err)
	}
}
