//go:build unix

package cli

import "syscall"

// forbidCoreDumps keeps a crash from writing the memory of the process, which has tokens, to a file.
func forbidCoreDumps() { _ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
