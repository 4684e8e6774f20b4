// Package purge is the arithmetic of purge requests: which paths a request
// names, which of them another makes needless, and how much of a hostname's
// limits it uses; it neither reads manifests nor sends anything.
package purge

import (
	"errors"
	"strings"
)

// IsPrefix reports whether a path, valid or not, names everything below it: its last character is a
// "*" (docs/platform.md 2.3). Any other path names one file. The two have limits of their own.
func IsPrefix(path string) bool { return strings.HasSuffix(path, "*") }

// The reasons why a path is refused (docs/platform.md 2.3).
var (
	errNotAbsolute = errors.New("does not start with /")
	errInnerStar   = errors.New("has * before its last character")
)

// CheckPath returns why the platform's document does not allow the path, or nil.
func CheckPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return errNotAbsolute
	}
	if i := strings.IndexByte(path, '*'); i >= 0 && i != len(path)-1 {
		return errInnerStar
	}
	return nil
}

func stem(path string) string { return strings.TrimSuffix(path, "*") }
