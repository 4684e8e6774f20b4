package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"
)

// Page is a manual page. Its texts are plain: consecutive lines are a paragraph, and
// indented lines stay unchanged.
type Page struct {
	// Name is the name of the page, such as trueup-plan. Short is one line.
	Name, Short string
	// Synopsis is one line that starts with the command.
	Synopsis string
	Parts    []PagePart
	// See are the names of other pages.
	See []string
}

// PagePart is a section of a page: text, then terms.
type PagePart struct {
	Title, Text string
	Terms       []Term
}

// Term is a word and what it means.
type Term struct{ Word, Meaning string }

//go:embed man.tmpl
var manTemplate string

// Man returns the page for man(1), without a date, so that equal pages have equal bytes.
func Man(p Page) []byte {
	p.Parts = append([]PagePart{{Title: "SYNOPSIS", Text: "  " + p.Synopsis}}, p.Parts...)
	p.Parts = slices.DeleteFunc(p.Parts, func(part PagePart) bool { return part.Text == "" && len(part.Terms) == 0 })
	var b bytes.Buffer
	page := template.Must(template.New("").Funcs(template.FuncMap{"roff": roff, "text": manText, "upper": strings.ToUpper}).Parse(manTemplate))
	_ = page.Execute(&b, p) // a Buffer takes everything
	return b.Bytes()
}

func manText(text string) string {
	var b strings.Builder
	shown, between := false, ""
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
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
	return b.String()
}

// roff escapes a line of text.
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
