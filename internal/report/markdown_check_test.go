package report

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
)

// check is a test, or a try of a property.
type check interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ownTags are the tags and attributes that a report may become on a code host.
var ownTags = map[string][]string{
	"h2": {"id"}, "p": nil, "strong": nil, "blockquote": nil, "ul": nil, "li": nil, "a": {"href"}, "code": {"class"}, "pre": nil,
	"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": {"style", "align"}, "td": {"style", "align"},
	"details": {"open"}, "summary": nil,
}

// checkMarkdown holds what is true of every report, whatever is in it: it fits,
// and what a code host makes of it has the tags of this package and no others,
// each closed, with no link but one to the address, and no text from outside
// where it would be read as anything.
func checkMarkdown(t check, out []byte, budget int, address string) {
	t.Helper()
	if len(out) > budget {
		t.Fatalf("%d bytes, and there is room for %d", len(out), budget)
	}
	var page bytes.Buffer
	if err := hostMarkdown().Convert(out, &page); err != nil {
		t.Fatalf("%v", err)
	}
	var open []string
	tokens := html.NewTokenizer(&page)
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if !errors.Is(tokens.Err(), io.EOF) || len(open) > 0 {
				t.Errorf("%v with %v open in %q", tokens.Err(), open, out)
			}
			return
		case html.StartTagToken:
			tag := tokens.Token()
			checkTag(t, tag, address, out)
			open = append(open, tag.Data)
		case html.EndTagToken:
			name := tokens.Token().Data
			if len(open) == 0 || open[len(open)-1] != name {
				t.Fatalf("</%s> closes %v in %q", name, open, out)
			}
			open = open[:len(open)-1]
		case html.TextToken:
			checkText(t, tokens.Token().Data, open, out)
		case html.SelfClosingTagToken, html.CommentToken, html.DoctypeToken:
			t.Errorf("%q in %q", tokens.Token(), out)
		}
	}
}

func checkTag(t check, tag html.Token, address string, out []byte) {
	t.Helper()
	allowed, ok := ownTags[tag.Data]
	if !ok {
		t.Errorf("<%s> in %q", tag.Data, out)
	}
	for _, a := range tag.Attr {
		if !slices.Contains(allowed, a.Key) || a.Key == "href" && a.Val != address {
			t.Errorf("<%s %s=%q> in %q", tag.Data, a.Key, a.Val, out)
		}
	}
}

// linked finds what code hosts link in text: names, numbers, addresses, commits.
var linked = regexp.MustCompile(`(?i)@|://|www\.|#\d|GH-\d|\b[0-9a-f]{7,}\b`)

// checkText holds that text from outside stands in code, where a code host looks
// for no names, numbers of issues and addresses.
func checkText(t check, text string, open []string, out []byte) {
	t.Helper()
	if !slices.Contains(open, "code") && !slices.Contains(open, "a") && linked.MatchString(text) {
		t.Errorf("%q would be linked, in %q", text, out)
	}
	if slices.Contains(open, "pre") && !slices.Contains(open, "code") {
		t.Errorf("%q stands in no code, in %q", text, out)
	}
	if strings.Contains(text, "```") && !slices.Contains(open, "code") {
		t.Errorf("a fence in %q, in %q", text, out)
	}
}

// hostMarkdown reads Markdown as code hosts do.
func hostMarkdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList), goldmark.WithRendererOptions(gmhtml.WithUnsafe()))
}

func parsed(out []byte) ast.Node { return hostMarkdown().Parser().Parse(text.NewReader(out)) }
