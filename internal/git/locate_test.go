package git

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlantedRepository: a folder that looks like a bare repository, as a commit
// can hold one, is not taken for the repository: its settings would name
// programs to run and addresses to ask.
func TestPlantedRepository(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			t.Error("an address of the planted settings was asked")
			_ = conn.Close()
		}
	}()
	for _, more := range []string{"bare = true", "bare = false\n\tworktree = ."} {
		top := t.TempDir()
		if _, err := (runner{dir: top}).runGit(t.Context(), "init", "-q"); err != nil {
			t.Fatal(err)
		}
		dir, ran := filepath.Join(top, "envs", "staging"), filepath.Join(top, "ran")
		for name, text := range map[string]string{
			"HEAD":           "ref: refs/heads/main\n",
			"objects/.keep":  "",
			"refs/.keep":     "",
			"trueup.yaml":    "apiVersion: trueup/v1\n",
			"hooks/pre-push": "#!/bin/sh\ntouch " + ran + "\n",
			"config": "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch " + ran + "\n\tsshCommand = touch " + ran +
				"\n\thooksPath = hooks\n\t" + more + "\n[remote \"origin\"]\n\turl = git://" + listener.Addr().String() +
				"/x\n\tpromisor = true\n\tuploadpack = touch " + ran + "\n[extensions]\n\tpartialClone = origin\n[alias]\n\tfetch = !touch " + ran +
				"\n[protocol \"ext\"]\n\tallow = always\n[credential]\n\thelper = !touch " + ran + "\n",
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := OpenMirror(t.Context(), dir, "origin"); !errors.Is(err, ErrNoRepository) || !strings.Contains(err.Error(), "set GIT_DIR") {
			t.Errorf("a mirror: %v", err)
		}
		if _, err := OpenRepository(t.Context(), dir); !errors.Is(err, ErrNoRepository) {
			t.Errorf("a tree: %v", err)
		}
		if _, err := OpenRepository(t.Context(), top); err != nil {
			t.Errorf("the repository around it: %v", err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Error("a program of the planted settings ran")
		}
	}
}
