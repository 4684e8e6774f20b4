package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"trueup/internal/diag"
)

// notInGit rejects a path in git's own folder, also through a link, because errors would quote its files,
// which may hold a token.
func notInGit(full, shown string) error {
	resolved, err := filepath.EvalSymlinks(full)
	if isWithinGit(full) || err == nil && isWithinGit(resolved) {
		return fmt.Errorf("%s is git's own folder and has no manifests: name the folder of your manifests, such as %s", shown, Manifests)
	}
	return nil
}

// isWithinGit reports whether an absolute path is git's own folder, or in it. A work tree is never in it.
func isWithinGit(full string) bool {
	for at := full; ; at = filepath.Dir(at) {
		if isDotGit(filepath.Base(at)) {
			return true
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || at == filepath.Dir(at) {
			return false
		}
	}
}

// isDotGit reports whether some file system resolves a name to .git, because it ignores case, drops
// invisible characters or trailing dots and spaces, or has short names or streams after a colon.
func isDotGit(name string) bool {
	name = strings.ToLower(strings.Map(func(r rune) rune {
		if diag.Unseen(r) {
			return -1
		}
		return r
	}, name))
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, " .")
	number, short := strings.CutPrefix(name, "git~")
	return name == ".git" || short && number != "" && strings.Trim(number, "0123456789") == ""
}
