package manifest

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/e2e/inputs"
	"trueup/internal/e2e/long"
	"trueup/internal/kind"
	"trueup/internal/routing"
	"trueup/internal/rules"
)

// reader loads files one after the other, each by itself.
type reader struct {
	worker
	library bool // package yaml reads all documents
}

func newReader(library bool) *reader {
	opts := LoadSettings{Workspace: "acme"}
	return &reader{worker{loader: &loader{options: opts}}, library}
}

func (r *reader) load(path string, data []byte) (*Set, diag.List) {
	f := NewFileState(path, data)
	f.Comments, f.Pool = r.library, &r.pool
	r.file, r.loadResult, r.convert.expanded = f, loadResult{}, 0
	f.EachDocument(r.convertDocument)
	f.Findings.Sort()
	r.findings = f.Findings
	r.results = []loadResult{r.loadResult}
	set, findings, _ := r.joinResults() // it fails where a file can't be read
	return set, findings
}

// comparison loads files by both parsers.
type comparison struct {
	plain, library *reader
	hosts          HostReader
	objects        int
	rules          map[string]int // and how often each has a finding
}

func newComparison() *comparison {
	return &comparison{plain: newReader(false), library: newReader(true), rules: map[string]int{}}
}

// compare fails if a file has other objects, values, places, digests or findings without package yaml.
func (c *comparison) compare(t *testing.T, path string, data []byte) {
	t.Helper()
	is, found := c.plain.load(path, data)
	was, had := c.library.load(path, data)
	if !reflect.DeepEqual(found, had) {
		t.Fatalf("%s: findings %+v, not %+v, in\n%s", path, found, had, data)
	}
	if !reflect.DeepEqual(is, was) {
		t.Fatalf("%s: objects %+v, not %+v, in\n%s", path, is.Objects, was.Objects, data)
	}
	c.checkHosts(t, is, data)
	c.objects += len(is.Objects)
	for _, f := range found {
		c.rules[f.Rule]++
	}
}

// checkHosts fails if a reader of hosts misses one of an object.
func (c *comparison) checkHosts(t *testing.T, set *Set, data []byte) {
	t.Helper()
	found, err := c.hosts.ReadHosts([]PathSource{{Data: data}})
	for _, o := range set.Objects {
		hosts := []string{o.Host}
		for _, l := range routing.ReadConfig(o.Tree()).Locations {
			hosts = append(hosts, l.Host)
		}
		for _, host := range hosts {
			if err != nil || host != "" && !found[kind.HostKey(host)] {
				t.Fatalf("%v: found no %q, only %v, in\n%s", err, host, found, data)
			}
		}
	}
}

// TestHostsAreReadInAnyForm: nothing of YAML or JSON hides a host, and a server's host is none.
func TestHostsAreReadInAnyForm(t *testing.T) {
	const begin = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: a}\nspec:\n"
	const end = "  upstreams: [{name: o, scheme: https, servers: [{host: o.example.net, port: \"443\"}]}]\n"
	texts := []string{
		begin + "  hostname: A.example.com.\n  locations: [{path: /*, host: b.example.com, action: proxy_http, upstream: o}]\n" + end,
		begin + "  \"host\\x6eame\": \"a\\u002eexample.com\"\n  locations:\n  - {path: /*, ? host\n    : 'b.example.com', action: proxy_http, upstream: o}\n" + end,
		begin + "  hostname:\n    a.example.com\n  locations: [{path: /*, host: &b b.example.com, action: proxy_http, upstream: o}, {path: /x, host: *b, action: proxy_http, upstream: o}]\n" + end,
		begin + "  hostname: a.example.com\n  upstreams: [{name: o, scheme: https, servers: [{host: &o b.example.com, port: \"443\"}]}]\n  locations: [{path: /*, host: *o, action: proxy_http, upstream: o}]\n",
		begin + "  hostname: a.example.com\n  locations: [&l {path: /*, host: b.example.com, action: proxy_http, upstream: o}, *l]\n" + end,
		begin + "  hostname: a.example.com\n  upstreams: [{name: o, scheme: https, servers: [&s {host: b.example.com}]}]\n  locations: [*s]\n",
		`{"apiVersion": "delivery/v2.1", "kind": "CDN", "metadata": {"name": "a"}, "spec": {"hostname": "a\u002eexample.com", "locations": [{"path": "/*", "h\u006fst": "b.example.com"}]}}`,
		"--- {}\n" + begin + "  hostname: [\n---\n" + begin + "  hostname: a.example.com\n  locations: [{path: /*, host: b.example.com}]\n",
	}
	for _, annotations := range []string{"{t: &x TEXT}", "{t: [&x TEXT]}", "{t: {u: &x TEXT}}", "{&x TEXT : t}", "[{t: [[&x TEXT]]}]"} {
		spec := "  hostname : a.example.com\n  locations: [{path: /*, host : b.example.com}]\n"
		for _, of := range []string{"hostname", "host", "a.example.com", "b.example.com"} {
			anchored := strings.Replace(begin, "{name: a}", "{name: a, annotations: "+strings.Replace(annotations, "TEXT", of, 1)+"}", 1)
			texts = append(texts, anchored+regexp.MustCompile(`\b`+of+`\b`).ReplaceAllString(spec, "*x"))
		}
	}
	for _, text := range texts {
		c := newComparison()
		set, _ := c.library.load("a.yaml", []byte(text))
		c.checkHosts(t, set, []byte(text))
		if found, _ := c.hosts.ReadHosts([]PathSource{{Data: []byte(text)}}); len(set.Objects) == 0 || !found["a.example.com"] || !found["b.example.com"] || found["o.example.net"] {
			t.Errorf("%d objects, %v in\n%s", len(set.Objects), found, text)
		}
	}
}

// TestFilesLoadAsBefore: all files of the examples and of the corpus load as by package yaml alone.
func TestFilesLoadAsBefore(t *testing.T) {
	for _, name := range []string{"examples", "corpus"} {
		t.Run(name, func(t *testing.T) {
			dir := "../../examples/manifests"
			if name == "corpus" {
				dir = inputs.Corpus(t, ".")
			}
			c := newComparison()
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				c.compare(t, path, data)
				return nil
			})
			if err != nil || c.objects == 0 {
				t.Fatal(c.objects, err)
			}
			t.Logf("%d objects, findings of %d rules", c.objects, len(c.rules))
		})
	}
}

// TestGeneratedLoadAsBefore: made-up manifests load as by package yaml alone.
func TestGeneratedLoadAsBefore(t *testing.T) {
	t.Parallel()
	n, seed := long.Times(300), rand.Uint64()
	c, g := newComparison(), newGenerator(seed)
	for i := range n {
		c.compare(t, fmt.Sprintf("%d-of-seed-%d.yaml", i, seed), []byte(g.file()))
	}
	t.Logf("seed %d: %d objects, findings %v", seed, c.objects, c.rules)
	if n >= 1000 && (c.objects < n/4 || len(c.rules) < 40) {
		t.Errorf("only %d objects, and findings of %d rules", c.objects, len(c.rules))
	}
}

// generator makes manifests, some with mistakes, of those of the rules' pages.
type generator struct {
	*rand.Rand
	manifests []string
}

func newGenerator(seed uint64) generator {
	g := generator{rand.New(rand.NewPCG(seed, 0)), []string{inputs.Shop, string(benchmarkManifest())}}
	for _, rule := range rules.All() {
		for _, text := range []string{rule.Bad, rule.Good} {
			if text = written(text); text != "" && len(text) < 4000 {
				g.manifests = append(g.manifests, text)
			}
		}
	}
	return g
}

// file is one or two manifests, changed in up to four lines.
func (g generator) file() string {
	text := g.one(g.manifests...)
	if g.IntN(4) == 0 {
		text += g.one("---\n", "--- # next\n", "\n---\n# c\n\n", "...\n", "--- {}\n---\n", "") + g.one(g.manifests...)
	}
	lines := strings.SplitAfter(text, "\n")
	for range g.IntN(5) {
		at := g.IntN(len(lines))
		lines[at] = g.changed(lines[at])
	}
	text = strings.Join(lines, "")
	switch g.IntN(20) {
	case 0:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		text = strings.TrimRight(text, "\n")
	case 2:
		text = "\uFEFF" + text
	}
	return text
}

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

// manifestLine matches the indentation, hyphens, the key with its colon, the value and the comment.
var manifestLine = regexp.MustCompile(`^( *)((?:- )*)([^:"'#]*:)?( *)(.*?)( *#.*)?(\n?)$`)

// changed returns a line with a comment, in another form, or with a mistake.
func (g generator) changed(line string) string {
	m := manifestLine.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	indent, dash, key, value, end := m[1], m[2], m[3], m[5], m[6]+m[7]
	with := func(value string) string { return indent + dash + key + m[4] + value + end }
	switch g.IntN(14) {
	case 0: // a comment or an empty line above
		return g.one(indent, "", "    ") + g.one("# why", "#", "# trueup:ignore location-unreachable why", "#\t\"é", "") + "\n" + line
	case 1: // a comment behind
		return strings.TrimSuffix(line, "\n") + g.one(" # why", "  #", " ", "   ", "\t", "\t# a tab", "#none", " # é: [") + "\n"
	case 2: // another value
		return with(g.one("true", "no", "null", "~", "", "1", "-1", "007", "1e3", "0x1F", "1_000", ".5", ".nan", "2024-01-01", "12:30:45", "[]", "{}", "''", "\"\"", "é ü", "👍",
			"/a b/*", "a: b", "a:b", "- x", "-", "?", "|", ">-", "!!str 1", "!x", "@x", "%x", "`x`", "*.example.com", "*a", "&a x", "&x", "#x", "a #x", "x'y", "\"a\\", "\"\\q\"", "\"\\u00e9\\n\"", "{{ x }}"))
	case 3: // in quotes
		return with(g.one("'", "\"") + value + g.one("'", "\""))
	case 4: // in brackets
		return with(g.one("["+value+"]", "[ "+value+" , x]", "{a: "+value+"}", "{a: "+value, "["+value, "[[], {b: ["+value+"]}]", "{"+value+"}", "{a:"+value+"}", value+"]"))
	case 5: // an anchor, with an alias in the next line
		return with("&a "+value) + indent + g.one("other: *a\n", "<<: *a\n", "<<: {b: c}\n", "- *a\n")
	case 6: // twice
		return line + line
	case 7: // a field that is unknown
		return indent + g.one("filed: 1\n", "x:\n", "\"q\": {}\n", "? k\n", "1: 2\n", ": x\n", "a b\n", "spec: {}\n", "kind: CDN\n", "hostname: [a, b]\n") + line
	case 8: // a word that is misspelt
		return indent + dash + strings.Replace(key, g.one("e", "s", "t", "m"), g.one("", "x", "E", "é"), 1) + m[4] + value + end
	case 9: // another indentation
		return g.one(" ", "  ", "\t", "    ") + line
	case 10:
		return strings.TrimPrefix(line, g.one(" ", "  ", "    ", "- "))
	case 11: // a line that is missing
		return ""
	case 12: // a value below its key
		return indent + dash + key + "\n" + indent + g.one("", " ", "  ", "- ", "  - ", "      ") + value + end
	default: // some character
		at := g.IntN(len(line) + 1)
		return line[:at] + g.one("'", "\"", "[", "}", ",", ": ", " #", "-", "\t", "\r", "é", "\u0085", "\u2028", "\x00", "\xff", "\n", "\n---\n", "&", "*", "|", "%", "\\", "<<<<<<< HEAD\n") + line[at:]
	}
}
