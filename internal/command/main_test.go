package command

import (
	"os"
	"testing"

	"trueup/internal/e2e/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m)) }
