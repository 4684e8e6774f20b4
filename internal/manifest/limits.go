package manifest

import (
	"cmp"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// MaxFile is the default limit of one file, in bytes.
const MaxFile = 16 << 20

// Limits limit what is read, so that files can't take all memory or all day. A field that is zero is
// the default, which is far above any real repository: a purge of 20,000 real paths is 1.3 MB and has
// 40,000 values.
type Limits struct {
	// File and Total are the bytes of one file and of all.
	File, Total int64
	// Files and Objects are how many there may be, Values how many keys and values a document may have,
	// and Folders how deep directories may be nested.
	Files, Objects, Values, Folders int
}

func (l Limits) orDefault() Limits {
	return Limits{
		File:    cmp.Or(l.File, MaxFile),
		Total:   cmp.Or(l.Total, 512<<20),
		Files:   cmp.Or(l.Files, 200_000),
		Objects: cmp.Or(l.Objects, 200_000),
		Values:  cmp.Or(l.Values, 500_000),
		Folders: cmp.Or(l.Folders, 64),
	}
}

// bytesOf writes a size for a message.
func bytesOf(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// excess says which limit what was read so far exceeds, or "".
func (l *loader) excess() string {
	limits := l.options.Limits
	switch {
	case l.total.Load() > limits.Total:
		return "the manifests are larger in total than " + bytesOf(limits.Total)
	case l.reported.Load() > maxOfAll:
		return fmt.Sprintf("there are more than %d findings in the manifests", maxOfAll)
	case l.count.Load() > int64(limits.Objects):
		return fmt.Sprintf("the manifests have more than %d objects in total", limits.Objects)
	}
	return ""
}

// FirstAlias returns the line of the first alias of a YAML text, or 0. A reader without limits must not
// read aliases: one page of them can become a thousand. A text that is not YAML has none.
func FirstAlias(text []byte) int {
	line := 0
	_ = decode(text, func(doc *yaml.Node) { // what is not YAML is the reader's to report
		if line == 0 {
			line = firstAlias(doc)
		}
	})
	return line
}

func firstAlias(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return n.Line
	}
	for _, below := range n.Content {
		if line := firstAlias(below); line > 0 {
			return line
		}
	}
	return 0
}
