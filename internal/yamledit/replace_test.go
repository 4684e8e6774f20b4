package yamledit

import (
	"context"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/manifest"
)

func TestReplaceInKeepsWhatIsAround(t *testing.T) {
	const doc = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: NAME}\nspec: {hostname: NAME.example.com}\n"
	named := func(name string) string { return strings.ReplaceAll(doc, "NAME", name) }
	brackets := `{apiVersion: delivery/v2.1, kind: CDN, metadata: {name: b}, spec: {hostname: b.example.com}}` + "\n"
	k, _ := kind.FindKind("cdn")
	text, err := WriteManifest(Draft{Kind: k, Name: "b", Spec: []byte(`{"hostname":"new.example.com"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ file, want string }{
		"alone":            {"# head\n" + named("b") + "# foot\n", string(text)},
		"first":            {named("b") + "---\n# c\n" + named("c"), string(text) + "---\n# c\n" + named("c")},
		"between":          {named("a") + "--- # one\n\n" + named("b") + "...\n---\n" + named("c"), named("a") + "--- # one\n" + string(text) + "...\n---\n" + named("c")},
		"last":             {"\ufeff" + named("a") + "---\n" + named("b"), "\ufeff" + named("a") + "---\n" + string(text)},
		"behind hyphens":   {named("a") + "--- " + brackets + "---\n" + named("c"), named("a") + "---\n" + string(text) + "---\n" + named("c")},
		"with CRLF around": {strings.ReplaceAll(named("a")+"---\n", "\n", "\r\n") + named("b"), strings.ReplaceAll(named("a")+"---\n", "\n", "\r\n") + strings.ReplaceAll(string(text), "\n", "\r\n")},
		"without an end":   {named("a") + "---\n" + strings.TrimSuffix(named("b"), "\n"), named("a") + "---\n" + string(text)},
	} {
		set, findings, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: []byte(tt.file), Display: "-"}}, manifest.LoadSettings{})
		if err != nil || findings.HasErrors() {
			t.Fatalf("%s: %v, %v", name, err, findings)
		}
		o := set.Find(kind.Key{Kind: "CDN", Name: "b"})
		if got := string(ReplaceDocuments(&manifest.LineIndex{Data: []byte(tt.file)}, map[*manifest.Object][]byte{o: text})); got != tt.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, tt.want)
		}
	}
}

// TestWithValuesKeepsTheRest: other values go in, and comments, quotes, order and the rest of the file stay.
func TestWithValuesKeepsTheRest(t *testing.T) {
	const head = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: b}\nspec:\n"
	const other = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: c}\nspec: {hostname: c.example.com}\n---\n"
	for name, tt := range map[string]struct{ spec, live, want string }{
		"quotes and order": {
			"  tls: {forced: 'true', auto: \"false\"} # why\n  hostname: b.example.com # old\n",
			`{"hostname":"new.example.com","tls":{"auto":"true","forced":"false"}}`,
			"  tls: {forced: 'false', auto: \"true\"} # why\n  hostname: new.example.com # old\n",
		},
		"quotes where they are needed": {"  hostname: b.example.com\n", `{"hostname":"443"}`, "  hostname: \"443\"\n"},
		"booleans and numbers":         {"  firewall: {enabled: true}\n", `{"firewall":{"enabled":false}}`, "  firewall: {enabled: false}\n"},
		"fields of one side":           {"  hostname: b # keep\n  x: 1\n", `{"hostname":"d","y":2}`, "  hostname: d # keep\n  x: 1\n"},
		"elements by key": {
			"  upstreams:\n    # two\n    - {name: two, scheme: http}\n    - {name: one, scheme: http}\n",
			`{"upstreams":[{"name":"one","scheme":"https"},{"name":"two","scheme":"http"}]}`,
			"  upstreams:\n    # two\n    - {name: two, scheme: http}\n    - {name: one, scheme: https}\n",
		},
		"an element with another key": {
			"  upstreams: [{name: one, scheme: http}, {name: two}] # both\n",
			`{"upstreams":[{"name":"one"},{"name":"three"}]}`,
			"  upstreams: [{name: one, scheme: http}, {name: three}] # both\n",
		},
		"nothing differs":         {"  hostname: b\n", `{"hostname":"b"}`, ""},
		"one element more":        {"  upstreams: [{name: one}]\n", `{"upstreams":[{"name":"one"},{"name":"two"}]}`, ""},
		"a structure for text":    {"  hostname: b\n", `{"hostname":{"a":"b"}}`, ""},
		"an anchor used twice":    {"  hostname: &h b # of both\n  tls: {forced: *h}\n", `{"hostname":"c","tls":{"forced":"b"}}`, "  hostname: &h c # of both\n  tls: {forced: b}\n"},
		"an anchor and its alias": {"  hostname: &h b\n  tls: {forced: *h} # too\n", `{"hostname":"c","tls":{"forced":"c"}}`, "  hostname: &h c\n  tls: {forced: *h} # too\n"},
		"a tag":                   {"  hostname: !!str 1 # why\n  weight: !!int 2\n  a: !!str 'b'\n", `{"hostname":"2","weight":3,"a":"c"}`, "  hostname: !!str \"2\" # why\n  weight: !!int 3\n  a: !!str 'c'\n"},
		"text of several lines":   {"  # why\n  hostname: |\n    b\n\n    c\n  x: 1\n", `{"hostname":"c"}`, "  # why\n  hostname: c\n  x: 1\n"},
		"other lines":             {"  hostname: |\n      b\n  x: 1 # why\n", `{"hostname":"c\nd\n"}`, "  hostname: |\n      c\n      d\n  x: 1 # why\n"},
		"lines in a list":         {"  subdomains:\n  - >-\n    b\n  - c # why\n", `{"subdomains":["d\n","c"]}`, "  subdomains:\n  - |\n    d\n  - c # why\n"},
		"what single quotes can't have as it is": {
			"  hostname: 'b' # why\n  a: 'c'\n  d: 'e'\n", `{"hostname":"it's","a":"x\\y\"z","d":"two\nlines"}`,
			"  hostname: 'it''s' # why\n  a: 'x\\y\"z'\n  d: \"two\\nlines\"\n",
		},
	} {
		file := []byte(strings.ReplaceAll("\ufeff"+other+head+tt.spec, "\n", "\r\n"))
		k, _ := kind.FindKind("cdn")
		o := &manifest.Object{Kind: k, Name: "b", Line: strings.Count(other, "\n") + 1}
		want := strings.ReplaceAll("\ufeff"+other+head+tt.want, "\n", "\r\n")
		in := &manifest.LineIndex{Data: file}
		_, text := WithValues(o, in, []byte(tt.live))
		if got := string(ReplaceDocuments(in, map[*manifest.Object][]byte{o: text})); (text == nil) != (tt.want == "") || text != nil && got != want {
			t.Errorf("%s: %q\nwant\n%q", name, got, want)
		}
	}
}
