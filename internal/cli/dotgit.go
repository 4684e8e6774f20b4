package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/diag"
)

// notInGit refuses a place in the folder of git, whatever link leads there: what is
// in it, such as a token in its settings, would be shown as a part of a manifest.
func notInGit(full, shown string) error {
	places := []string{full}
	if resolved, err := filepath.EvalSymlinks(full); err == nil {
		places = append(places, resolved)
	}
	if slices.ContainsFunc(places, isWithinGit) {
		return fmt.Errorf("%s is git's own folder and has no manifests: name the folder of your manifests, such as %s", shown, manifests)
	}
	return nil
}

// isWithinGit reports whether an absolute path is the folder of git, or in it. A work
// tree of its own is not in it, wherever it is.
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

// isDotGit reports whether some file system takes a name for .git: one that does not
// tell letters by their case, drops dots and spaces at the end or characters that
// nobody sees, has short names, or parts of files behind a colon.
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
