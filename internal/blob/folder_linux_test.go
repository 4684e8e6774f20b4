package blob

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs do on a thread that has no rights to root's files.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The thread ends with this goroutine, because it stays locked.
		runtime.LockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		do()
	}()
	<-done
}

// TestFolderWithoutRights: a folder that can't be written to is read, and what to
// do about it is said.
func TestFolderWithoutRights(t *testing.T) {
	// Directories of t.TempDir can't be entered by others, nor may any be where the
	// mask of rights says so.
	defer syscall.Umask(syscall.Umask(0o022))
	dir, err := os.MkdirTemp("", "ledger")
	must(t, err)
	folders := func(mode fs.FileMode) {
		must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(p, mode)
			}
			return err
		}))
	}
	t.Cleanup(func() {
		folders(0o755)
		must(t, os.RemoveAll(dir))
	})
	d := FolderStore(dir)
	must(t, d.Prepare(t.Context()))
	must(t, create(t.Context(), d, "log/1/a", []byte("a")))
	// Nor may the owner write, who may be the one that runs this.
	folders(0o555)
	var content []byte
	var read, made, another error
	asNobody(t, func() {
		content, read = d.Get(t.Context(), "log/1/a")
		made = create(t.Context(), d, "log/1/b", nil)
		another = FolderStore(filepath.Join(dir, "another")).Prepare(t.Context())
	})
	if read != nil || string(content) != "a" {
		t.Errorf("read %q, %v", content, read)
	}
	for _, err := range []error{made, another} {
		wantErr(t, err, fs.ErrPermission)
		if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "needs permission") {
			t.Errorf("it says %v", err)
		}
	}
	must(t, os.Chmod(d.Location("log/1/a"), 0))
	asNobody(t, func() { _, read = d.Get(t.Context(), "log/1/a") })
	wantErr(t, read, fs.ErrPermission)
}
