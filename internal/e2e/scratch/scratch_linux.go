// Package scratch keeps the files of tests in memory: tests write many small files, and wait for the
// disk with each one that they sync.
package scratch

import (
	"errors"
	"flag"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
)

const memory, enough = "/dev/shm", 2 << 30

// Run runs the tests of a package and returns the exit code. Temporary directories are in memory if the
// machine has 2 GiB of room there, except for benchmarks.
func Run(m *testing.M) int {
	debug.SetGCPercent(800) // tests do the work of many processes, each of which would hardly collect garbage
	flag.Parse()
	var fs syscall.Statfs_t
	if flag.Lookup("test.bench").Value.String() != "" || syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < enough {
		return m.Run()
	}
	dir, err := os.MkdirTemp(memory, "trueup-test-")
	if err != nil {
		return m.Run()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// Tests play other users, who may enter the directory.
	if err := errors.Join(os.Chmod(dir, 0o711), os.Setenv("TMPDIR", dir)); err != nil {
		panic(err)
	}
	return m.Run()
}
