// Command trueup keeps a cloud platform true to git.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime"

	"trueup/internal/process"
)

func main() {
	// Libraries log to standard error without the cleaning that trueup's own output
	// gets. What matters is an error as well.
	log.SetOutput(io.Discard)
	env, err := process.Env()
	if err != nil {
		fmt.Fprintln(os.Stderr, "trueup:", err)
		os.Exit(1)
	}
	// The garbage collector lets the heap grow by the size of what is live: with this
	// ballast, which is never touched and so takes no memory, a small run hardly collects.
	ballast := make([]byte, 16<<20)
	code := process.Run(env)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}
