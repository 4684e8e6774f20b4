package reader

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"
	page "golang.org/x/net/html"
)

// edge is the column behind which a reader does not look.
const edge = 120

// section is a part of a report about one or more objects: its lines.
type section []string

// formats parse what is printed: a reader of each sees sections.
var formats = map[string]func(testing.TB, []byte) []section{
	"text": readText, "markdown": readMarkdown, "html": readHTML, "github": readAnnotations, "sarif": readSARIF, "junit": readJUnit,
}

// readText splits at empty lines.
func readText(_ testing.TB, out []byte) (all []section) {
	for part := range strings.SplitSeq(string(out), "\n\n") {
		all = append(all, strings.Split(part, "\n"))
	}
	return all
}

var tag = regexp.MustCompile(`<[^>]*>`)

// readMarkdown has the lines of a fence as they are, and others without markup.
func readMarkdown(_ testing.TB, out []byte) (all []section) {
	all, fence := []section{nil}, ""
	for line := range strings.SplitSeq(string(out), "\n") {
		last := &all[len(all)-1]
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "" && strings.HasPrefix(line, fence):
			fence = ""
		case fence != "":
			*last = append(*last, line)
		case len(ticks) > 2:
			fence = ticks
		default:
			if strings.HasPrefix(line, "<details") {
				all = append(all, nil)
				last = &all[len(all)-1]
			}
			*last = append(*last, html.UnescapeString(tag.ReplaceAllString(line, "")))
		}
	}
	return all
}

// readHTML has a section for each object, and one for the rest. A browser breaks lines of any length.
func readHTML(t testing.TB, out []byte) (all []section) {
	root, err := page.Parse(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	all = []section{nil}
	var walk func(n *page.Node, at int)
	walk = func(n *page.Node, at int) {
		class := ""
		for _, a := range n.Attr {
			if a.Key == "class" {
				class = a.Val
			}
		}
		switch {
		case n.Type == page.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style":
			text := []rune(n.Data)
			for chunk := range slices.Chunk(text, edge/2) {
				all[at] = append(all[at], string(chunk))
			}
		case slices.Contains(strings.Fields(class), "object"):
			all = append(all, nil)
			at = len(all) - 1
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, at)
		}
	}
	walk(root, 0)
	return all
}

// readAnnotations has a section for each command.
func readAnnotations(t testing.TB, out []byte) (all []section) {
	for line := range strings.Lines(string(out)) {
		_, data, ok := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "::"), "::")
		if !ok {
			t.Fatalf("not a command: %q", line)
		}
		all = append(all, strings.Split(strings.ReplaceAll(strings.ReplaceAll(data, "%0A", "\n"), "%25", "%"), "\n"))
	}
	return all
}

// readSARIF has a section for each result, and for each notification.
func readSARIF(t testing.TB, out []byte) (all []section) {
	type result struct {
		Message struct{ Text string }
	}
	var log struct {
		Runs []struct {
			Results     []result
			Invocations []struct{ ToolExecutionNotifications []result }
		}
	}
	if err := json.Unmarshal(out, &log); err != nil {
		t.Fatal(err)
	}
	for _, run := range log.Runs {
		found := run.Results
		for _, i := range run.Invocations {
			found = append(found, i.ToolExecutionNotifications...)
		}
		for _, r := range found {
			text := strings.NewReplacer("{{", "{", "}}", "}", "] (", "](").Replace(r.Message.Text)
			all = append(all, strings.Split(text, "\n"))
		}
	}
	return all
}

// readJUnit has a section for each test case.
func readJUnit(t testing.TB, out []byte) (all []section) {
	for d := xml.NewDecoder(bytes.NewReader(out)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "testcase" {
				all = append(all, nil)
			}
			for _, a := range token.Attr {
				if len(all) > 0 {
					all[len(all)-1] = append(all[len(all)-1], a.Value)
				}
			}
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1] = append(all[len(all)-1], strings.Split(string(token), "\n")...)
			}
		}
	}
}

// untilEdge returns the part of a line that a reader sees.
func untilEdge(line string) string {
	columns := 0
	for i, r := range line {
		if columns += runewidth.RuneWidth(r); columns > edge {
			return line[:i]
		}
	}
	return line
}

// bare is a text without what printers add to it: space where lines are broken, the signs of a diff before them, quotes, and
// backslashes of escapes.
func bare(s string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, `#\x23[`, "##[") {
		switch {
		case unicode.IsSpace(r) && r != '\n' && r != '\t' || r == '\\' || r == '"':
		case r == '\n':
			b.WriteByte('n')
		case r == '\t':
			b.WriteByte('t')
		case !unicode.IsPrint(r) || r == '\u200d':
			fmt.Fprintf(&b, "u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// seen returns what a reader sees of a section. Names that are broken over lines are whole again.
func (s section) seen() string {
	var b strings.Builder
	for _, line := range s {
		line = untilEdge(line)
		if sign := strings.TrimLeft(line, "+-!~>="); len(line)-len(sign) == 1 && strings.HasPrefix(sign, "   ") {
			line = sign // of a diff, where a line goes on
		}
		b.WriteString(strings.TrimSpace(line))
	}
	return bare(b.String())
}
