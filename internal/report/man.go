package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Page is a page of the manual. Its texts are plain: lines that follow each other
// are a paragraph, and indented ones stay as they are.
type Page struct {
	// Name is that of the page, such as trueup-plan; Short is one line.
	Name, Short string
	// Synopsis is one line that starts with the command.
	Synopsis string
	Parts    []PagePart
	// See are the names of other pages.
	See []string
}

// PagePart is a section of a page: text, and then terms.
type PagePart struct {
	Title, Text string
	Terms       []Term
}

// Term is a word and what it means.
type Term struct{ Word, Meaning string }

// Man writes the page for man(1), without a date: equal pages have equal bytes.
func Man(p Page) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" trueup \"trueup manual\"\n", roff(strings.ToUpper(p.Name)))
	// Neither hyphens nor spaces that no one wrote: what is here is typed.
	b.WriteString(".nh\n.ad l\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(p.Name), roff(p.Short))
	manPart(&b, PagePart{Title: "SYNOPSIS", Text: "  " + p.Synopsis})
	for _, part := range p.Parts {
		manPart(&b, part)
	}
	for i, other := range p.See {
		if i == 0 {
			b.WriteString(".SH SEE ALSO\n")
		}
		end := ","
		if i == len(p.See)-1 {
			end = ""
		}
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(other), end)
	}
	return []byte(b.String())
}

func manPart(b *strings.Builder, part PagePart) {
	if part.Text == "" && len(part.Terms) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", roff(part.Title))
	if part.Text != "" {
		manText(b, strings.TrimRight(part.Text, "\n"))
	}
	for _, term := range part.Terms {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(term.Word), roff(term.Meaning))
	}
}

func manText(b *strings.Builder, text string) {
	shown, between := false, ""
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			between = ".PP\n"
			continue
		}
		switch indented := strings.HasPrefix(line, " "); {
		case indented && !shown:
			between += ".nf\n"
		case !indented && shown:
			between = ".fi\n.PP\n"
		}
		shown = strings.HasPrefix(line, " ")
		b.WriteString(between + roff(line) + "\n")
		between = ""
	}
	if shown {
		b.WriteString(".fi\n")
	}
}

// roff escapes a line of text, so that each character is as it is typed.
func roff(line string) string {
	var b strings.Builder
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		b.WriteString(`\&`)
	}
	escapes := strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`, "\t", "    ")
	for _, r := range escapes.Replace(line) {
		if r >= utf8.RuneSelf {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
