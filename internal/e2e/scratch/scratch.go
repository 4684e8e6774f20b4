// Package scratch keeps the files of tests in memory, where the machine has room: tests write many small files, and wait
// for the disk with each one that they sync.
package scratch

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// gitConfig is what git reads of the user in tests, and repositoryConfig begins the settings of each repository that they
// make: git would look for garbage after each fetch and push.
const (
	gitConfig        = "[user]\n\tname = a\n\temail = a@example.com\n[init]\n\ttemplateDir = "
	repositoryConfig = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n"
)

// Run runs the tests of a package and returns the exit code. Temporary directories are in memory if the machine has 2 GiB
// of room there, except for benchmarks. git reads no settings of this machine.
func Run(m *testing.M) int {
	debug.SetGCPercent(800) // tests do the work of many processes, each of which would hardly collect garbage
	flag.Parse()
	memory := memoryDir()
	if flag.Lookup("test.bench").Value.String() != "" {
		memory = ""
	}
	dir, err := os.MkdirTemp(memory, "trueup-test-")
	if err != nil {
		dir, err = os.MkdirTemp("", "trueup-test-")
	}
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config, template := filepath.Join(dir, "gitconfig"), filepath.Join(dir, "template")
	err = errors.Join(
		os.Chmod(dir, 0o711), // tests play other users, who may enter the directory
		os.Setenv("TMPDIR", dir),
		os.MkdirAll(filepath.Join(template, "hooks"), 0o755),
		os.WriteFile(filepath.Join(template, "config"), []byte(repositoryConfig), 0o644),
		os.WriteFile(config, []byte(gitConfig+template+"\n"), 0o644),
		os.Setenv("GIT_CONFIG_GLOBAL", config), os.Setenv("GIT_CONFIG_NOSYSTEM", "1"),
	)
	if err != nil {
		panic(err)
	}
	return m.Run()
}
