package yamledit

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/manifest"
)

// layOutLeaf lays out a scalar, an alias, or a collection in brackets.
func (l *textLayout) layOutLeaf(v *yaml.Node, at int, owner token) error {
	if isBlockScalar(v) {
		return l.layOutBlock(v, owner)
	}
	start, by := v.Line-1, owner.to-owner.from
	last, err := l.lastLine(v)
	if err != nil {
		return err
	}
	if start > at {
		by = owner.to + levelIndent - (v.Column - 1)
	}
	plain := v.Kind == yaml.ScalarNode && manifest.IsPlain(v)
	for i := start; i <= last; i++ {
		l.lines[i].open = i < last && !plain
		if i == start {
			continue
		}
		l.lines[i].kind, l.lines[i].shift = innerLine, by
		text := strings.TrimLeft(l.lines[i].in, " \t")
		switch column := len(l.lines[i].in) - len(text); {
		case text == "":
			l.lines[i].shift = 0
		case v.Kind == yaml.ScalarNode || column > owner.from: // it goes on below its owner
			l.lines[i].shift = max(by, owner.to+1-column)
		}
	}
	return nil
}

// lastLine returns the last line of a scalar, an alias, or a collection in brackets.
func (l *textLayout) lastLine(v *yaml.Node) (int, error) {
	if isBlockScalar(v) {
		b, err := l.findBlock(v, noToken().from)
		return b.last, err
	}
	end, ok := l.text.NodeEnd(v)
	if !ok {
		return 0, leftError(v.Line, "trueup can't tell where the value ends")
	}
	return v.Line - 1 + bytes.Count(l.text.Data[l.text.NodeOffset(v):end], []byte("\n")), nil
}

func isBlockScalar(v *yaml.Node) bool {
	return v.Kind == yaml.ScalarNode && v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// block is a block scalar: its lines, its header (| or > with indicators), and the column of its text.
type block struct {
	header, last, column int
	sign                 string
}

func (l *textLayout) layOutBlock(v *yaml.Node, owner token) error {
	b, err := l.findBlock(v, owner.from)
	if err != nil {
		return err
	}
	by := owner.to - owner.from
	if !strings.ContainsAny(b.sign, "123456789") {
		by = owner.to + levelIndent - b.column
	}
	for i := b.header + 1; i <= b.last; i++ {
		line := &l.lines[i]
		line.kind, line.open, line.shift = innerLine, true, by
		if strings.Trim(line.in, " ") == "" && len(line.in) <= b.column {
			line.shift = -len(line.in)
		}
	}
	l.unended = l.unended || !l.ended && b.last == len(l.lines)-1 && !strings.Contains(b.sign, "-")
	return nil
}

// findBlock finds the lines of a block scalar; owner is the column of its key or hyphen.
func (l *textLayout) findBlock(v *yaml.Node, owner int) (b block, err error) {
	at := l.text.ValueOffset(v)
	b.header = v.Line - 1 + bytes.Count(l.text.Data[l.text.NodeOffset(v):at], []byte("\n"))
	b.sign, _, _ = strings.Cut(l.lines[b.header].in[at-l.text.LineStart(b.header+1):], " ")
	if b.sign == "" || b.sign[0] != '|' && b.sign[0] != '>' {
		return b, leftError(b.header+1, "the text does not start where the parser says")
	}
	b.last, b.column = b.header, l.blockColumn(b, owner)
	for i := b.header + 1; i < len(l.lines); i++ {
		text := strings.TrimLeft(l.lines[i].in, " ")
		if text != "" && len(l.lines[i].in)-len(text) < b.column {
			break
		}
		if text != "" || strings.Contains(b.sign, "+") || len(l.lines[i].in) > b.column {
			b.last = i
		}
	}
	return b, nil
}

// blockColumn returns the column of the text of a block scalar.
func (l *textLayout) blockColumn(b block, owner int) int {
	if i := strings.IndexAny(b.sign, "123456789"); i >= 0 {
		return max(owner, 0) + int(b.sign[i]-'0')
	}
	for _, line := range l.lines[b.header+1:] {
		if text := strings.TrimLeft(line.in, " "); text != "" {
			return max(len(line.in)-len(text), owner+1)
		}
	}
	return owner + 1
}
