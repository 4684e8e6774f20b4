package report

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// mermaid writes a sketch in the language of Mermaid. Text from outside stands
// in quotes, and what is not a letter or as harmless is an entity there, so that
// it can be neither a link, nor a directive, nor Markdown.
func mermaid(s sketch, direction string) []safe {
	out := []safe{"flowchart " + clean(direction)}
	for _, n := range s.notes {
		out = append(out, "%% "+n.line("#"))
	}
	out = append(out, mermaidLooks(s)...)
	for i, f := range s.frames {
		out = append(out, "subgraph s"+number(i+1)+mermaidQuoted("[", []safe{f.title}, "]"))
		for _, b := range f.boxes {
			out = append(out, "  "+mermaidBox(b))
		}
		out = append(out, "end")
	}
	for _, b := range s.boxes {
		out = append(out, mermaidBox(b))
	}
	for _, a := range s.arrows {
		line := "n" + number(a.from) + " " + tableOfArrows[a.look]
		if a.label != "" {
			line += mermaidQuoted("|", []safe{a.label}, "|")
		}
		out = append(out, line+" n"+number(a.to))
	}
	return out
}

// tableOfShapes are what a label stands between, by shape.
var tableOfShapes = [...][2]safe{
	shapeHost: {"([", "])"}, shapePath: {"[", "]"}, shapeUpstream: {"{{", "}}"}, shapeServer: {"[(", ")]"}, shapeNote: {"[[", "]]"},
}

// tableOfArrows are the arrows by look.
var tableOfArrows = [...]safe{
	lookPlain: "-->", lookNew: "==>", lookChanged: "-->", lookDrifted: "-->", lookRemoved: "-.->", lookOdd: "-.->",
}

// tableOfClasses are the looks of boxes. Only lines are set, so that the colours
// of the page's theme, light or dark, stay.
var tableOfClasses = [...]struct{ name, style safe }{
	lookPlain:   {},
	lookNew:     {"new", "stroke:#2da44e,stroke-width:4px"},
	lookChanged: {"changed", "stroke:#bf8700,stroke-width:4px,stroke-dasharray:12 4"},
	lookDrifted: {"drifted", "stroke:#a475f9,stroke-width:4px,stroke-dasharray:4 4"},
	lookRemoved: {"removed", "stroke:#cf222e,stroke-width:3px,stroke-dasharray:2 6"},
	lookOdd:     {"odd", "stroke:#d4722f,stroke-width:2px,stroke-dasharray:8 3 2 3"},
}

// mermaidLooks defines the classes that are used.
func mermaidLooks(s sketch) []safe {
	var used [len(tableOfClasses)]bool
	for _, f := range append(s.frames, frame{boxes: s.boxes}) {
		for _, b := range f.boxes {
			used[b.look] = b.look != lookPlain
		}
	}
	var out []safe
	for i, class := range tableOfClasses {
		if used[i] {
			out = append(out, "classDef "+class.name+" "+class.style)
		}
	}
	return out
}

func mermaidBox(b box) safe {
	between := tableOfShapes[b.shape]
	line := "n" + number(b.number) + mermaidQuoted(between[0], b.lines, between[1])
	if b.look != lookPlain {
		line += ":::" + tableOfClasses[b.look].name
	}
	return line
}

// mermaidQuoted is a label of lines that are not empty.
func mermaidQuoted(open safe, lines []safe, end safe) safe {
	var texts []safe
	for _, line := range lines {
		if line != "" {
			texts = append(texts, mermaidText(line))
		}
	}
	return open + `"` + join(texts, "<br/>") + `"` + end
}

// mermaidText keeps Mermaid from what it does once it has read entities: $$ begins
// a formula, \n a line, :fa- an icon, and two pairs of letters an entity again. A
// space without width stands in between.
func mermaidText(s safe) safe {
	const apart = "#8203;"
	text := strings.ReplaceAll(string(entities(s, "#")), "#58;f", "#58;"+apart+"f")
	for _, first := range []string{"#36;", "#92;", "#64258;", "#182;"} {
		text = strings.ReplaceAll(text, first, first+apart)
	}
	return safe(text)
}

// entities writes each character that a diagram's language could read as its
// number.
func entities(s safe, open string) safe {
	var b strings.Builder
	text := []rune(string(s))
	for i, r := range text {
		if harmless(text, i) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(open + strconv.Itoa(int(r)) + ";")
	}
	return safe(b.String())
}

// harmless reports whether the rune at i means itself in every language of
// diagrams. A point behind a number and a hyphen before a word make a list, and
// Mermaid uses some letters for entities of its own.
func harmless(text []rune, i int) bool {
	inside := i > 0 && i < len(text)-1
	switch r := text[i]; r {
	case '/', ',':
		return true
	case '.', '-':
		return inside && alphanumeric(text[i-1]) && alphanumeric(text[i+1])
	case ' ':
		return inside && text[i-1] != ' '
	case 'ﬂ', '°', '¶', 'ß':
		return false
	default:
		return r >= utf8.RuneSelf || alphanumeric(r)
	}
}

// alphanumeric reports whether a rune is a letter or a digit of ASCII.
func alphanumeric(r rune) bool {
	return strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
}
