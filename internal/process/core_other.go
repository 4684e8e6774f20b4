//go:build !unix

package process

// forbidCoreDumps does nothing: a crash writes no file here.
func forbidCoreDumps() {}
