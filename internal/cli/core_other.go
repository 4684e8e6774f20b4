//go:build !unix

package cli

// forbidCoreDumps does nothing: a crash writes no file here.
func forbidCoreDumps() {}
