package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"trueup/internal/diag"
	"trueup/internal/e2e/inputs"
)

func loadFile(t *testing.T, dir, name string, opts LoadSettings) (*Set, diag.List) {
	t.Helper()
	set, findings, err := Load(t.Context(), []PathSource{{FS: os.DirFS(dir), Path: name}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return set, append(findings, CheckSet(set, opts)...)
}

func TestSnapshotsOfTheCorpus(t *testing.T) {
	for _, folder := range []string{"volumesnapshots", "volumesnapshots-adapted"} {
		dir := inputs.Corpus(t, folder)
		table, err := os.ReadFile(filepath.Join(dir, "EXPECTED.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		expected := map[string][]string{}
		for _, row := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
			columns := strings.Split(row, "\t")
			expected[columns[0]] = append(expected[columns[0]], columns[3])
		}
		for name, verdicts := range expected {
			t.Run(folder+"/"+name, func(t *testing.T) { checkVerdicts(t, dir, name, verdicts) })
		}
	}
}

// checkVerdicts compares the findings of each document of a file.
func checkVerdicts(t *testing.T, dir, name string, verdicts []string) {
	_, findings := loadFile(t, dir, name, LoadSettings{})
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	starts := documentStarts(data)
	if len(starts) != len(verdicts) {
		t.Fatalf("%d documents by their first lines, %d verdicts", len(starts), len(verdicts))
	}
	starts = append(starts, 1<<30)
	for i, verdict := range verdicts {
		checkVerdict(t, name, verdict, slices.DeleteFunc(slices.Clone(findings), func(f diag.Finding) bool {
			return f.Line < starts[i] || f.Line >= starts[i+1]
		}))
	}
}

func checkVerdict(t *testing.T, name, verdict string, own diag.List) {
	t.Helper()
	unread := slices.ContainsFunc(own, func(f diag.Finding) bool { return strings.HasPrefix(f.Rule, "yaml-") })
	if own.HasErrors() != (verdict != "valid") || unread != (verdict == "unparsable") {
		t.Errorf("the document is %s, got %v", verdict, own)
	}
	for _, f := range own {
		if f.Line == 0 || f.Column == 0 || f.Fix == "" || f.Rule == "" || f.Path != name {
			t.Errorf("incomplete finding %+v", f)
		}
	}
}

// documentStarts returns the lines at which the documents with content start.
func documentStarts(data []byte) []int {
	starts, empty := []int{1}, true
	for i, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, "---") {
			if empty {
				starts = starts[:len(starts)-1]
			}
			starts, empty = append(starts, i+1), true
			continue
		}
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			empty = false
		}
	}
	if empty {
		starts = starts[:len(starts)-1]
	}
	return starts
}

func TestCDNsOfTheCorpusLoadWithoutErrors(t *testing.T) {
	dir := inputs.Corpus(t, "cdns")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !IsFile(f.Name()) {
			continue
		}
		set, findings := loadFile(t, dir, f.Name(), LoadSettings{})
		if findings.HasErrors() || len(set.Objects) == 0 {
			t.Errorf("%s: %d objects, %v", f.Name(), len(set.Objects), findings)
		}
	}
}

// acceptedByParser are the cases of the suite that must fail and that the
// parser accepts. What they write has one meaning all the same. The list may
// only shrink.
var acceptedByParser = []string{
	"9C9N",     // a flow list that is not indented
	"DK95/01",  // a tab that indents the second line of a quoted text
	"QB6E",     // a quoted text whose second line is not indented
	"S98Z",     // a block text whose empty lines are indented more than it
	"Y79Y/003", // a tab that indents inside a flow list
}

func TestYAMLSuite(t *testing.T) {
	root := filepath.Join(inputs.Corpus(t, "yaml-test-suite"), "data")
	cases := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "in.yaml" {
			return err
		}
		cases++
		id, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		t.Run(id, func(t *testing.T) { suiteCase(t, filepath.ToSlash(id), filepath.Dir(path)) })
		return nil
	})
	if err != nil || cases < 400 {
		t.Fatalf("%d cases, %v", cases, err)
	}
}

func suiteCase(t *testing.T, id, dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "in.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := yamlLayer(data)
	_, missing := os.Stat(filepath.Join(dir, "error"))
	mustFail := missing == nil
	for _, f := range findings {
		if lines := 1 + bytes.Count(data, []byte("\n")); f.Line < 1 || f.Line > lines || f.Column < 1 || f.Message == "" || f.Fix == "" {
			t.Errorf("no place in the %d lines: %+v", lines, f)
		}
	}
	switch {
	case mustFail && slices.Contains(acceptedByParser, id):
		if findings.HasErrors() {
			t.Errorf("refused now: take it off the list. %v", findings)
		}
	case mustFail && !findings.HasErrors():
		t.Errorf("accepted %q", data)
	case !findings.HasErrors():
		if want := suiteValues(t, dir, data); !reflect.DeepEqual(documents, want) {
			t.Errorf("%q is read as %v, not as %v", data, documents, want)
		}
	}
}

// yamlLayer reads the values of a stream without looking at what they mean.
func yamlLayer(data []byte) (documents []any, findings diag.List) {
	f := &FileState{Path: "in.yaml", Lines: LineIndex{Data: data}, MaxValues: 1 << 20}
	var c converter
	f.EachDocument(func(n *yaml.Node) {
		c.reset(f)
		c.convertValue(n.Content[0], n.Content[0], nil)
		var v any
		if json.Unmarshal(c.out.json, &v) == nil {
			documents = append(documents, v)
		}
	})
	return documents, f.Findings
}

// suiteValues returns the values of the suite's JSON, or else those of the bare parser.
func suiteValues(t *testing.T, dir string, data []byte) (documents []any) {
	t.Helper()
	decode := yaml.NewDecoder(bytes.NewReader(data)).Decode
	if text, err := os.ReadFile(filepath.Join(dir, "in.json")); err == nil {
		decode = json.NewDecoder(bytes.NewReader(text)).Decode
	}
	for {
		var v any
		if err := decode(&v); errors.Is(err, io.EOF) {
			return documents
		} else if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, v)
	}
}

// TestMistakesAreWhereTheyAre: a conflict and an escape have their own line and column.
func TestMistakesAreWhereTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		"a:\n  b: 1\n<<<<<<< HEAD\n  c: 2\n=======\n  c: 3\n>>>>>>> x\n": "3:1 git could not merge this part of the file",
		"a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x\n":           "2:1 git could not merge this part of the file",
		"a: 1\nb: 2\n======== c\n  d: 3\n":                               "4:4 a colon where no key is allowed",
		"a: [b]#c\n":                                                     "1:7 a comment right after a value",
		"a: 1\nb:\n  c: \"x\n    y\\qz\"\n":                              "4:6 a backslash in double quotes starts an unknown escape",
	} {
		_, findings := yamlLayer([]byte(text))
		if got := fmt.Sprintf("%d:%d %s", findings[0].Line, findings[0].Column, findings[0].Message); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
