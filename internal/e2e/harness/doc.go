// Package harness has what the tests of the whole program share: the program
// itself with a faster clock, commands for scripts, a platform, a code host and a
// machine to run on. It needs Linux.
package harness
