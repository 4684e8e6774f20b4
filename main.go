// Command trueup keeps a cloud platform true to git.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"trueup/internal/cli"
)

func main() {
	// Libraries log to standard error without the cleaning that trueup's own output
	// gets. What matters is an error as well.
	log.SetOutput(io.Discard)
	env, err := cli.NewEnv()
	if err != nil {
		fmt.Fprintln(os.Stderr, "trueup:", err)
		os.Exit(1)
	}
	os.Exit(cli.RunProcess(env))
}
