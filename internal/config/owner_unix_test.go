//go:build unix

package config

import (
	"os"
	"path/filepath"
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
