package yamledit

import (
	"slices"
	"strings"

	"trueup/internal/kind"
)

// sortableMapping is a mapping that may be sorted.
type sortableMapping struct {
	entries []fieldLines
	// column is the new column of the keys; root reports whether it is the top-level mapping.
	column int
	root   bool
	field  *kind.Field
}

// fieldLines is a field: the line and name of its key, and its lines from head, with the comments above it, to
// end (exclusive).
type fieldLines struct {
	line      int
	name      string
	head, end int
}

// sortFields sorts the fields of each paragraph of a mapping by the schema, if each comment clearly belongs to
// one field.
func (l *textLayout) sortFields(m sortableMapping) {
	if m.field == nil || len(m.field.Names) == 0 {
		return
	}
	l.extend(m)
	from := 0
	for i, e := range m.entries {
		if i+1 < len(m.entries) && e.end == m.entries[i+1].head {
			continue
		}
		if !l.isComment(e.end) || l.lines[e.end].level != m.column { // it may belong to no field
			l.sortParagraph(m, from, i+1)
		}
		from = i + 1
	}
}

func (l *textLayout) extend(m sortableMapping) {
	for i := range m.entries {
		e := &m.entries[i]
		e.head = e.line
		if i == 0 && m.root || l.isInline(e.line, m.column) {
			continue // the comments above it are the document's, or the element's
		}
		for e.head > 0 && l.isComment(e.head-1) && l.lines[e.head-1].level == m.column {
			e.head--
		}
	}
	limit := len(l.lines)
	for i := range slices.Backward(m.entries) {
		l.closeField(&m.entries[i], m.column, limit)
		limit = m.entries[i].head
	}
}

// closeField finds where a field ends, before the limit.
func (l *textLayout) closeField(e *fieldLines, column, limit int) {
	e.end = e.line + 1
	for at := e.end; at < limit; at++ {
		line := l.lines[at]
		if line.kind == markerLine || line.kind == tokenLine && line.tokens[0].to <= column {
			break
		}
		if line.kind == tokenLine || line.kind == innerLine {
			e.end = at + 1
		}
	}
	for e.end < limit && l.isComment(e.end) && l.lines[e.end].level > column {
		e.end++
	}
}

func (l *textLayout) isComment(at int) bool {
	return at < len(l.lines) && l.lines[at].kind == commentLine
}

// isInline reports whether a key is on the line of its hyphen.
func (l *textLayout) isInline(at, column int) bool { return l.lines[at].tokens[0].to != column }

// sortParagraph sorts fields that follow each other without a gap.
func (l *textLayout) sortParagraph(m sortableMapping, from, to int) {
	was := m.entries[from:to]
	sorted := slices.Clone(was)
	slices.SortStableFunc(sorted, func(a, b fieldLines) int { return schemaPosition(m.field, a.name) - schemaPosition(m.field, b.name) })
	if sorted[0].line != was[0].line && from == 0 && !l.mayComeFirst(m, was[0], sorted[0]) {
		return
	}
	start := was[0].head
	moved := make([]int, 0, was[len(was)-1].end-start)
	for _, e := range sorted {
		moved = append(moved, l.order[e.head:e.end]...)
	}
	if first, now := was[0].line, sorted[0].line; first != now && l.isInline(first, m.column) {
		hyphens := l.lines[first].out[:m.column]
		l.lines[first].out = strings.Repeat(" ", m.column) + l.lines[first].out[m.column:]
		l.lines[now].out = hyphens + l.lines[now].out[m.column:]
	}
	copy(l.order[start:], moved)
}

// mayComeFirst reports whether another field may become the first of a mapping. A comment there may be about
// the whole mapping.
func (l *textLayout) mayComeFirst(m sortableMapping, first, now fieldLines) bool {
	if first.head < first.line || now.head < now.line {
		return false
	}
	return !l.isInline(first.line, m.column) || !strings.Contains(l.lines[first.line].in+l.lines[now.line].in, "#")
}
