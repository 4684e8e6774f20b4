// Package purge computes purge requests: which paths a request names, which of them another one covers,
// and how much of a hostname's limits it uses. It neither reads manifests nor sends anything.
package purge

import (
	"errors"
	"strings"
)

// IsPrefix reports whether a path, valid or not, names everything below it, because it ends with "*"
// (docs/platform.md 2.3). Any other path names one file. Each kind has its own limit.
func IsPrefix(path string) bool { return strings.HasSuffix(path, "*") }

var errInnerStar = errors.New("has * before its last character")

// CheckPath returns why the path is not valid (docs/platform.md 2.3), or nil.
func CheckPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return errors.New("does not start with /")
	}
	if i := strings.IndexByte(path, '*'); i >= 0 && i != len(path)-1 {
		return errInnerStar
	}
	return nil
}

func stem(path string) string { return strings.TrimSuffix(path, "*") }
