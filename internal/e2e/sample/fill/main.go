// Command fill writes the manifests of a made-up project of any size.
package main

import (
	"fmt"
	"os"

	"trueup/internal/e2e/sample"
)

func main() {
	if err := sample.Fill("", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}
