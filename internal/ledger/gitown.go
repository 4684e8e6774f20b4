package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"sync"

	"trueup/internal/git"
)

// gitOwnForm are the refs that a repository may name: no request to merge, and
// nothing else that a host writes for strangers, is among them.
var gitOwnForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^refs/(trueup|heads)/`) })

// openGitStore opens the store of REF or REF@REMOTE, if its source may name it.
func openGitStore(where string, cfg Config) (Store, error) {
	s, err := newGitStore(where, cfg.Dir)
	if err != nil {
		return nil, err
	}
	if !cfg.StoreFromEnv && !gitOwnForm().MatchString(s.ref) {
		return nil, fmt.Errorf("store %.200q: trueup.yaml may name refs below refs/trueup/ and refs/heads/: name one of those, "+
			"or set TRUEUP_LEDGER where another one is meant", cfg.Store)
	}
	s.held = cfg.Held
	return s, nil
}

// What may stand at the top of the tree, and in the folder of the ledger.
var (
	gitFolderForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(` + gitFolder + `|[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{3})$`)
	})
	gitFileForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(` + path.Base(gitGenesis) + `|` + path.Base(gitRecents) + `)$`)
	})
)

// open makes the mirror of a ref that is nobody else's: no commit of a ledger goes
// onto a branch of code, nor is a record read of one.
func (s *gitStore) open(ctx context.Context) (*git.Mirror, error) {
	m, err := git.Open(ctx, s.dir, s.remote)
	if err != nil {
		return nil, err
	}
	use, err := m.InUse(ctx, s.ref)
	if err == nil && use != "" {
		err = fmt.Errorf("%w: %s", ErrStore, use)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// pure refuses a commit that holds anything but a ledger.
func (t gitTip) pure(ctx context.Context) error {
	if t.commit == "" {
		return nil
	}
	for folder, forms := range map[string]map[string]*regexp.Regexp{
		"":        {"tree": gitFolderForm()},
		gitFolder: {"blob": gitFileForm()},
	} {
		entries, err := t.mirror.Entries(ctx, t.commit, folder)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			if form := forms[entries[name]]; form == nil || !form.MatchString(name) {
				return fmt.Errorf("%w: it holds %q, which is no part of a ledger", ErrStore, path.Join(folder, name))
			}
		}
	}
	return nil
}
