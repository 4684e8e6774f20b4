//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// keepGroup does nothing: files have no group here.
func keepGroup(*os.File, fs.FileInfo) error { return nil }
