package yamledit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/manifest"
)

var (
	byAPI  = SubmitRoute{Workspace: "acme"}
	byLine = SubmitRoute{Vendor: "example", Workspace: "acme"}
)

const lineVersion = "delivery.example.cloud/v1beta1"

// purgeText is a purge with the metadata and the end of its first lines as given.
func purgeText(version, metadata string) string {
	return "apiVersion: " + version + "\nkind: Purge\n" + metadata + "spec:\n  hostname: shop.example.com\n  paths: [/a]\n"
}

func converted(t *testing.T, r SubmitRoute, text string) string {
	t.Helper()
	out, _, findings := r.Convert(manifest.FileText{Path: "-", Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatalf("%v\n%s", findings, text)
	}
	return string(out)
}

// TestConvertThereAndBack: what the API's envelope becomes, and that the way back leaves the namespace.
func TestConvertThereAndBack(t *testing.T) {
	plain := purgeText("delivery/v2.1", "metadata:\n  name: rel-42\n")
	for name, c := range map[string]struct{ api, line string }{
		"plain": {plain, purgeText(lineVersion, "metadata:\n  name: rel-42\n  namespace: acme\n")},
		"CRLF": {
			strings.ReplaceAll(plain, "\n", "\r\n"),
			strings.ReplaceAll(purgeText(lineVersion, "metadata:\n  name: rel-42\n  namespace: acme\n"), "\n", "\r\n"),
		},
		"BOM": {"\uFEFF" + plain, "\uFEFF" + purgeText(lineVersion, "metadata:\n  name: rel-42\n  namespace: acme\n")},
		"comments and order": {
			"# über allem\nkind: Purge # what\nmetadata:\n    # who\n    name: 'rel-42'   # é\n\n    # labels\n    labels: {a: b}\nspec: {hostname: shop.example.com, paths: [/a]}\napiVersion: \"delivery/v2.1\" # last\n# end\n",
			"# über allem\nkind: Purge # what\nmetadata:\n    # who\n    name: 'rel-42'   # é\n    namespace: acme\n\n    # labels\n    labels: {a: b}\nspec: {hostname: shop.example.com, paths: [/a]}\napiVersion: \"" + lineVersion + "\" # last\n# end\n",
		},
		"flow": {
			"apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-42}\nspec: {hostname: a.example.com, paths: [/a]}",
			"apiVersion: " + lineVersion + "\nkind: Purge\nmetadata: {name: rel-42, namespace: acme}\nspec: {hostname: a.example.com, paths: [/a]}",
		},
		"flow, another first": {
			"apiVersion: delivery/v2.1\nkind: Purge\nmetadata: { labels: {a: b}, name: rel-42, annotations: {c: d} }\nspec: {hostname: a.example.com, paths: [/a]}",
			"apiVersion: " + lineVersion + "\nkind: Purge\nmetadata: { labels: {a: b}, name: rel-42, namespace: acme, annotations: {c: d} }\nspec: {hostname: a.example.com, paths: [/a]}",
		},
		"JSON on a line": {
			`{"apiVersion":"delivery/v2.1","kind":"Purge","metadata":{"name":"rel-42"},"spec":{"hostname":"a.example.com","paths":["/a"]}}`,
			`{"apiVersion":"` + lineVersion + `","kind":"Purge","metadata":{"name":"rel-42", "namespace": "acme"},"spec":{"hostname":"a.example.com","paths":["/a"]}}`,
		},
		"JSON on lines": {
			"{\n  \"kind\": \"Purge\",\n  \"metadata\": {\n    \"name\": \"rel-42\"\n  },\n  \"apiVersion\": \"delivery/v2.1\",\n  \"spec\": {\"hostname\": \"a.example.com\", \"paths\": [\"/a\"]}\n}\n",
			"{\n  \"kind\": \"Purge\",\n  \"metadata\": {\n    \"name\": \"rel-42\", \"namespace\": \"acme\"\n  },\n  \"apiVersion\": \"" + lineVersion + "\",\n  \"spec\": {\"hostname\": \"a.example.com\", \"paths\": [\"/a\"]}\n}\n",
		},
		"name at the end, without a line's end": {
			"apiVersion: delivery/v2.1\nkind: Purge\nspec: {hostname: a.example.com, paths: [/a]}\nmetadata:\n  name: rel-42",
			"apiVersion: " + lineVersion + "\nkind: Purge\nspec: {hostname: a.example.com, paths: [/a]}\nmetadata:\n  name: rel-42\n  namespace: acme",
		},
		"several documents": {
			"# first\n---\n" + plain + "---\napiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: a}\n---\n# nothing\n---\n" + plain + "...\n",
			"# first\n---\n" + purgeText(lineVersion, "metadata:\n  name: rel-42\n  namespace: acme\n") + "---\napiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: a}\n---\n# nothing\n---\n" + purgeText(lineVersion, "metadata:\n  name: rel-42\n  namespace: acme\n") + "...\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := converted(t, byLine, c.api); got != c.line {
				t.Errorf("there:\n%s\nwant\n%s", got, c.line)
			}
			if got, want := converted(t, byAPI, c.line), strings.ReplaceAll(c.line, lineVersion, "delivery/v2.1"); got != want {
				t.Errorf("back:\n%s\nwant\n%s", got, want)
			}
			for text, r := range map[string]SubmitRoute{c.api: byAPI, c.line: byLine} {
				if got := converted(t, r, text); got != text {
					t.Errorf("not left as it is:\n%s\n%s", got, text)
				}
			}
		})
	}
}

// TestConvertKeepsANamespace on both routes.
func TestConvertKeepsANamespace(t *testing.T) {
	for _, metadata := range []string{
		"metadata:\n  name: rel-42\n  namespace: acme # ours\n",
		"metadata:\n  name: rel-42\n  namespace: &ns acme\n  labels: {team: *ns}\n",
		"metadata: {name: rel-42, # the release\n  namespace: acme}\n",
	} {
		api, line := purgeText("delivery/v2.1", metadata), purgeText(lineVersion, metadata)
		if there, back := converted(t, byLine, api), converted(t, SubmitRoute{}, line); there != line || back != api {
			t.Errorf("%s\n%s", there, back)
		}
	}
}

// TestConvertSays what it did to each document that it changed.
func TestConvertSays(t *testing.T) {
	text := "apiVersion: trueup/v1\nkind: Project\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n---\n[1, 2]\n---\n" +
		purgeText("delivery/v2.1", "metadata: {name: rel-42}\n") + "---\n" + purgeText("delivery.other.cloud/v1beta1", "metadata: {name: rel-43}\n") +
		"---\n" + purgeText(lineVersion, "metadata: {name: rel-44, namespace: acme}\n") +
		"---\napiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: db}\n"
	out, done, findings := byLine.Convert(manifest.FileText{Path: "-", Data: []byte(text)})
	got := ""
	for _, d := range done {
		got += fmt.Sprintf("%d: %s\n", d.Line, d.Fix)
	}
	want := "10: Purge/rel-42: delivery/v2.1 became " + lineVersion + ", metadata.namespace added\n" +
		"17: Purge/rel-43: delivery.other.cloud/v1beta1 became " + lineVersion + ", metadata.namespace added\n"
	if len(findings) > 0 || got != want {
		t.Errorf("%v\n%s\nwant\n%s\n%s", findings, got, want, out)
	}
}

// TestConvertRefuses what it can't do without changing more, or what would be
// another purge.
func TestConvertRefuses(t *testing.T) {
	plain := "metadata: {name: rel-42}\n"
	for name, c := range map[string]struct {
		route SubmitRoute
		text  string
		part  string
	}{
		"no workspace":       {SubmitRoute{Vendor: "example"}, purgeText("delivery/v2.1", plain), "needs the workspace"},
		"no name":            {byLine, purgeText("delivery/v2.1", ""), "no metadata with a name"},
		"a merged namespace": {byAPI, "x: &x {namespace: acme}\n" + purgeText(lineVersion, "metadata: {<<: *x, name: rel-42}\n"), "or a merge key"},
		"a tag":              {byLine, purgeText("!!str delivery/v2.1", plain), "not written as plain text"},
		"a block":            {byLine, purgeText("|-\n  delivery/v2.1", plain), "not written as plain text"},
		"an anchor":          {byLine, purgeText("&v delivery/v2.1", plain) + "x: *v\n", "not written as plain text"},
		"a long name":        {byLine, purgeText("delivery/v2.1", "metadata:\n  name: |-\n    rel-42\n"), "not written as plain text"},
		"not a YAML":         {byLine, purgeText("delivery/v2.1", plain) + "}\n", ""},
		"a directive":        {byLine, "%YAML 1.2\n---\n" + purgeText("delivery/v2.1", plain), "directives"},
		"UTF-16":             {byLine, "\xFF\xFEa\x00", "UTF-16"},
	} {
		out, _, findings := c.route.Convert(manifest.FileText{Path: "a.yaml", Data: []byte(c.text)})
		if out != nil || !findings.HasErrors() || !strings.Contains(findings[0].Message, c.part) {
			t.Errorf("%s: %v\n%s", name, findings, out)
		}
	}
}

// TestConvertChangesNothingElse: for purges in many layouts the specs, the
// comments and the way back are the same.
func TestConvertChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawPurge(t)
		there, _, findings := byLine.Convert(manifest.FileText{Path: "-", Data: []byte(text)})
		if len(findings) > 0 {
			t.Fatalf("%v\n%s", findings, text)
		}
		back, _, findings := byAPI.Convert(manifest.FileText{Path: "-", Data: there})
		if len(findings) > 0 || string(back) != strings.ReplaceAll(string(there), lineVersion, "delivery/v2.1") {
			t.Fatalf("%v\n%q\nthere\n%q\nback\n%q", findings, text, there, back)
		}
		sameObjects(t, []byte(text), there)
	})
}

// sameObjects holds that both texts are the same objects.
func sameObjects(t interface{ Fatalf(string, ...any) }, a, b []byte) {
	load := func(data []byte) *manifest.Set {
		set, _, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: data, Display: "-"}}, manifest.LoadSettings{Workspace: "acme"})
		if err != nil {
			t.Fatalf("%v", err)
		}
		return set
	}
	was, is := load(a), load(b)
	if len(was.Objects) != len(is.Objects) {
		t.Fatalf("%d objects became %d\n%s\n%s", len(was.Objects), len(is.Objects), a, b)
	}
	for i, o := range was.Objects {
		if n := is.Objects[i]; n.Key() != o.Key() || n.Digest != o.Digest || n.Namespace != o.Namespace {
			t.Fatalf("%s is another\n%s\n%s", o.Key(), a, b)
		}
	}
}

// drawPurge is a purge in one of many layouts.
func drawPurge(t *rapid.T) string {
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "pick") }
	quote := pick("", "'", `"`)
	indent := pick(" ", "  ", "    ")
	comment := pick("", " # über", "  #x")
	metadata := pick(
		"metadata:\n"+indent+"name: "+quote+"rel-42"+quote+comment+"\n",
		"metadata:\n"+indent+"labels:\n"+indent+indent+"a: b\n\n"+indent+"# c\n"+indent+"name: "+quote+"rel-42"+quote+"\n"+indent+"annotations: {}\n",
		"metadata: {name: "+quote+"rel-42"+quote+"}"+comment+"\n",
		"metadata: { \"name\": \"rel-42\" }\n",
		"metadata: {\n"+indent+"name: rel-42\n}\n",
		"metadata: {labels: {a: b},\n"+indent+"name: rel-42}\n",
	)
	head := "apiVersion: " + quote + "delivery/v2.1" + quote + comment + "\n"
	kindLine := pick("kind: Purge\n", "# k\nkind:   Purge\n")
	spec := pick("spec: {hostname: é.example.com, paths: ['/a']}\n", "spec:\n  # p\n  hostname: a.example.com\n  paths:\n  - /a\n  - \"/é\"\n")
	parts := rapid.Permutation([]string{head, kindLine, metadata, spec}).Draw(t, "order")
	text := pick("", "# top\n", "---\n") + strings.Join(parts, pick("", "\n"))
	if rapid.Bool().Draw(t, "no end") {
		text = strings.TrimRight(text, "\n")
	}
	return strings.ReplaceAll(text, "\n", pick("\n", "\r\n"))
}

// TestConvertCorpus: what real files hold beside purges stays byte for byte.
func TestConvertCorpus(t *testing.T) {
	dir := os.Getenv("TRUEUP_CORPUS")
	if dir == "" {
		t.Skip("TRUEUP_CORPUS names no folder of real-world manifests")
	}
	purge := purgeText("delivery/v2.1", "metadata: {name: rel-42}\n")
	looked := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !manifest.IsFile(path) || looked > 300 {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 1<<20 {
			return err
		}
		if !bytes.HasSuffix(data, []byte("\n")) {
			data = append(data, '\n')
		}
		text := append(append(bytes.Clone(data), "---\n"...), purge...)
		out, _, findings := byLine.Convert(manifest.FileText{Path: path, Data: text})
		if findings.HasErrors() {
			return nil
		}
		looked++
		if !bytes.HasPrefix(out, append(data, "---\napiVersion: "+lineVersion...)) {
			t.Errorf("%s was changed", path)
		}
		return nil
	})
	if err != nil || looked < 50 {
		t.Errorf("%d files, %v", looked, err)
	}
}

// FuzzConvert: whatever a file holds, what is converted is the same objects, and
// what is refused is left alone.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(purgeText("delivery/v2.1", "metadata:\n  name: a # b\n")))
	f.Add([]byte(purgeText(lineVersion, "metadata: {name: a, namespace: acme}\n")))
	f.Add([]byte(`{"apiVersion":"delivery\/v2.1","kind":"Purge","metadata":{"name":"a"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		for _, r := range []SubmitRoute{byAPI, byLine, {}} {
			out, _, findings := r.Convert(manifest.FileText{Path: "-", Data: data})
			if (out == nil) != findings.HasErrors() && len(data) > 0 {
				t.Fatalf("%v\n%q", findings, out)
			}
			if out != nil {
				sameObjects(t, data, out)
			}
		}
	})
}
