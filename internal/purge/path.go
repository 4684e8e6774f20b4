// Package purge is the arithmetic of purge requests: which paths a request
// names, which of them another makes needless, and how much of a hostname's
// limits it uses; it neither reads manifests nor sends anything.
package purge

import (
	"errors"
	"strings"
)

// Form is what a path of a purge names (docs/platform.md 2.3).
type Form uint8

// The two forms of a path.
const (
	// Absolute is one file: a path without a trailing "*".
	Absolute Form = iota
	// Prefix is everything below: a path whose last character is "*".
	Prefix
)

// FormOf tells which limit the path counts against, whether or not it is valid.
func FormOf(path string) Form {
	if strings.HasSuffix(path, "*") {
		return Prefix
	}
	return Absolute
}

// The reasons why a path is refused (docs/platform.md 2.3).
var (
	errNotAbsolute = errors.New("does not start with /")
	errInnerStar   = errors.New("has * before its last character")
)

// CheckPath returns why the platform's document does not allow the path, or
// nil.
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
