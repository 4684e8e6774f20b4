package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"trueup/internal/view"

	"golang.org/x/net/html"

	"trueup/internal/merge"
	"trueup/internal/plan"
)

// ownAttributes are the attributes that a page has, and nothing else.
var ownAttributes = strings.Fields("aria-describedby aria-hidden aria-keyshortcuts aria-label aria-labelledby aria-live autocomplete charset class " +
	"colspan content data-kind data-n data-op data-why for hidden href http-equiv id lang name open placeholder role scope spellcheck tabindex " +
	"title type value width")

// ownElements are its elements.
var ownElements = strings.Fields("a article b body button caption code dd details div dl dt fieldset footer form h1 h2 h3 head header html input " +
	"kbd label legend li main meta output p pre rect script section span style summary svg table tbody td th thead title tr ul wbr")

// voidElements have no end.
var voidElements = []string{"meta", "input", "wbr"}

// checkHTML holds what is true of every page: the elements and attributes are
// those of the template, each is closed, names are unique and lead somewhere,
// and nothing but the style and the script of this program is let in.
func checkHTML(t *testing.T, out []byte) {
	t.Helper()
	checkTags(t, out)
	page, err := html.Parse(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	ids, refs := map[string]int{}, map[string]string{}
	for n := range page.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("a comment %q", n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(ownElements, n.Data) {
			t.Errorf("an element %s", n.Data)
		}
		for _, a := range n.Attr {
			checkAttribute(t, n, a)
			switch a.Key {
			case "id":
				ids[a.Val]++
			case "aria-labelledby", "aria-describedby", "for":
				refs[a.Val] = a.Key
			case "href":
				refs[strings.TrimPrefix(a.Val, "#")] = a.Key
			}
		}
		if n.Data == "style" && onlyText(n) != htmlStyle || n.Data == "script" && onlyText(n) != htmlScript {
			t.Errorf("<%s> is not that of the program", n.Data)
		}
	}
	for id, n := range ids {
		if n > 1 || id == "" || strings.ContainsAny(id, " \n") {
			t.Errorf("%d elements with the id %q", n, id)
		}
	}
	for ref, from := range refs {
		if ids[ref] == 0 {
			t.Errorf("%s of %q leads nowhere", from, ref)
		}
	}
}

func checkAttribute(t *testing.T, n *html.Node, a html.Attribute) {
	t.Helper()
	switch {
	case !slices.Contains(ownAttributes, a.Key) || a.Namespace != "":
		t.Errorf("an attribute %s of %s", a.Key, n.Data)
	case a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
		t.Errorf("a link to %q", a.Val)
	case a.Key == "http-equiv" && a.Val != "Content-Security-Policy":
		t.Errorf("a meta of %q", a.Val)
	case a.Key == "content" && strings.HasPrefix(a.Val, "default-src"):
		want := fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
			cspHash(htmlStyle), cspHash(htmlScript))
		if a.Val != want {
			t.Errorf("the policy is %s", a.Val)
		}
	}
}

// onlyText is the text of an element that has nothing else.
func onlyText(n *html.Node) string {
	if n.FirstChild == nil || n.FirstChild.NextSibling != nil {
		return ""
	}
	return n.FirstChild.Data
}

// checkTags holds that each element is closed where it should be, which a
// parser would mend in silence.
func checkTags(t *testing.T, out []byte) {
	t.Helper()
	var open []string
	for z := html.NewTokenizer(bytes.NewReader(out)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Fatalf("%q are not closed", open)
			}
			return
		case html.StartTagToken:
			if name, _ := z.TagName(); !slices.Contains(voidElements, string(name)) {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> closes %q", name, open)
			}
			open = open[:len(open)-1]
		case html.CommentToken, html.SelfClosingTagToken:
			t.Fatalf("%s", z.Raw())
		case html.TextToken, html.DoctypeToken:
		}
	}
}

// skeleton is a page without its texts.
func skeleton(t *testing.T, out []byte) string {
	t.Helper()
	var b strings.Builder
	for z := html.NewTokenizer(bytes.NewReader(out)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken, html.EndTagToken:
			token := z.Token()
			b.WriteString(token.Type.String() + " " + token.Data)
			for _, a := range token.Attr {
				b.WriteString(" " + a.Key)
			}
			b.WriteByte('\n')
		case html.CommentToken, html.SelfClosingTagToken, html.TextToken, html.DoctypeToken:
		}
	}
}

// TestTextNeverChangesThePage: whatever a text is, a page has the elements and
// attributes that a harmless one gives it.
func TestTextNeverChangesThePage(t *testing.T) {
	for _, op := range ops {
		want := skeleton(t, render(t, "html", hostile("pl ain", "pl ain", op, merge.Conflict, 3), view.TextOptions{}))
		for _, s := range seeds {
			if len(s) < 4 || len(s) > 100 || strings.Contains(s, "\n") {
				continue // words that differ are marked, and lines that are said to be more
			}
			got := skeleton(t, render(t, "html", hostile(s, s, op, merge.Conflict, 3), view.TextOptions{}))
			if plainParts(got) != plainParts(want) {
				t.Errorf("%q, %s: the page is\n%s\nwant\n%s", s, op, got, want)
			}
		}
	}
}

// plainParts leaves out the marks of words, and where a line may break.
func plainParts(skeleton string) string {
	var b strings.Builder
	for line := range strings.Lines(skeleton) {
		if word := strings.Fields(line)[1]; word != "ins" && word != "del" && word != "wbr" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestPageHasItsPlaces: each object has an address, and findings, outcomes and
// advice lead to it.
func TestPageHasItsPlaces(t *testing.T) {
	doc := goldenCases()[0].doc
	doc.Plan.Advice = exampleFindings()[:1]
	doc.Plan.Advice[0].Line = 20
	doc.Apply = exampleResult()
	out := string(render(t, "html", doc, view.TextOptions{}))
	for _, want := range []string{
		`id="CDN/shop"`, `<a href="#CDN/shop">manifests/shop.yaml:20:16</a>`, `<a class="code" href="#CDN/shop">CDN/shop</a>`,
		`https://images.example.com`, `https://img.example.com`, `data-why="`, `whole list of 6`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	checkHTML(t, []byte(out))
}

// TestPageBounds: of long texts the ends are shown, and lists that differ have what differs.
func TestPageBounds(t *testing.T) {
	long := make([]any, 600)
	for i := range long {
		long[i] = fmt.Sprintf("element %d", i)
	}
	changed := slices.Clone(long)
	changed[300] = "another"
	text := strings.Repeat("word ", 8000)
	for name, c := range map[string]struct {
		live, desired any
		want          string
	}{
		"a long list":    {nil, long, "600 values:"},
		"two long lists": {long, changed, "element 299&#34;,&#34;another&#34;"},
		"a long text":    {nil, text, "(40002 bytes)"},
		"two long texts": {text, text + "more", "more"},
	} {
		item := plan.Item{Op: plan.Patch, Changes: changes([]merge.Difference{{Path: "a", Class: merge.Changed, Live: c.live, Desired: c.desired}})}
		out := render(t, "html", Document{Command: "plan", Plan: weighed(&plan.Plan{Items: []plan.Item{item}})}, view.TextOptions{})
		if !bytes.Contains(out, []byte(c.want)) {
			t.Errorf("%s: no %q in the page", name, c.want)
		}
		checkHTML(t, out)
	}
}
