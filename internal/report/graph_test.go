package report

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/graph"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// What GitHub draws of one diagram, and the columns of a label.
const (
	maxDiagram = 50_000
	maxEdges   = 500
	maxLabel   = 60
)

// labelForm is text of a label in which nothing is obeyed. Mermaid takes none that
// is empty.
const labelForm = `"(?:[A-Za-z0-9 /,.-]|[^\x00-\x7f]|#[0-9]+;|<br/>)+"`

// mermaidForm are the only lines that a diagram in Mermaid has: no click, no
// link, no directive, no style of a text's own.
var mermaidForm = regexp.MustCompile(`^(flowchart (LR|TB)|%% (?:[A-Za-z0-9 :,()/.#;-]|[^\x00-\x7f])+|classDef [a-z]+ stroke:#[0-9a-f]{6},[a-z0-9:, -]+|subgraph s\d+\[` + labelForm + `\]|end|` +
	` {0,2}n\d+(\(\[` + labelForm + `\]\)|\[` + labelForm + `\]|\{\{` + labelForm + `\}\}|\[\(` + labelForm + `\)\]|\[\[` + labelForm + `\]\])(:::[a-z]+)?|n\d+ (-->|==>|-\.->)(\|` + labelForm + `\|)? n\d+)$`)

// dotForm are those of a diagram for Graphviz.
var dotForm = regexp.MustCompile(`^( {0,4})(digraph trueup \{|rankdir=(LR|TB)|(graph|node|edge) \[[a-z]+="sans-serif"(, shape=box)?\]|// (?:[A-Za-z0-9 :,()/.#;&-]|[^\x00-\x7f])+|subgraph cluster_\d+ \{|` +
	`label=` + dotLabel + `|style=rounded|\}|n\d+ \[label=` + dotLabel + `, shape=[a-z]+, style=` + dotStyle + `\]|n\d+ -> n\d+ \[(label=` + dotLabel + `, )?style=` + dotStyle + `\])$`)

const (
	dotLabel = `"(?:[A-Za-z0-9 /,.-]|[^\x00-\x7f]|&#[0-9]+;|\\n|\\\\)+"`
	dotStyle = `[a-z]+(, penwidth=\d, color="#[0-9a-f]{6}")?`
)

// hostileGraph has a text wherever one can be.
func hostileGraph(s string, n int) graph.Graph {
	mark := func(i int) graph.Mark { return graph.Mark((n + i) % 7) } //nolint:gosec // below 7
	key := kind.Key{Kind: s, Name: s}
	g := graph.Graph{Sandbox: n%7 == 0, Offline: n%2 == 0, Partial: n%3 == 0, Undrawn: map[string]int{kind.All()[n%3].Name: n}, Unmanaged: []kind.Key{key, key}}
	for i := range 1 + n%3 {
		h := graph.Host{Key: key, Hostname: s, Mark: mark(i), Blocked: n%5 == i}
		for j := range n % 4 {
			h.Paths = append(h.Paths, graph.Path{Host: s, Path: s, Action: s, EdgeTTL: s, TTLUnit: s, Upstream: j - 1, Mark: mark(j)})
			h.Upstreams = append(h.Upstreams, graph.Upstream{
				Name: s, Scheme: s, State: graph.State((n + j) % 4), Mark: mark(i + j), //nolint:gosec // below 4
				Servers: []graph.Server{{Address: s, Mark: mark(i + 2*j)}, {Address: s + strconv.Itoa(j)}},
			})
		}
		g.Hosts = append(g.Hosts, h)
	}
	return g
}

func drawnAs(t testing.TB, g graph.Graph, opts graph.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := NewLines(&out).Graph(g, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// FuzzGraph: a text from outside is a part of a label in every language, as it is
// read there, and never anything else.
func FuzzGraph(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, uint8(i))
	}
	for i, s := range []string{
		`"]; click n1 href "javascript:alert(1)"`, `%%{init: {"securityLevel":"loose"}}%%`, "fa:fa-car", "$$x^2$$", "ﬂ°°60¶ßb", "#35;", `a\nb\"`, "&#92;", "1. a", "- a", "@{ shape: x }", ":::new", "",
	} {
		f.Add(s, uint8(i*11))
	}
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		g := hostileGraph(s, int(n))
		for _, direction := range graph.Directions() {
			diagram := drawnAs(t, g, graph.Options{Direction: direction})
			checkPlain(t, "mermaid", []byte(diagram))
			checkForm(t, mermaidForm, diagram)
			if got, want := unentity(firstTitle(diagram)), titled(g.Hosts[0].Key).Cut(maxLabel).String(); got != want {
				t.Errorf("%q is shown as %q", want, got)
			}
			page := drawnAs(t, g, graph.Options{Format: "markdown", Direction: direction})
			checkPlain(t, "markdown", []byte(page))
			if body, _, _ := strings.Cut(strings.TrimPrefix(page, "```mermaid\n"), "```\n"); body != drawnAs(t, g, graph.Options{Direction: direction}) {
				t.Errorf("the fence does not hold the diagram: %q", page)
			}
			checkMarkdown(t, []byte(page), len(page), "")
			forGraphviz := drawnAs(t, g, graph.Options{Format: "dot", Direction: direction})
			checkPlain(t, "dot", []byte(forGraphviz))
			checkForm(t, dotForm, forGraphviz)
		}
	})
}

func checkForm(t *testing.T, form *regexp.Regexp, diagram string) {
	t.Helper()
	for line := range strings.Lines(diagram) {
		if !form.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("%q is no line of a diagram", line)
		}
	}
}

func firstTitle(diagram string) string {
	_, rest, _ := strings.Cut(diagram, `subgraph s1["`)
	title, _, _ := strings.Cut(rest, `"]`)
	return title
}

// unentity reads a label as Mermaid and then a browser do.
func unentity(label string) string {
	text := regexp.MustCompile(`#(\d+);`).ReplaceAllString(label, "&#$1;")
	return strings.ReplaceAll(html.UnescapeString(text), "\u200b", "")
}

// manyHosts is a graph of so many hosts, with 10 paths, 3 upstreams and 6 servers each;
// the plan has something to say of every hundredth.
func manyHosts(n int) graph.Graph {
	g := graph.Graph{}
	for i := range n {
		h := graph.Host{Key: kind.Key{Kind: "CDN", Name: fmt.Sprintf("web-%d", i)}, Hostname: fmt.Sprintf("%04d.example.com", i)}
		for j := range 10 {
			h.Paths = append(h.Paths, graph.Path{Path: fmt.Sprintf("/%d/*", j), EdgeTTL: "60", Upstream: j % 3})
		}
		for j := range 3 {
			h.Upstreams = append(h.Upstreams, graph.Upstream{Name: fmt.Sprintf("u%d", j), Scheme: "https", Servers: []graph.Server{
				{Address: fmt.Sprintf("%d-%d.a.example.com:443", i, j)}, {Address: fmt.Sprintf("%d-%d.b.example.com:443", i, j)},
			}})
		}
		if i%100 == 0 {
			h.Paths[0].Mark = graph.Changed
		}
		g.Hosts = append(g.Hosts, h)
	}
	return g
}

// TestGraphFits: a diagram is one that GitHub draws, whatever is to be drawn; what
// is left out is said, and what the plan changes goes last.
func TestGraphFits(t *testing.T) {
	for n, left := range map[int]string{
		1: "", 19: "", 20: "the servers of 19 hostnames", 40: "the servers of 39 hostnames, the paths of 39 hostnames", 200: "everything except the name of 198 hostnames",
		1000: "all of ",
	} {
		g := manyHosts(n)
		diagram := drawnAs(t, g, graph.Options{Direction: "LR"})
		if edges := strings.Count(diagram, "-->") + strings.Count(diagram, "==>"); len(diagram) > maxDiagram || edges > maxEdges {
			t.Errorf("%d hosts: %d bytes, %d edges", n, len(diagram), edges)
		}
		first, _, _ := strings.Cut(diagram, "classDef")
		if left == "" != !strings.Contains(first, "Left out") || !strings.Contains(first, left) || strings.Contains(first, "Left out") != strings.Contains(diagram, "[[") {
			t.Errorf("%d hosts: what is left out: %s", n, first)
		}
		if marked := strings.Count(diagram, "#126; changed"); marked != (n+99)/100 {
			t.Errorf("%d hosts: %d are shown as changed", n, marked)
		}
		if again := drawnAs(t, g, graph.Options{Direction: "LR"}); n < 100 && again != diagram {
			t.Errorf("%d hosts: drawn twice, it differs", n)
		}
		if n == 200 && strings.Count(drawnAs(t, g, graph.Options{Format: "dot", Direction: "TB"}), " -> ") != n*26 {
			t.Error("DOT lacks something")
		}
	}
}

// TestGraphOfTheSandbox: a graph says it in its picture and beside it, also where
// something is left out.
func TestGraphOfTheSandbox(t *testing.T) {
	for _, n := range []int{1, 40} {
		g := manyHosts(n)
		g.Sandbox = true
		for _, format := range graph.Formats() {
			got := drawnAs(t, g, graph.Options{Format: format, Direction: "LR"})
			if strings.Count(got, "SANDBOX") != 2+strings.Count(format, "markdown") || n == 40 && format != "dot" && strings.Count(got, "Left out") < 2 {
				t.Errorf("%d hosts, %s: %.600s", n, format, got)
			}
		}
	}
}

// TestGraphWithoutAHostname: only what the plan says has left git is said to have.
func TestGraphWithoutAHostname(t *testing.T) {
	for want, h := range map[string]graph.Host{
		"without a hostname":                                       {},
		"without a hostname<br/>x blocked":                         {Blocked: true},
		"not in git now<br/>#45; removed":                          {Mark: graph.Removed},
		"not in git now<br/>stays live":                            {Mark: graph.Removed, Blocked: true},
		"not in git now<br/>removed by this change<br/>stays live": {Mark: graph.Removed, Blocked: true, By: plan.ByThisChange},
		"not in git now<br/>removed in 3f2c1ab<br/>#45; removed":   {Mark: graph.Removed, Commit: &plan.Commit{ID: "3f2c1abdef"}},
		"web.example.com<br/>#126; drifted":                        {Hostname: "web.example.com", Mark: graph.Drifted},
	} {
		if got := drawnAs(t, graph.Graph{Hosts: []graph.Host{h}}, graph.Options{Direction: "LR"}); !strings.Contains(got, `(["`+want+`"])`) {
			t.Errorf("want %q, got %s", want, got)
		}
	}
}
