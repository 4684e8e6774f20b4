package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// errBareRepository says that a repository is not safe to read. Its settings choose which
// programs git runs. The user wrote those of a clone; but git also reads any folder that
// looks like a bare repository, and a pull request can add such a folder.
var errBareRepository = errors.New("it is a bare repository in a folder that is not named .git, and may have come with a clone: set GIT_DIR to use it")

// locate returns the folder of the repository that dir is in, and the format of its
// objects; or ErrNoRepository. It runs no program that the repository's settings name.
func locate(ctx context.Context, dir string) (gitDir, format string, err error) {
	out, err := call{dir: dir, args: []string{"rev-parse", "--path-format=absolute", "--show-object-format", "--git-dir"}}.run(ctx)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrNoRepository, err)
	}
	format, gitDir, _ = strings.Cut(strings.TrimRight(string(out), "\n"), "\n")
	// No commit holds an entry named .git, so nothing below one was checked out.
	// The variable is git's own, and it reads it from this process as well.
	if _, chosen := os.LookupEnv("GIT_DIR"); !chosen && !slices.Contains(strings.Split(filepath.ToSlash(gitDir), "/"), ".git") {
		return "", "", fmt.Errorf("%w: %w", ErrNoRepository, errBareRepository)
	}
	return gitDir, format, nil
}
