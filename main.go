// Command trueup keeps a cloud platform true to git.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"

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
	// The garbage collector lets the heap grow by the size of what is live. A small run ends before the first
	// collection. From then on a ballast, which is never touched and so takes no memory, makes collections rarer.
	var ballast []byte
	debug.SetGCPercent(900)
	runtime.AddCleanup(new(collected), func(size int) {
		ballast = make([]byte, size)
		debug.SetGCPercent(100)
	}, 16<<20)
	code := process.Run(env)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// collected is gone after the first collection.
type collected struct{ _ *byte }
