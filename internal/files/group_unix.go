//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// keepGroup gives a file the group of the one that it replaces.
func keepGroup(file *os.File, was fs.FileInfo) error {
	is, err := file.Stat()
	if err != nil {
		return err
	}
	old, _ := was.Sys().(*syscall.Stat_t)
	own, _ := is.Sys().(*syscall.Stat_t)
	if old == nil || own == nil || old.Gid == own.Gid {
		return nil
	}
	return file.Chown(-1, int(old.Gid))
}
