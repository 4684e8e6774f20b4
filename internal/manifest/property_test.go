package manifest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/e2e/inputs"
	"trueup/internal/kind"
	"trueup/internal/rules"
)

// layout writes a random value as YAML and notes the line of each field.
type layout struct {
	text  strings.Builder
	line  int
	lines map[string]int
}

func (l *layout) put(format string, a ...any) {
	s := fmt.Sprintf(format, a...)
	l.line += strings.Count(s, "\n")
	l.text.WriteString(s)
}

// write puts a value in block style behind "key:" or "-"; what an element of a
// list holds starts in a line of its own.
func (l *layout) write(path string, v any, indent int) {
	pad := strings.Repeat("  ", indent)
	switch t := v.(type) {
	case map[string]any:
		if len(t) == 0 {
			l.put(" {}\n")
			return
		}
		l.put("\n")
		for name, e := range t {
			at := kind.JoinField(path, name)
			l.lines[at] = l.line
			l.put("%s%s:", pad, strconv.Quote(name))
			l.write(at, e, indent+1)
		}
	case []any:
		if len(t) == 0 {
			l.put(" []\n")
			return
		}
		l.put("\n")
		for i, e := range t {
			at := kind.JoinIndex(path, i)
			l.lines[at] = l.line
			if m, ok := e.(map[string]any); ok && len(m) > 0 {
				l.lines[at]++
			} else if s, ok := e.([]any); ok && len(s) > 0 {
				l.lines[at]++
			}
			l.put("%s-", pad)
			l.write(at, e, indent+1)
		}
	default:
		l.put(" %s # %q\n", canon.Encode(v), path)
	}
}

func TestEveryFieldIsFoundInItsLineAndBytesAreTheTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := map[string]any{
			"kind":     "Anything",
			"metadata": inputs.AnyMapping().Draw(t, "metadata"),
			"spec":     inputs.AnyMapping().Draw(t, "spec"),
		}
		l := &layout{line: 1, lines: map[string]int{}}
		l.write("", doc, 0)
		f := &FileState{Path: "x.yaml", Lines: LineIndex{Data: []byte(l.text.String())}, MaxValues: 1 << 20}
		var c converter
		var o *Object
		f.EachDocument(func(n *yaml.Node) {
			c.reset(f)
			tree, _ := c.convertValue(n.Content[0], n.Content[0], nil).(map[string]any)
			o = &Object{Spec: bytes.Clone(c.out.json[c.spec.from:c.spec.to]), positions: jsonWithPlaces{bytes.Clone(c.out.json), bytes.Clone(c.out.places)}}
			if want := canon.Encode(doc); !bytes.Equal(canon.Encode(tree), want) {
				t.Fatalf("read %s, want %s", canon.Encode(tree), want)
			}
		})
		if len(f.Findings) > 0 || o == nil {
			t.Fatalf("%s\n%v", l.text.String(), f.Findings)
		}
		if want := canon.Encode(doc["spec"]); !bytes.Equal(o.Spec, want) {
			t.Fatalf("spec %s, want %s", o.Spec, want)
		}
		fields := append(slices.Sorted(maps.Keys(l.lines)), "", "spec", "spec.no", "spec.a[7].b", "no", "metadata.no")
		for i, at := range o.Positions(fields) {
			if line, column := o.Position(fields[i]); at != [2]int{line, column} {
				t.Fatalf("Places(%s) = %v, Place = %d:%d", fields[i], at, line, column)
			}
		}
		for path, want := range l.lines {
			if line, column := o.Position(path); line != want || column == 0 {
				t.Fatalf("Place(%s) = %d:%d, want line %d in\n%s", path, line, column, want, l.text.String())
			}
		}
	})
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		inputs.Shop, "", "a: &a [*a]", "<<: {a: b}", "? {a: b}\n: c", "- - - -\n", "%YAML 1.1\n---\n", "\xff\xfe", "a: |\n x\n...\n---\n",
		"!!set {a, b}", "kind: List\nitems: [a]", "{{ x }}: y", "a: \"\\u202e\"", "a:\r\n  b: ~\r", "\xe2\x80\xa8: x",
		inputs.PurgeOf("  &s\n  <<: *s\n"), inputs.PurgeOf("  hostname: 0x1F\n  paths: {a: b}\n"), inputs.PurgeOf("  - a\n"), inputs.PurgeOf("  paths: [null, {}, [], 1]\n"),
		"# trueup:ignore unknown-field all\n" + inputs.Shop + "---\n# trueup:ignore tls-not-forced x\n" + strings.ReplaceAll(inputs.Shop, "spec:", "spec: # trueup:ignore a b\n  # trueup:ignore upstream-unused c\n  nane: \"# trueup:ignore y z\""),
		"apiVersion: delivery/v2.1\nkind: CDN\nmetadata: []\nspec: {locations: [1, {cache: x}], upstreams: {a: b}, firewall: [null]}\n",
	} {
		f.Add([]byte(seed))
	}
	for _, example := range inputs.Examples(f) {
		f.Add(example)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, findings, err := Load(context.Background(), []PathSource{{Data: data}}, LoadSettings{Parallelism: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range append(findings, CheckSet(set, LoadSettings{})...) {
			if x.Rule == "" || x.Message == "" || x.Fix == "" || x.Line < 1 || x.Column < 1 {
				t.Errorf("incomplete finding %+v", x)
			}
		}
		for _, o := range set.Objects {
			checkCanonical(t, o.Spec)
		}
		checkSilence(t, data)
	})
}

// checkSilence holds that comments only move findings: shown and silenced
// together are what there is without them, but for what is said of the comments.
func checkSilence(t *testing.T, data []byte) {
	t.Helper()
	with, without := placesOf(t, data), placesOf(t, bytes.ReplaceAll(data, []byte("trueup:"), []byte("trueuq:")))
	if with != nil && without != nil && !slices.Equal(with, without) {
		t.Errorf("with comments %q, without %q", with, without)
	}
}

// placesOf are the rules and places of all findings; nil where some are not shown.
func placesOf(t *testing.T, data []byte) []string {
	t.Helper()
	set, found, err := Load(context.Background(), []PathSource{{Data: data}}, LoadSettings{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, CheckSet(set, LoadSettings{})...)
	for _, o := range set.Objects {
		advice, silenced := Advise(o, o.Tree(), LoadSettings{})
		found = slices.Concat(found, advice, silenced)
	}
	all := []string{}
	for _, f := range append(found, set.Silenced...) {
		if strings.Contains(f.Message, "not shown") {
			return nil
		}
		if f.Rule != rules.IgnoreOdd {
			all = append(all, fmt.Sprintf("%s:%d:%d", f.Rule, f.Line, f.Column))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func checkCanonical(t *testing.T, spec []byte) {
	t.Helper()
	if len(spec) == 0 {
		return
	}
	v, err := canon.Decode(spec)
	if err != nil || !bytes.Equal(canon.Encode(v), spec) {
		t.Errorf("spec is not canonical: %v\n%s", err, spec)
	}
}
