package command

import (
	"errors"
	"os"
	"testing"

	"trueup/internal/e2e/scratch"
)

// TestMain keeps git's settings on this machine away from the tests, and their files
// in memory.
func TestMain(m *testing.M) {
	if err := errors.Join(os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull), os.Setenv("GIT_CONFIG_NOSYSTEM", "1")); err != nil {
		panic(err)
	}
	os.Exit(scratch.Run(m))
}
