//go:build linux

package hostile

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/internal/e2e/harness"
	"trueup/internal/kind"
)

func hostileInput() []hostileCase {
	return []hostileCase{
		{"yaml-alias-bomb", "Aliases expand to at most 100,000 values and 16 MiB: 'TestAliasesOfLongTextsAreBounded'.", yamlAliasBomb},
		{"deep-nesting", "At most 64 levels, 500,000 values a document, 16 MiB a file.", deepNesting},
		{"duplicate-keys", "An error with both lines, also for one object in two files.", duplicateKeys},
		{"norway-and-numbers", "An unquoted boolean or number in a text field is an error with the quoted form.", norwayAndNumbers},
		{"trailing-documents", "Every document is read; content after a document's end is an error.", trailingDocuments},
		{"encodings", "UTF-8 only. Control characters and characters that reorder or hide text are errors, in keys and values.", encodings},
		{"links-and-pipes", "Reads regular files inside the folder only, and never writes through a link: 'TestPipesDoNotHang', 'TestATreeOpensNoPipe'.", linksAndPipes},
		{"schema-references", "Schemas are embedded and load no other: 'TestSchemasHaveOnlyKeywordsThatAreChecked'.", schemaReferences},
		{"unknown-fields", "Keys are case-sensitive. A name that resembles a documented one is an error that no comment silences ([misspelt-field](../rules/misspelt-field.md)); another unknown one is a warning, and with 'strict: true' or in 'trueup.yaml' an error.", unknownFields},
		{"name-in-url", "A rule and escaping: 'FuzzNameInURL'. Files that 'pull' writes stay in their folder: 'TestFileNamesAreSafeAndNeverCollide'.", nameInURL},
	}
}

// bomb is a text in which each of nine aliases holds nine of the one before.
func bomb() string {
	var b strings.Builder
	b.WriteString("  a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "  a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	return b.String()
}

func yamlAliasBomb(p *place) {
	long := strings.Repeat("x", 1<<20)
	p.write("manifests/nested.yaml", cdnOf("shop", bomb()))
	p.write("manifests/long.yaml", cdnOf("blog", "  a: &a "+long+"\n  b: ["+strings.Repeat("*a, ", 5000)+"]\n"))
	p.says(4, []string{"validate"}, "manifests/nested.yaml:", "aliases expand to more than 100000 values",
		"manifests/long.yaml:", "aliases expand to more than 16 MiB", "fix: write the values themselves")
	p.says(4, []string{"fmt", "--fix"}, "manifests/nested.yaml:", "aliases expand to more than 100000 values")
	p.write("trueup.yaml", harness.ProjectText+"overrides:\n  - &a {kind: CDN, path: spec.x}\n  - *a\n")
	p.says(4, []string{"validate"}, "trueup.yaml: line 8: trueup does not read aliases (*NAME) here")
}

func deepNesting(p *place) {
	p.write("manifests/flow.yaml", cdnOf("a", "  x: "+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+"\n"))
	p.write("manifests/open.yaml", cdnOf("b", "  x: "+strings.Repeat("{a: ", 200_000)+"\n"))
	var block strings.Builder
	for i := range 1000 {
		block.WriteString(strings.Repeat(" ", i+2) + "a:\n")
	}
	p.write("manifests/block.yaml", cdnOf("c", block.String()))
	p.write("manifests/wide.yaml", cdnOf("d", "  x: ["+strings.Repeat("a,", 600_000)+"]\n"))
	p.write("manifests/huge.yaml", "")
	if err := os.Truncate(p.path("manifests/huge.yaml"), 17<<20); err != nil {
		p.Fatal(err)
	}
	p.says(4, []string{"validate"}, "manifests/block.yaml:207:203: error: nested more than 64 levels deep", "manifests/flow.yaml:8:206: error: nested more than 64 levels deep",
		"manifests/open.yaml:8:806: error: nested more than 64 levels deep", "fix: flatten the document",
		"manifests/huge.yaml:1:1: error: the file is larger than 16 MiB", "a document has more than 500000 values")
}

func duplicateKeys(p *place) {
	p.write("manifests/a.yaml", cdnOf("shop", "  hostname: other.example.com\n"))
	p.says(4, []string{"validate"}, `manifests/a.yaml:8:3: error: the mapping has the key "hostname" twice, first in line 5`, "keep one of the lines 5 and 8")
	p.write("manifests/a.yaml", cdnOf("shop", ""))
	p.write("manifests/b.yaml", cdnOf("shop", ""))
	p.says(4, []string{"validate"}, "manifests/b.yaml:3:18: error: CDN/shop is also at manifests/a.yaml:1")
}

func norwayAndNumbers(p *place) {
	for value, fix := range map[string]string{
		"no": `"false"`, "on": `"true"`, "yes": `"true"`, "0600": `"0600"`, "1_000": `"1_000"`, "1e3": `"1e3"`, "1:30": `"1:30"`, "0x1F": `"0x1F"`, "1.0": `"1.0"`,
	} {
		p.write("manifests/a.yaml", cdnOf("shop", "  tls: {enabled: "+value+"}\n"))
		p.says(4, []string{"validate"}, "manifests/a.yaml:8:18: error: "+value+" without quotes", "write enabled: "+fix)
		left := 4 // quotes do not make a boolean of a number
		if fix == `"true"` || fix == `"false"` {
			left = 0
		}
		p.says(left, []string{"fmt", "--fix"}, "manifests/a.yaml:8:18: repaired: write "+fix+" instead of "+value)
		p.must(left, "validate")
	}
	p.write("manifests/a.yaml", cdnOf("shop", "  firewall: {rules: [{name: a, action: {type: ratelimit, ratelimit: {rate: 1e400}}}]}\n"))
	p.says(4, []string{"validate"}, "1e400 is outside the range of numbers that all JSON parsers support")
}

func trailingDocuments(p *place) {
	p.write("manifests/a.yaml", cdnOf("shop", "")+"---\n"+cdnOf("blog", "")+"...\n---\n"+cdnOf("docs", ""))
	p.says(0, []string{"validate"}, "Validate: no findings, 3 objects.")
	for _, trailing := range []string{"...\nkind: CDN\n", "...\n}\n", "--- {}\n{}\n"} {
		p.write("manifests/a.yaml", cdnOf("shop", "")+trailing)
		p.must(4, "validate")
	}
	p.write("manifests/a.yaml", `{"apiVersion": "delivery/v2.1"} {"kind": "CDN"}`)
	p.says(4, []string{"validate"}, "yaml-trailing")
}

func encodings(p *place) {
	p.write("manifests/a.yaml", "\ufeff"+strings.ReplaceAll(cdnOf("shop", ""), "\n", "\r\n"))
	p.says(0, []string{"validate"}, "Validate: no findings, 1 object.")
	for text, says := range map[string]string{
		"\xff\xfea\x00:\x00":                      "the file is UTF-16",
		cdnOf("shop", "  x: \xff\n"):              "the byte 0xFF is not UTF-8",
		cdnOf("shop", "  a\u200bb: c\n"):          "U+200B",
		cdnOf("shop", "  x: a\u2060b\n"):          "U+2060",
		cdnOf("shop", "  \"a\\u2028\": b\n"):      "U+2028",
		cdnOf("shop", "  firewall: {}\n\ufeff\n"): "a byte order mark that is not at the start, U+FEFF",
	} {
		p.write("manifests/a.yaml", text)
		p.says(4, []string{"validate"}, says, "yaml-encoding")
	}
	p.write("manifests/a.yaml", cdnOf("shop", `  x: "\0\e[2J\N\L\P\u202e\uFEFF\u00ad\u200b"`+"\n"))
	p.says(0, []string{"validate"}, "1 object")
	text, said := cdnOf("shop", "  x:\n"), []string{"yaml-encoding"}
	for _, r := range "\u00ad\u034f\u115f\u1160\u17b4\u180b\u180f\u2060\u2800\u3164\ufe00\ufe0f\uffa0\U000e0001\U000e0041\U000e007f\U000e0100" {
		text += fmt.Sprintf("  - a%cb\n  - \"%c\"\n  - {a%cb: c}\n", r, r, r)
		said = append(said, fmt.Sprintf("U+%04X", r))
	}
	p.write("manifests/a.yaml", text)
	p.says(4, []string{"validate"}, append(said, "Validate: 51 errors, 1 warning, 1 object.")...)
	p.write("manifests/a.yaml", cdnOf("shop", ""))
	misread(p)
}

// misread writes each character that programs read differently into each file, in quotes and in a comment, and
// expects its code and its place.
func misread(p *place) {
	for name, text := range map[string]string{
		"manifests/a.yaml": cdnOf("shop", ""), "trueup.yaml": p.read("trueup.yaml"), "manifests/t.json": "\n",
		"manifests/t.yaml": "apiVersion: trueup/v1\nkind: RequestTest\nmetadata: {name: t}\nspec: {}\n",
	} {
		for _, r := range "\x00\x1b\x7f\u0085\u009b\u061c\u200e\u2028\u2029\u202e\u2066\ufeff\r" {
			for _, odd := range []string{"# ü", "{\"a\": \"b"} {
				p.write(name, text+odd+string(r)+"  hidden: true\"}\n")
				line, column := strings.Count(text, "\n")+1, len([]rune(odd))+1
				where := fmt.Sprintf("%s:%d:%d", name, line, column)
				if name == "trueup.yaml" {
					where = fmt.Sprintf("line %d, column %d", line, column)
				}
				p.says(4, []string{"validate"}, where, fmt.Sprintf("U+%04X", r))
			}
		}
		p.write(name, text)
	}
}

func linksAndPipes(p *place) {
	p.write("outside/secret.yaml", "secret: hidden-text\n")
	p.write("project/trueup.yaml", p.read("trueup.yaml"))
	p.write("project/manifests/a.yaml", cdnOf("shop", ""))
	for name, aim := range map[string]string{
		"manifests/file.yaml": "../../outside/secret.yaml", "manifests/inside.yaml": "a.yaml",
		"manifests/loop.yaml": "loop.yaml", "manifests/dir": "../../outside", "manifests/turn": "turn", "manifests/dev.yaml": os.DevNull,
	} {
		if err := os.Symlink(aim, p.path("project/"+name)); err != nil {
			p.Skipf("this machine makes no symbolic links: %v", err)
		}
	}
	args := []string{"validate", "-C", "project"}
	p.says(4, args, "manifests/file.yaml", "is a symbolic link and is not read", "manifests/loop.yaml", "manifests/dev.yaml",
		"manifests/dir: warning: trueup does not follow symbolic links to folders", "manifests/turn")
	if out := p.must(4, append(args, "-o", "json")...); strings.Contains(out, "hidden-text") {
		p.Error("a file outside the tree is shown")
	}
	for _, name := range []string{"file", "inside", "loop", "dev"} {
		if err := os.Remove(p.path("project/manifests/" + name + ".yaml")); err != nil {
			p.Fatal(err)
		}
	}
	if mkfifo, err := exec.LookPath("mkfifo"); err == nil {
		if out, err := exec.CommandContext(p.Context(), mkfifo, p.path("project/manifests/pipe.yaml")).CombinedOutput(); err != nil {
			p.Fatalf("%v: %s", err, out)
		}
		p.says(4, args, "manifests/pipe.yaml", "a device, a pipe or a socket and is not read")
		if err := os.Remove(p.path("project/manifests/pipe.yaml")); err != nil {
			p.Fatal(err)
		}
	}
	// A folder of that name is a folder, hidden ones are not looked into, and odd
	// names are shown so that nobody obeys them.
	p.write("project/manifests/x.yaml/b.yaml", cdnOf("blog", ""))
	p.write("project/manifests/.git/c.yaml", "kind: [\n")
	p.write("project/manifests/a\n::error ::b\x1b[2J\u202e.yaml", cdnOf("docs", "  odd: x\n"))
	p.says(0, args, "3 objects", `a\n::error ::b\x1b[2J\u202e.yaml`)
	p.write("project/manifests/\xff.yaml", cdnOf("more", ""))
	p.says(4, args, `manifests/\xff.yaml: error: the name is not UTF-8`)
	writesBehindNoLink(p)
}

// writesBehindNoLink: pull writes where manifests are read, and nowhere else.
func writesBehindNoLink(p *place) {
	p.live("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: secret}\nspec: {hostname: secret.example.com}\n")
	p.write("other/trueup.yaml", p.read("trueup.yaml"))
	p.write("other/elsewhere/a.txt", "")
	for link, aim := range map[string]string{"manifests": "../outside", "manifests/cdns": "../elsewhere", "manifests/cdns/secret.yaml": "../../../outside/new.yaml"} {
		at := p.path("other/" + link)
		if err := errors.Join(os.RemoveAll(p.path("other/manifests")), os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(aim, at)); err != nil {
			p.Fatal(err)
		}
		if code, out := p.run("pull", "-C", "other"); code == 0 {
			p.Errorf("pull wrote through the link %s: %s", link, out)
		}
		for _, folder := range []string{"outside", "other/elsewhere"} {
			if entries, err := os.ReadDir(p.path(folder)); err != nil || len(entries) != 1 {
				p.Errorf("in %s there are %v, %v", folder, entries, err)
			}
		}
	}
}

func schemaReferences(p *place) {
	at := p.listener()
	p.write("secret.json", `{"title": "hidden-text"}`)
	p.write("trueup.yaml", p.read("trueup.yaml")+"strict: true\n")
	for _, ref := range []string{"http://" + at + "/s.json", "file://" + p.path("secret.json"), p.path("secret.json"), "../secret.json"} {
		p.write("manifests/a.yaml", "# yaml-language-server: $schema="+ref+"\n"+
			cdnOf("shop", fmt.Sprintf("  $ref: %q\n  $schema: %q\n  $id: %q\n  x: {$ref: %q, $dynamicRef: %q}\n", ref, ref, ref, ref, ref)))
		code, out := p.run("validate")
		if code != 4 || !strings.Contains(out, "$ref") || strings.Contains(out, "hidden-text") {
			p.Errorf("%s: exit %d\n%s", ref, code, out)
		}
	}
}

func unknownFields(p *place) {
	for field, fix := range map[string]string{"secureLnk": "write secureLink", "TLS": "write tls", "Firewall": "write firewall", "tl\u0455": "has the character", "upstream": "remove it: upstreams is already set"} {
		p.write("manifests/a.yaml", cdnOf("shop", "  "+field+": {} # trueup:ignore misspelt-field x\n"))
		p.says(4, []string{"validate"}, "error: there is no field", fix)
	}
	p.write("manifests/a.yaml", cdnOf("shop", "  link: {}\n"))
	p.says(0, []string{"validate"}, "warning: ", "did you mean secureLink?")
	project := p.read("trueup.yaml")
	p.write("trueup.yaml", project+"strict: true\n")
	p.must(4, "validate")
	p.write("trueup.yaml", project)
	for _, text := range []string{
		"apiVersion: delivery/v2.1\nKind: CDN\nmetadata: {name: a}\nspec: {hostname: a.example.com}\n",
		"apiVersion: delivery/v2.1\nkind: cdn\nmetadata: {name: a}\nspec: {hostname: a.example.com}\n",
		"apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {Name: a}\nspec: {hostname: a.example.com}\n",
		"apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: a}\nSpec: {hostname: a.example.com}\n",
	} {
		p.write("manifests/a.yaml", text)
		p.must(4, "validate")
	}
	p.write("manifests/a.yaml", cdnOf("shop", ""))
	p.write("trueup.yaml", p.read("trueup.yaml")+"Manifests: [/etc]\n")
	p.says(4, []string{"validate"}, `unknown field "Manifests"`)
}

// hostileNames would address something else if they stood in a path as they are.
func hostileNames() []string {
	return []string{
		"../x", "a/b", "a%2fb", "a%2Fb", "%2e%2e", "..", ".", "...", "a/../b", `a\b`, "a?b", "a#b", "a;b", "\uff0e\uff0e", "\u2024\u2024", "a\u2215b", "a\u2044b",
		"a\nb", "a\rb", "a\tb", "a\x00b", "a\u202eb", "a\u200bb", "//evil.example", "http://evil.example/", "@evil.example", strings.Repeat("a", 5000), " ", "a b", "*", "{workspace_uuid}",
	}
}

func nameInURL(p *place) {
	for _, name := range hostileNames() {
		p.write("manifests/a.yaml", fmt.Sprintf("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: %q}\nspec: {hostname: shop.example.com}\n", name))
		code, out := p.run("apply", "--auto-approve")
		// What is only odd may be sent, as one segment.
		odd := strings.ContainsAny(name, " *@{") && !strings.Contains(name, "/")
		if code != 4 && !odd {
			p.Errorf("%q: exit %d\n%.500s", name, code, out)
		}
		if sent := p.sent(); !odd && len(sent) > 0 {
			p.Errorf("%q: sent were %q", name, sent)
		}
		checkSegments(p.T, name)
	}
	pullsIntoItsFolder(p)
	for _, uuid := range []string{"../x", "a/b", "a%2fb", "..", "a?b", strings.Repeat("a", 300)} {
		p.write("trueup.yaml", strings.Replace(harness.ProjectText, "5a1d0c7e-3b52-4f7e-9c1e-0d6f2a8b4c10", fmt.Sprintf("%q", uuid), 1))
		p.says(4, []string{"plan"}, "workspace: name and uuid have letters, digits")
	}
}

// pullsIntoItsFolder: no name of a live object leads out of the folder that is
// written to, and what is written there is what validate takes.
func pullsIntoItsFolder(p *place) {
	p.Helper()
	if err := os.RemoveAll(p.path("manifests")); err != nil {
		p.Fatal(err)
	}
	before := files(p)
	for i, name := range hostileNames() {
		if !strings.Contains(name, "\x00") { // with which no platform has a name
			p.live(fmt.Sprintf("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: %q}\nspec: {hostname: h%d.example.com}\n", name, i))
		}
	}
	p.run("pull")
	p.must(0, "validate")
	for _, file := range files(p) {
		inside := strings.HasPrefix(file, "manifests/cdns/") && strings.Count(file, "/") == 2
		if !inside && !slices.Contains(before, file) && !strings.HasPrefix(file, "ledger/") {
			p.Errorf("pull wrote %q", file)
		}
	}
}

// files are all files of the place, with slashes.
func files(p *place) []string {
	var all []string
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(p.dir, path)
			all = append(all, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	return all
}

// checkSegments asserts that a name is one segment of every kind's path, whatever
// is in it.
func checkSegments(t *testing.T, name string) {
	t.Helper()
	ws := kind.Workspace{Name: name, UUID: name}
	for _, k := range kind.AllKinds() {
		want := strings.Count(k.Collection, "/") + 1
		u, err := url.Parse("https://platform.example.com" + k.ObjectPath(ws, name))
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		segments := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
		last, err := url.PathUnescape(segments[len(segments)-1])
		if len(segments) != want || err != nil || last != name || u.RawQuery != "" || u.Fragment != "" || u.Host != "platform.example.com" {
			t.Errorf("%q in %s gives %s", name, k.Name, u)
		}
	}
}

// FuzzNameInURL: no name changes how many segments a path has, or anything else
// of the address.
func FuzzNameInURL(f *testing.F) {
	for _, name := range hostileNames() {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name != "" {
			checkSegments(t, name)
		}
	})
}
