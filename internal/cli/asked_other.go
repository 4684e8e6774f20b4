//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package cli

import "os"

// asksSecretly returns false, because it can't know.
func asksSecretly(*os.File) bool { return false }
