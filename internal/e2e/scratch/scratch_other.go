//go:build !linux

// Package scratch keeps the files of tests in memory, on Linux.
package scratch

// Use does nothing.
func Use() (remove func()) { return func() {} }
