package yamledit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/e2e/inputs"
	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// untidy writes a random value as YAML in a layout that nobody would keep: any
// indentation, empty lines, comments above, behind and below fields. Each comment
// says at which field it stands.
type untidy struct {
	t     *rapid.T
	text  strings.Builder
	notes int
}

func (u *untidy) chance(n int) bool { return rapid.IntRange(0, n).Draw(u.t, "chance") == 0 }

func (u *untidy) note(pad int, where, path string) {
	u.notes++
	fmt.Fprintf(&u.text, "%s# %d %s %s\n", strings.Repeat(" ", pad), u.notes, where, path)
}

// between writes what may stand between two fields.
func (u *untidy) between(pad int, path string) {
	for u.chance(5) {
		u.text.WriteString(strings.Repeat(" ", rapid.IntRange(0, 3).Draw(u.t, "spaces")) + "\n")
	}
	for u.chance(4) {
		u.note(pad, "above", path)
	}
}

// value writes a value behind a key or hyphen that stands at a column, and ends
// its line.
func (u *untidy) value(v any, pad int, path string) {
	gap := strings.Repeat(" ", rapid.IntRange(1, 3).Draw(u.t, "gap"))
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			u.text.WriteString(gap + "{}")
			break
		}
		u.behind(path)
		u.mapping(v, pad+rapid.IntRange(1, 4).Draw(u.t, "indent"), path)
		return
	case []any:
		if len(v) == 0 || u.chance(4) {
			u.text.WriteString(gap + string(canon.Encode(v)))
			break
		}
		u.behind(path)
		u.list(v, pad+rapid.IntRange(1, 4).Draw(u.t, "indent"), path)
		return
	case string:
		if u.block(v, pad, gap) {
			return
		}
		u.text.WriteString(gap + string(canon.Encode(v)))
	default:
		u.text.WriteString(gap + string(canon.Encode(v)))
	}
	u.behind(path)
}

// block writes some texts behind | and some over several lines.
func (u *untidy) block(s string, pad int, gap string) bool {
	inner := strings.Repeat(" ", pad+rapid.IntRange(1, 5).Draw(u.t, "inner"))
	switch {
	case strings.Trim(s, " ") == "" || strings.ContainsAny(s, "\"\\") || !u.chance(2):
		return false
	case u.chance(1):
		u.text.WriteString(gap + "\"" + strings.ReplaceAll(strings.Trim(s, " "), " ", "\\\n"+inner+"\\ ") + "\"\n")
	case s[0] != ' ':
		u.text.WriteString(gap + "|-\n" + inner + s + "\n")
	default:
		return false
	}
	return true
}

func (u *untidy) behind(path string) {
	if u.chance(4) {
		u.note(1, "behind", path)
		return
	}
	u.text.WriteString(strings.Repeat(" ", rapid.IntRange(0, 2).Draw(u.t, "trailing")) + "\n")
}

func (u *untidy) mapping(m map[string]any, pad int, path string) {
	for _, name := range rapid.Permutation(canon.SortedKeys(m)).Draw(u.t, "order") {
		at := kind.JoinField(path, name)
		u.between(pad, at)
		u.field(name, m[name], pad, at)
	}
}

func (u *untidy) field(name string, v any, pad int, path string) {
	key := name
	if !isWord(name) {
		key = strconv.Quote(name)
	}
	u.text.WriteString(strings.Repeat(" ", pad) + key + ":")
	u.value(v, pad, path)
}

func isWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && manifest.ResolveScalar(s) == manifest.PlainText
}

func (u *untidy) list(list []any, pad int, path string) {
	for i, e := range list {
		at := kind.JoinIndex(path, i)
		u.between(pad, at)
		gap := rapid.IntRange(1, 3).Draw(u.t, "behind the hyphen")
		u.text.WriteString(strings.Repeat(" ", pad) + "-")
		m, ok := e.(map[string]any)
		if !ok || len(m) == 0 || u.chance(3) {
			u.value(e, pad, at)
			continue
		}
		names := rapid.Permutation(canon.SortedKeys(m)).Draw(u.t, "order")
		for n, name := range names {
			if n == 0 {
				u.text.WriteString(strings.Repeat(" ", gap))
				key := strconv.Quote(name)
				u.text.WriteString(key + ":")
				u.value(m[name], pad+1+gap, kind.JoinField(at, name))
				continue
			}
			u.between(pad+1+gap, kind.JoinField(at, name))
			u.field(name, m[name], pad+1+gap, kind.JoinField(at, name))
		}
	}
}

var noteForm = regexp.MustCompile(`# \d+ (above|behind) .*`)

// standing are the comments of a text that untidy wrote, each with the field that
// the text has at the comment: the one in its line, or the next below.
func standing(t *rapid.T, text []byte) map[string]string {
	f := manifest.NewFileState("", text)
	docs := f.DocumentNodes()
	if f.Findings.HasErrors() {
		t.Fatalf("%v in\n%s", f.Findings, text)
	}
	fields := map[int]string{}
	heads := map[int]bool{}
	for _, doc := range docs {
		heads[doc.Content[0].Line] = true
		eachField(doc.Content[0], "", func(path string, line int) { fields[line] = path })
	}
	out := map[string]string{}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		found := noteForm.FindStringIndex(line)
		if found == nil {
			continue
		}
		before, note, at := line[:found[0]], line[found[0]:], i+1
		if strings.TrimSpace(before) == "" {
			for at <= len(lines) && fields[at] == "" {
				at++
			}
			if heads[at] {
				out[strings.TrimSpace(note)] = "the document"
				continue
			}
		} else if strings.Trim(before, " -") == "" {
			continue // of the element: it has no line of its own
		}
		out[strings.TrimSpace(note)] = fields[at]
	}
	return out
}

// eachField visits the fields and elements of a document with their lines.
func eachField(n *yaml.Node, path string, visit func(path string, line int)) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			at := kind.JoinField(path, n.Content[i].Value)
			visit(at, n.Content[i].Line)
			eachField(n.Content[i+1], at, visit)
		}
	case yaml.SequenceNode:
		for i, e := range n.Content {
			visit(kind.JoinIndex(path, i), e.Line)
			eachField(e, kind.JoinIndex(path, i), visit)
		}
	case yaml.StreamNode, yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
}

// TestFormatOfAnyLayout: whatever the layout was, the values are the same, and
// each comment stands at the field at which it stood.
func TestFormatOfAnyLayout(t *testing.T) {
	spec := rapid.MapOfN(rapid.SampledFrom([]string{"hostname", "tls", "upstreams", "locations", "firewall", "other"}), rapid.Deferred(inputs.AnyValue), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		u := &untidy{t: t}
		for range rapid.IntRange(1, 2).Draw(t, "documents") {
			if u.text.Len() > 0 {
				u.text.WriteString("---\n")
			}
			u.mapping(map[string]any{
				"apiVersion": "delivery/v2.1", "kind": "CDN",
				"metadata": map[string]any{"name": "shop", "namespace": "acme"},
				"spec":     spec.Draw(t, "spec"),
			}, 0, "")
		}
		in := []byte(u.text.String())
		out, err := Format(in)
		if err != nil {
			t.Fatalf("%v:\n%s", err, in)
		}
		checkFormatted(t, in, out)
		before, after := standing(t, in), standing(t, out)
		if len(before) != len(after) {
			t.Fatalf("%q became %q in\n%s\nof\n%s", before, after, out, in)
		}
		for note, at := range before {
			if after[note] != at {
				t.Fatalf("%s stood at %s, and stands at %s in\n%s\nof\n%s", note, at, after[note], out, in)
			}
		}
	})
}

// TestWrittenIsFormatted: what Write gives is a fixed point of Format.
func TestWrittenIsFormatted(t *testing.T) {
	line := rapid.StringMatching(`[ -~é\n]{0,20}`)
	rapid.Check(t, func(t *rapid.T) {
		var texts [][]byte
		for range rapid.IntRange(1, 3).Draw(t, "drafts") {
			spec := inputs.AnyMapping().Draw(t, "spec")
			spec["text"] = line.Draw(t, "text")
			spec["upstreams"] = []any{spec["text"], map[string]any{"scheme": "https", "name": line.Draw(t, "name"), "x": json.Number("1")}}
			text, err := WriteManifest(Draft{
				Kind: rapid.SampledFrom(kind.AllKinds()).Draw(t, "kind"), Name: line.Draw(t, "name"),
				Namespace: rapid.SampledFrom([]string{"", "acme", "on"}).Draw(t, "namespace"),
				Spec:      canon.Encode(spec), Schema: rapid.SampledFrom([]string{"", "x.json"}).Draw(t, "schema"),
				Head:    strings.Split(rapid.StringMatching(`[ -~é\n]{0,20}`).Draw(t, "head"), "\n"),
				Silence: rapid.SampledFrom([]string{"", "live has it"}).Draw(t, "silence"),
			})
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		text := bytes.Join(texts, []byte("---\n"))
		if again, err := Format(text); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%v:\n%s\nbecame\n%s", err, text, again)
		}
	})
}

func FuzzFormat(f *testing.F) {
	for _, seed := range []string{
		inputs.Shop, "", "a: &a [*a]", "<<: {a: b}", "? {a: b}\n: c", "- - - -\n", "a: |\n x\n...\n---\n", "a:\r\n  b: 1\r\n", "\uFEFFa: 1",
		"a: |2-\n   b\n# c\n", "a:\n- b: # c\n  - d\n#e\n", "{\"a\":[1,{}]}", "a: 'b\n\n  c' # d\n", "# trueup:ignore a b\na: 1\n",
	} {
		f.Add([]byte(seed))
	}
	for _, example := range inputs.Examples(f) {
		f.Add(example)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := Format(data)
		if err != nil {
			return
		}
		checkFormatted(t, data, out)
		was, _, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: data}}, manifest.LoadSettings{Parallelism: 1})
		is, _, errAfter := manifest.Load(context.Background(), []manifest.PathSource{{Data: out}}, manifest.LoadSettings{Parallelism: 1})
		if err != nil || errAfter != nil || len(was.Objects) != len(is.Objects) || len(was.Silenced) != len(is.Silenced) {
			t.Fatalf("%v, %v: %d objects of %d", err, errAfter, len(is.Objects), len(was.Objects))
		}
		for i, o := range was.Objects {
			if o.Key() != is.Objects[i].Key() || o.Digest != is.Objects[i].Digest {
				t.Errorf("%s changed", o.Key())
			}
		}
	})
}
