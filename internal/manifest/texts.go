package manifest

import (
	"bytes"
	"fmt"
	"io/fs"

	"trueup/internal/diag"
)

// Text is a file of manifests as it stands.
type Text struct {
	// FS is the source's, and nil for standard input; Name is the file's in it.
	FS   fs.FS
	Name string
	// Path is the file as the user named it.
	Path string
	Data []byte
}

// Texts reads the files that Load reads, in the same order and within the same
// limits. The list holds what keeps some from being read; the error says that a
// file could not be read.
func Texts(sources []Source, limits Limits) ([]Text, diag.List, error) {
	limits = limits.orUsual()
	files, err := listed(sources, limits)
	if err != nil {
		return nil, nil, err
	}
	if files.tooMany != nil {
		return nil, append(files.findings, *files.tooMany), nil
	}
	texts := make([]Text, len(files.inputs))
	left := limits.Total
	for i, in := range files.inputs {
		texts[i] = Text{FS: in.fsys, Name: in.name, Path: in.display, Data: in.data}
		if in.fsys != nil {
			var buffer bytes.Buffer
			data, err := slurp(in, limits.File, &buffer)
			if err != nil {
				return nil, nil, fmt.Errorf("read %s: %w", in.display, err)
			}
			texts[i].Data = data
		}
		size := int64(len(texts[i].Data))
		if size > limits.File {
			return nil, append(files.findings, excessive(in.display, "the file is larger than "+bytesOf(limits.File), "split it into several files")), nil
		}
		if left -= size; left < 0 {
			return nil, append(files.findings, excessive(in.display, "the manifests are larger in total than "+bytesOf(limits.Total), "name fewer files at once")), nil
		}
	}
	return texts, files.findings, nil
}
