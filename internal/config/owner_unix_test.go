//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func mkfifo(file string) error { return syscall.Mkfifo(file, 0o600) }

// remade puts something else in the place of a file.
func remade(file string, remake func() error) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return remake()
}

// linkTarget is a file of profiles elsewhere, as keepers of settings link to it.
func linkTarget(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "kept.yaml")
	if err := os.WriteFile(file, []byte(configHead+"profiles: {prod: {}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAFileOfProfilesThatOthersCouldWriteIsRefused(t *testing.T) {
	change := func(do func(file string) error) error {
		o, _, file := userOptions(t, configHead+"profiles: {prod: {}}", nil)
		o.Profile = "prod"
		if err := do(file); err != nil {
			t.Fatal(err)
		}
		_, err := o.ResolveSettings(Project{})
		return err
	}
	for name, c := range map[string]struct {
		do   func(file string) error
		says string
	}{
		"mine":           {func(file string) error { return os.Chmod(file, 0o644) }, ""},
		"group may":      {func(file string) error { return os.Chmod(file, 0o620) }, "other users can write to it (mode 0620)"},
		"all may":        {func(file string) error { return os.Chmod(file, 0o602) }, "chmod go-w"},
		"a folder":       {func(file string) error { return remade(file, func() error { return os.Mkdir(file, 0o700) }) }, "it is not a regular file"},
		"a pipe":         {func(file string) error { return remade(file, func() error { return mkfifo(file) }) }, "it is not a regular file"},
		"gone":           {os.Remove, "but the file "},
		"a link to mine": {func(file string) error { return remade(file, func() error { return os.Symlink(linkTarget(t), file) }) }, ""},
		"another user's": {func(file string) error { return os.Chown(file, 54321, -1) }, "belongs to user 54321"},
		"too large":      {func(file string) error { return os.Truncate(file, maxFile+1) }, "it is larger than 1024 KiB"},
	} {
		if name == "another user's" && os.Geteuid() != 0 {
			continue
		}
		err := change(c.do)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestATokenFileIsNotWaitedFor: nobody ever writes to the pipe.
func TestATokenFileIsNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{pipe, t.TempDir(), os.DevNull} {
		_, err := tokenOf(t.Context(), t, "", map[string]string{"TRUEUP_DELIVERY_TOKEN_FILE": file}, "")
		if err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
