package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
)

// MaxFile is the usual bound of one file, in bytes.
const MaxFile = 16 << 20

// Limits bound what is read, so that whoever writes the files can't make this
// program take all memory or all day. A field that is zero is the usual bound,
// which is far above any real repository: a purge of 20,000 real paths is
// 1.3 MB and has 40,000 values.
type Limits struct {
	// File and Total are bytes of one file and of all.
	File, Total int64
	// Files and Objects are how many there may be in all, Values how many keys
	// and values one document may have, and Folders how deep they may be nested.
	Files, Objects, Values, Folders int
}

func (l Limits) orUsual() Limits {
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

// tooMuch reports whether what was read so far passes a bound of all files.
func (l *loader) tooMuch() bool {
	return l.total.Load() > l.options.Limits.Total || l.count.Load() > int64(l.options.Limits.Objects) || l.said.Load() > maxOfAll
}

// excess says which bound was passed.
func (l *loader) excess() diag.Finding {
	message := fmt.Sprintf("the manifests have more than %d objects in total", l.options.Limits.Objects)
	switch total := l.options.Limits.Total; {
	case l.total.Load() > total:
		message = "the manifests are larger in total than " + bytesOf(total)
	case l.said.Load() > maxOfAll:
		message = fmt.Sprintf("there are more than %d findings in the manifests", maxOfAll)
	}
	return excessive(l.inputs[0].display, message, "name fewer files at once")
}

func excessive(path, message, fix string) diag.Finding {
	return diag.Finding{Path: path, Rule: ruleSize, Severity: diag.Error, Message: message, Fix: fix}
}

// FirstAlias returns the line of the first alias of a YAML text, or 0: a reader
// that bounds nothing must not be given one, for a page of aliases of a page of
// text is a thousand pages. A text that is not YAML has none.
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

// errChanged is a file that is not the same at the end of reading as at the
// start: half of one could look as if the other half had been removed.
var errChanged = errors.New("it changed while trueup read it: run trueup again when nothing writes to it")

// slurp reads a file into the buffer, one byte more than is allowed at most.
func slurp(in input, limit int64, buffer *bytes.Buffer) ([]byte, error) {
	f, err := in.fsys.Open(in.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("it was deleted just now: run trueup again when nothing changes the files")
	}
	if err != nil {
		return nil, bare(err)
	}
	defer func() { _ = f.Close() }()
	before, err := f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no longer a regular file", fs.ErrInvalid)
	}
	buffer.Reset()
	if _, err := buffer.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, bare(err)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	if size := min(before.Size(), limit+1); int64(buffer.Len()) != size || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, errChanged
	}
	return buffer.Bytes(), nil
}

// bare leaves out the path that an error repeats.
func bare(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
