package yamledit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"trueup/internal/canon"
	"trueup/internal/e2e/inputs"
	"trueup/internal/manifest"
)

func TestFormat(t *testing.T) {
	const head = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata:\n  name: shop\n"
	for _, c := range []struct{ name, in, want string }{
		{"indentation", "a:\n    b:  1\n    c:\n    -   x\n    -   - y\n        -  z\n", "a:\n  b: 1\n  c:\n    - x\n    - - y\n      - z\n"},
		{"lists at their key", "a:\n- b: 1\n  c: 2\n-\n  d: 3\n", "a:\n  - b: 1\n    c: 2\n  -\n    d: 3\n"},
		{"empty lines", "\n\n# a\n\n\n\na: 1\n\n\nb: 2\n\n\n", "# a\n\na: 1\n\nb: 2\n"},
		{"white space at ends", "a: 1  \t\n  # b \n", "a: 1\n  # b\n"},
		{"no last line end", "a: 1", "a: 1\n"},
		{"comments go with their fields", "a:\n    # of b\n    b: 1 # behind\n    # below b\n# of c\nc:\n- x\n# of y\n- y\n# last\n", "a:\n  # of b\n  b: 1 # behind\n  # below b\n# of c\nc:\n  - x\n  # of y\n  - y\n# last\n"},
		{"comments that stand nowhere", "a:\n  b:\n      # of c\n      c: 1\n     # behind c\n", "a:\n  b:\n    # of c\n    c: 1\n  # behind c\n"},
		{
			"texts of several lines", "a:\n    b: |\n          one\n            two\n\n          three  \n    c: >-\n     x\n    d: |2\n         y\n    e: \"f\n      g\n\n      h\"\n    i: j\n      k # l\n",
			"a:\n  b: |\n    one\n      two\n\n    three  \n  c: >-\n    x\n  d: |2\n       y\n  e: \"f\n    g\n\n    h\"\n  i: j\n    k # l\n",
		},
		{"comments below what they speak of", head + "spec:\n  upstreams: []\n     # of upstreams\n  locations: []\n", head + "spec:\n  upstreams: []\n    # of upstreams\n  locations: []\n"},
		{"comments below texts of several lines", "a: |\n    b\n  # c\nd: 1\n", "a: |\n  b\n# c\nd: 1\n"},
		{
			"elements that are comments stay in their list",
			head + "spec:\n  tls: {}\n  upstreams:\n  - name: a\n  # - name: b\n  #   scheme: https\n  # of locations\n  locations: []\n",
			head + "spec:\n  tls: {}\n  upstreams:\n    - name: a\n    # - name: b\n    #   scheme: https\n  # of locations\n  locations: []\n",
		},
		{"a first element that is a comment", "a:\n    b:\n    # - c\n    #   d\n    - e\n    # of f\n    f: 1\n", "a:\n  b:\n    # - c\n    #   d\n    - e\n  # of f\n  f: 1\n"},
		{"elements that are comments at the end", "a:\n- b\n#- c\n#- d\n\n# - e\n", "a:\n  - b\n  #- c\n  #- d\n\n  # - e\n"},
		{"a comment with hyphens", "a:\n- b\n# of c:\n# - one\n# - two\nc: d\n", "a:\n  - b\n# of c:\n# - one\n# - two\nc: d\n"},
		{"brackets stay deeper than their key", "a:\n  b:\n      [\n    c,\n    ]\n", "a:\n  b:\n    [\n   c,\n   ]\n"},
		{"texts that begin deeper than they go on", "a:\n        one\n   two\nb:\n      'c\n d'\n", "a:\n  one\n two\nb:\n  'c\n d'\n"},
		{"a text keeps its empty lines", "a: |+\n  b\n\n\nc: 1\n", "a: |+\n  b\n\n\nc: 1\n"},
		{"a text without a last line end", "a: |\n    b", "a: |\n  b"},
		{"brackets as they are", "a:   {b: [1,\n  2 ] , # c\n  d: 'e, #'}\n", "a: {b: [1,\n  2 ] , # c\n  d: 'e, #'}\n"},
		{"quotes as they are", "a: 'b'\n\"c\":   \"d\"\n", "a: 'b'\n\"c\": \"d\"\n"},
		{"anchors and merge keys", "a: &x\n    b: 1\nc:\n    <<: *x\n    d: &y [1]\ne:\n- *y\n- !!str f\n", "a: &x\n  b: 1\nc:\n  <<: *x\n  d: &y [1]\ne:\n  - *y\n  - !!str f\n"},
		{"anchors in lines of their own", "a:\n    &x\n    b: 1\nc:\n    *x\n", "a:\n  &x\n  b: 1\nc:\n  *x\n"},
		{"documents", "--- # one\na: 1\n...\n---\n- a\n-   b\n--- [ x ]\n", "--- # one\na: 1\n...\n---\n- a\n-   b\n--- [ x ]\n"},
		{"line ends and byte order mark", "\uFEFFa:  1\r\nb: |\r\n    c\r\n    d\r\n", "\uFEFFa: 1\r\nb: |\r\n  c\r\n  d\r\n"},
		{"modelines", "# yaml-language-server: $schema=x.json\n# vim: ts=2\na: 1\n", "# yaml-language-server: $schema=x.json\n# vim: ts=2\na: 1\n"},
		{"a whole document that is indented", "  # c\n  a:\n    b: 1\n", "# c\na:\n  b: 1\n"},
		{"wide characters", "é:   ü # ö\nl:\n-  日本:  x\n   k:   y\n", "é: ü # ö\nl:\n  - 日本: x\n    k: y\n"},
		{"long lines stay", "a: " + strings.Repeat("long ", 100) + "x\n", "a: " + strings.Repeat("long ", 100) + "x\n"},
		{"JSON", `{"b":1,"a":[1.0,{"c":"\u0041"}],"e":{}}`, "{\n  \"b\": 1,\n  \"a\": [\n    1.0,\n    {\n      \"c\": \"\\u0041\"\n    }\n  ],\n  \"e\": {}\n}\n"},
		{"JSON with escapes of its own", `{"a\/b":"\/","c":"\ud83d\ude00"}`, "{\n  \"a\\/b\": \"\\/\",\n  \"c\": \"\\ud83d\\ude00\"\n}\n"},
		{"odd spaces in brackets", "a:  [\u2060,\u00a0b\u00a0c ,\n\u2060]\n", "a: [\u2060,\u00a0b\u00a0c ,\n\u2060]\n"},
		{"only comments", "# a\n\n\n# b\n", "# a\n\n# b\n"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Format([]byte(c.in))
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\n%s\nwant\n%s", err, got, c.want)
			}
			checkFormatted(t, []byte(c.in), got)
		})
	}
}

// TestWhatIsLeftAsItIs: a file that could not be laid out without a doubt is
// left, and it is said where and why.
func TestWhatIsLeftAsItIs(t *testing.T) {
	for _, c := range []struct {
		in, want string
		line     int
	}{
		{"a: [\n", "a value is missing, or a bracket is not closed", 1},
		{"a: 1\n? b\n: c\n", "the key is not written as KEY:", 2},
		{"--- &a\nb: 1\n", "a mapping starts on the line of ---", 1},
		{"a: 1\nb: 2\rc: 3\n", "a carriage return without a line feed, U+000D", 2},
		{"\uFEFF\uFEFFa: 1\n", "a byte order mark that is not at the start, U+FEFF", 1},
		{"a: \"\xff\"\n", "the byte 0xFF is not UTF-8", 1},
		{"%YAML 1.1\n---\na: 1\n", "trueup does not read YAML directives", 1},
		{strings.Repeat("- ", 100) + "a\n", "", 0},
		{"a:\n  " + strings.Repeat("- ", 100) + "a\n", "it is nested too deeply", 2},
	} {
		got, err := Format([]byte(c.in))
		var why *UnformattedError
		if c.want == "" && err == nil && string(got) == c.in {
			continue
		}
		if !errors.As(err, &why) || why.Line != c.line || !strings.Contains(why.Reason, c.want) {
			t.Errorf("%q: %q, %v", c.in, got, err)
		}
	}
}

// checkFormatted holds what Format promises, by other means than its own: it is
// idempotent, each document has the same value, and every comment is there, as
// the parser sees them.
func checkFormatted(t interface {
	Helper()
	Errorf(string, ...any)
}, in, out []byte,
) {
	t.Helper()
	if again, err := Format(out); err != nil || !bytes.Equal(again, out) {
		t.Errorf("not idempotent, %v:\n%s\nand then\n%s", err, out, again)
	}
	if before, after := values(in), values(out); !slices.Equal(before, after) {
		t.Errorf("%q became %q in\n%s\nof\n%s", before, after, out, in)
	}
	if before, after := commentsOf(in), commentsOf(out); !slices.Equal(before, after) {
		t.Errorf("the comments %q became %q in\n%s\nof\n%s", before, after, out, in)
	}
}

// values are the documents of a file as package yaml decodes them.
func values(data []byte) (all []string) {
	f := &manifest.FileState{Lines: manifest.LineIndex{Data: data}, MaxValues: 1 << 20}
	f.EachDocument(func(n *yaml.Node) {
		var v any
		if err := n.Decode(&v); err != nil {
			v = "an error"
		}
		all = append(all, fmt.Sprintf("%#v", v))
	})
	return all
}

// commentsOf are the lines of the comments that the parser gives to nodes.
func commentsOf(data []byte) []string {
	f := &manifest.FileState{Lines: manifest.LineIndex{Data: data}, MaxValues: 1 << 20, Comments: true}
	var all []string
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for _, c := range []string{n.HeadComment, n.LineComment, n.FootComment} {
			for line := range strings.SplitSeq(c, "\n") {
				if line = strings.TrimSpace(line); line != "" {
					all = append(all, line)
				}
			}
		}
		for _, below := range n.Content {
			visit(below)
		}
	}
	f.EachDocument(visit)
	slices.Sort(all)
	return all
}

func TestFormatOfTheCorpus(t *testing.T) {
	for _, folder := range []string{"cdns", "volumesnapshots", "volumesnapshots-adapted"} {
		dir := inputs.Corpus(t, folder)
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !manifest.IsFile(f.Name()) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Format(data)
			if why := unsound(data); (why == nil) != (err == nil) {
				t.Errorf("%s: %v", f.Name(), err)
			} else if err == nil {
				checkFormatted(t, data, got)
			}
		}
	}
}

// unsound is why a file can't be formatted at all.
func unsound(data []byte) error {
	return newFormatting(manifest.NewFileState("", data), func(*yaml.Node) {}).checkReadable()
}

// TestFormatOfTheYAMLSuite: of the valid mappings of the suite few are left as
// they are, and none is changed in what it says.
func TestFormatOfTheYAMLSuite(t *testing.T) {
	root := filepath.Join(inputs.Corpus(t, "yaml-test-suite"), "data")
	formatted, leftAlone := 0, map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "in.yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if unsound(data) != nil {
			return nil
		}
		got, err := Format(data)
		var why *UnformattedError
		if errors.As(err, &why) {
			leftAlone[why.Reason]++
			return nil
		}
		formatted++
		checkFormatted(t, data, got)
		return nil
	})
	total := 0
	for _, n := range leftAlone {
		total += n
	}
	if err != nil || formatted < 220 || total > 30 || leftAlone[errDiffers.Error()] > 1 {
		t.Errorf("%d are formatted, %d left: %v, %v", formatted, total, leftAlone, err)
	}
}

// TestJSONStaysJSON: what encoding/json reads of a file is the same.
func TestJSONStaysJSON(t *testing.T) {
	dir := inputs.Corpus(t, "json-test-suite/test_parsing")
	files, err := filepath.Glob(filepath.Join(dir, "y_*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Format(data)
		if err != nil || !isJSON(data) {
			continue
		}
		var before, after any
		if json.Unmarshal(data, &before) != nil || json.Unmarshal(got, &after) != nil || !bytes.Equal(canon.Encode(before), canon.Encode(after)) {
			t.Errorf("%s: %q became %q", filepath.Base(name), data, got)
		}
	}
}
