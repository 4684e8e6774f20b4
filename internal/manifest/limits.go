package manifest

import (
	"cmp"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// MaxFile is the default limit of one file, in bytes.
const MaxFile = 16 << 20

// Limits protect the memory and time of a run from hostile files. Zero fields mean the defaults, which
// are far above real repositories: a purge of 20,000 real paths is 1.3 MB and has 40,000 values.
type Limits struct {
	// File and Total are bytes of one file and of all files.
	File, Total int64
	// Values counts the keys and values of a document, and Folders the depth of directories.
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

// excess returns a message about the limit that is exceeded so far, or "".
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

// FirstAlias returns the line of the first alias of a YAML text, or 0. A parser without limits must not
// expand aliases, because a few lines can fill the memory. A text that is not YAML has none.
func FirstAlias(text []byte) int {
	line := 0
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		if n.Kind == yaml.AliasNode && line == 0 {
			line = n.Line
		}
		for _, below := range n.Content {
			visit(below)
		}
	}
	_ = decode(text, visit) // the caller's parser reports a syntax error
	return line
}
