//go:build unix

package process

import "syscall"

// forbidCoreDumps keeps a crash from writing the memory of the process, which has tokens, to a file.
func forbidCoreDumps() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // nothing forbids to lower it
	}
}
