package cli

import (
	"errors"
	"os"
	"testing"
)

// TestMain keeps git's settings on this machine away from the tests.
func TestMain(m *testing.M) {
	if err := errors.Join(os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull), os.Setenv("GIT_CONFIG_NOSYSTEM", "1")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
