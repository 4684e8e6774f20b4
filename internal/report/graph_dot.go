package report

import "strings"

// dot writes a sketch in the language of Graphviz.
func dot(s sketch, direction string) []safe {
	out := []safe{
		"digraph trueup {", "  rankdir=" + clean(direction),
		`  graph [fontname="sans-serif"]`, `  node [fontname="sans-serif", shape=box]`, `  edge [fontname="sans-serif"]`,
	}
	for _, n := range s.notes {
		out = append(out, "  // "+n.line("&#"))
	}
	for i, f := range s.frames {
		out = append(out, "  subgraph cluster_"+number(i+1)+" {", "    label="+dotQuoted([]safe{f.title}), "    style=rounded")
		for _, b := range f.boxes {
			out = append(out, "    "+dotBox(b))
		}
		out = append(out, "  }")
	}
	for _, b := range s.boxes {
		out = append(out, "  "+dotBox(b))
	}
	for _, a := range s.arrows {
		line := "  n" + number(a.from) + " -> n" + number(a.to) + " ["
		if a.label != "" {
			line += "label=" + dotQuoted([]safe{a.label}) + ", "
		}
		out = append(out, line+tableOfDotLooks[a.look]+"]")
	}
	return append(out, "}")
}

// tableOfDotShapes are the shapes of Graphviz.
var tableOfDotShapes = [...]safe{shapeHost: "oval", shapePath: "box", shapeUpstream: "hexagon", shapeServer: "cylinder", shapeNote: "note"}

// tableOfDotLooks are the lines of boxes and arrows.
var tableOfDotLooks = [...]safe{
	lookPlain:   `style=solid`,
	lookNew:     `style=bold, penwidth=4, color="#2da44e"`,
	lookChanged: `style=dashed, penwidth=3, color="#bf8700"`,
	lookDrifted: `style=dotted, penwidth=4, color="#a475f9"`,
	lookRemoved: `style=dotted, penwidth=2, color="#cf222e"`,
	lookOdd:     `style=dashed, penwidth=1, color="#d4722f"`,
}

func dotBox(b box) safe {
	return "n" + number(b.number) + " [label=" + dotQuoted(b.lines) + ", shape=" + tableOfDotShapes[b.shape] + ", " + tableOfDotLooks[b.look] + "]"
}

// dotQuoted is a label of lines that are not empty.
func dotQuoted(lines []safe) safe {
	var texts []safe
	for _, line := range lines {
		if line != "" {
			texts = append(texts, dotText(line))
		}
	}
	return `"` + join(texts, `\n`) + `"`
}

// dotText writes a backslash as Graphviz does: it obeys one that was an entity.
func dotText(s safe) safe {
	return safe(strings.ReplaceAll(string(entities(s, "&#")), "&#92;", `\\`))
}
