package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"trueup/internal/diag"
	"trueup/internal/e2e/long"
)

// read returns what Documents takes of a text, and where it stops.
func read(text []byte) (docs []*yaml.Node, offset int) {
	offset = plainDocuments(text, nil, func(n *yaml.Node) { docs = append(docs, n) })
	return docs, offset
}

// oracle decodes a text with package yaml, up to the first mistake.
func oracle(text []byte) (docs []*yaml.Node, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		switch err := dec.Decode(&n); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return docs, err
		}
		docs = append(docs, &n)
	}
}

// check compares the documents that are taken, and those of the rest, with all documents
// as package yaml reads them.
func check(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text []byte,
) (taken bool) {
	t.Helper()
	if _, misread := diag.FindMisread(text); misread || bytes.HasPrefix(text, []byte("\uFEFF")) {
		return false // the parser never gets it
	}
	docs, offset := read(text)
	want, err := oracle(text)
	rest, restErr := oracle(text[offset:])
	for _, n := range rest {
		shift(n, bytes.Count(text[:offset], []byte("\n")))
	}
	if (err == nil) != (restErr == nil) || offset == len(text) && err != nil {
		t.Fatalf("%v, but the rest from %d: %v\n%s", err, offset, restErr, text)
	}
	if offset == len(text) {
		rest = nil
	}
	docs = append(docs, rest...)
	if len(docs) != len(want) {
		t.Fatalf("%d documents, not %d, of\n%s", len(docs), len(want), text)
	}
	for i := range docs {
		if difference := differ(docs[i], want[i]); difference != "" {
			t.Fatalf("document %d: %s\n%s", i+1, difference, text)
		}
	}
	return offset == len(text)
}

func shift(n *yaml.Node, by int) {
	n.Line += by
	for _, below := range n.Content {
		shift(below, by)
	}
}

func differ(is, was *yaml.Node) string {
	show := func(n *yaml.Node) string {
		return fmt.Sprintf("%d:%d kind %d style %d tag %s value %q anchor %q, %d below", n.Line, n.Column, n.Kind, n.Style, n.Tag, n.Value, n.Anchor, len(n.Content))
	}
	if a, b := show(is), show(was); a != b {
		return a + ", not " + b
	}
	for i := range is.Content {
		if d := differ(is.Content[i], was.Content[i]); d != "" {
			return d
		}
	}
	return ""
}

// TestGenerated draws texts that are mostly plain, and sometimes broken by a few bytes.
func TestGenerated(t *testing.T) {
	long.SetChecks(t, 500)
	taken, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := draw(t)
		if all++; check(t, []byte(text)) {
			taken++
		}
	})
	if 20*taken < all {
		t.Errorf("only %d of %d texts are taken", taken, all)
	}
}

// TestScalars draws what may be a number, a time or a word that package yaml knows.
func TestScalars(t *testing.T) {
	long.SetChecks(t, 500)
	words := rapid.SampledFrom([]string{"true", "false", "null", "~", "nan", "inf", "yes", "no", "on", "off", "y", "n", "<<", "t", "f", "o"})
	texts := rapid.OneOf(words, rapid.Map(words, strings.ToUpper), rapid.StringMatching(`[A-Z][a-z]{1,4}`), rapid.StringMatching(`[0-9]{1,3}`), rapid.StringMatching(`[0-9]{1,4}(-[0-9]{1,2}){1,2}`), rapid.StringMatching(`[-+.~<0-9a-fA-Foxn_:TZ]{1,8}`))
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"", "", "+", "-", ".", "+."}).Draw(t, "sign") + texts.Draw(t, "text")
		check(t, []byte("a: "+word+"\n"+word+": [b, "+word+"]\n"))
	})
}

// TestUsualFormsAreTaken: no document of these texts is left to package yaml.
func TestUsualFormsAreTaken(t *testing.T) {
	for _, text := range []string{
		"# a\n---\na: b # c\n\n---\n# d\ne: 'f' #g\n", "a:\n- b\n- c:\n  - d\n  e:\nf: g\n", "a:\n    b:\n      - c\n      -   d: e\n          f: g\nh:\n",
		"a: [b, 'c', {d: \"e\\n\\\"\"}]\nf: {g: [], h: {}, }\n", "a: https://b.example.com:80/c?d=e#f\nb c: -1\n\"d\": it's", "- - a\n  - b\r\n-\n- c\n",
	} {
		if !check(t, []byte(text)) {
			t.Errorf("%q is declined", text)
		}
	}
}

// TestCorpus says what share of real files is taken.
func TestCorpus(t *testing.T) {
	root := os.Getenv("TRUEUP_CORPUS")
	if root == "" {
		t.Skip("TRUEUP_CORPUS names no corpus")
	}
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range append(folders, nil) {
		dir := "../../examples"
		if folder != nil {
			dir = filepath.Join(root, folder.Name())
		}
		taken, all := 0, 0
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = bytes.TrimPrefix(text, []byte("\uFEFF")) // Documents never gets it
			if all++; check(t, text) {
				taken++
			}
			return nil
		})
		t.Logf("%s: %d of %d files", filepath.Base(dir), taken, all)
	}
}

func FuzzDocuments(f *testing.F) {
	for _, text := range []string{
		"a: 1\n", "a:\n- b: [x, {y: 'z'}]\n  c: \"\\n\" # d\n", "# a\n\n---\na: {}\n---\n# end", "- - a\n  - b\n-\n- c:\n", "\"a\": 'it''s'\n--- # b\nc: ~\n",
		"a: b\n  c: d\n", "- a\n  - b\n", "- [a:]\n- {b:, c: d}\n- [e:[f]]\n", "- 'a'#b\n- \"c\"# d\n- []#e\n", "a: b\t\n- c\n", "a: \"\\",
		strings.Repeat("a", 1025) + ": b\n", "'" + strings.Repeat("é", 1025) + "': b\n", strings.Repeat("- ", 10_001) + "a\n", "a: " + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { check(t, text) })
}
