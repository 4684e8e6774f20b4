//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package cli

import "os"

// asksSecretly can't be told here.
func asksSecretly(*os.File) bool { return false }
