package graph

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"trueup/internal/safetext"
)

// mermaid writes a sketch for Mermaid. It quotes text from outside and turns most punctuation
// into entities, so that it can't be a link, a directive or Markdown.
func mermaid(s sketch, direction string) []text {
	out := []text{safetext.F("flowchart %s", direction)}
	for _, n := range s.notes {
		out = append(out, safetext.F("%%%% %s", n.line("#")))
	}
	var used [len(tableOfLooks)]bool
	for _, f := range append(s.frames, frame{boxes: s.boxes}) {
		for _, b := range f.boxes {
			used[b.look] = b.look != lookPlain
		}
	}
	for i, look := range tableOfLooks {
		if used[i] {
			out = append(out, safetext.F("classDef %s %s", look.class, look.mermaid))
		}
	}
	for i, f := range s.frames {
		out = append(out, safetext.F(`subgraph s%d["%s"]`, i+1, mermaidText(f.title)))
		for _, b := range f.boxes {
			out = append(out, safetext.F("  %s", mermaidBox(b)))
		}
		out = append(out, clean("end"))
	}
	for _, b := range s.boxes {
		out = append(out, mermaidBox(b))
	}
	for _, a := range s.arrows {
		var label text
		if !a.label.Empty() {
			label = safetext.F(`|"%s"|`, mermaidText(a.label))
		}
		out = append(out, safetext.F("n%d %s%s n%d", a.from, tableOfLooks[a.look].arrow, label, a.to))
	}
	return out
}

func mermaidBox(b box) text {
	shape, look := tableOfShapes[b.shape], tableOfLooks[b.look]
	line := safetext.F(`n%d%s"%s"%s`, b.number, shape.open, labelOf(b, "<br/>", mermaidText), shape.end)
	if look.class == "" {
		return line
	}
	return safetext.F("%s:::%s", line, look.class)
}

// labelOf joins the lines of a box that are not empty.
func labelOf(b box, lineBreak string, escape func(text) text) text {
	lines := safetext.Filled(append([]text(nil), b.lines...)...)
	for i := range lines {
		lines[i] = escape(lines[i])
	}
	return safetext.Join(lines, lineBreak)
}

// mermaidText escapes a text. After decoding entities, Mermaid still takes $$ for a formula,
// \n for a line break, :fa- for an icon, and two letter pairs for entities. A zero-width
// space separates them.
func mermaidText(t text) text {
	const apart = "#8203;"
	t = entities(t, "#").Replace("#58;f", "#58;"+apart+"f")
	for _, first := range []string{"#36;", "#92;", "#64258;", "#182;"} {
		t = t.Replace(first, first+apart)
	}
	return t
}

// dot writes a sketch for Graphviz.
func dot(s sketch, direction string) []text {
	out := []text{
		clean("digraph trueup {"), safetext.F("  rankdir=%s", direction),
		clean(`  graph [fontname="sans-serif"]`), clean(`  node [fontname="sans-serif", shape=box]`), clean(`  edge [fontname="sans-serif"]`),
	}
	for _, n := range s.notes {
		out = append(out, safetext.F("  // %s", n.line("&#")))
	}
	for i, f := range s.frames {
		out = append(out, safetext.F("  subgraph cluster_%d {", i+1), safetext.F(`    label="%s"`, dotText(f.title)), clean("    style=rounded"))
		for _, b := range f.boxes {
			out = append(out, safetext.F("    %s", dotBox(b)))
		}
		out = append(out, clean("  }"))
	}
	for _, b := range s.boxes {
		out = append(out, safetext.F("  %s", dotBox(b)))
	}
	for _, a := range s.arrows {
		var label text
		if !a.label.Empty() {
			label = safetext.F(`label="%s", `, dotText(a.label))
		}
		out = append(out, safetext.F("  n%d -> n%d [%s%s]", a.from, a.to, label, tableOfLooks[a.look].dot))
	}
	return append(out, clean("}"))
}

func dotBox(b box) text {
	label := labelOf(b, `\n`, dotText)
	return safetext.F(`n%d [label="%s", shape=%s, %s]`, b.number, label, tableOfShapes[b.shape].dot, tableOfLooks[b.look].dot)
}

// dotText doubles backslashes: Graphviz reads one as an escape even if it was an entity.
func dotText(t text) text { return entities(t, "&#").Replace("&#92;", `\\`) }

// entities escapes each character that could be syntax.
func entities(t text, open string) text {
	runes := []rune(t.String())
	return t.Map(func(i int, r rune) string {
		if harmless(runes, i) {
			return string(r)
		}
		return open + strconv.Itoa(int(r)) + ";"
	})
}

// harmless reports whether the rune at i needs no escape. A dot after a number and a hyphen
// before a word make a list, and Mermaid uses some letters for its own entities.
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

func alphanumeric(r rune) bool {
	return strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
}
