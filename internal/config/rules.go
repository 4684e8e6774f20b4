package config

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/rules"
)

// rulesVariable names the folder of rules that no repository changes.
const rulesVariable = "TRUEUP_RULES"

// maxRules limits the rules of a folder.
const maxRules = 100

// OwnRules reads the rules of the users: those of TRUEUP_RULES, and those that the project adds.
func (o Options) OwnRules(p Project) (all []rules.OwnRule, err error) {
	if dir := o.Getenv(rulesVariable); dir != "" {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("%s is %q: write the whole path, so that no repository can be the folder", rulesVariable, dir)
		}
		if all, err = readRules(os.DirFS(dir), dir); err != nil {
			return nil, fmt.Errorf("%s: %w", rulesVariable, err)
		}
	}
	src, ok, err := p.OpenRules(o.Dir)
	if err == nil && ok {
		var added []rules.OwnRule
		added, err = readRules(src.FS, src.Display)
		all = append(all, added...)
	}
	if err != nil {
		return nil, exit.WithCode(exit.Invalid, fmt.Errorf("%s: %w", ProjectFile, err))
	}
	return all, nil
}

// readRules reads the rules in a folder, which must have one: a wrong folder would check nothing.
func readRules(fsys fs.FS, shown string) (all []rules.OwnRule, err error) {
	names, err := fs.Glob(fsys, "*.json")
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		return nil, fmt.Errorf("%s has no rule, which is a file NAME.json: write one, or name another folder", shown)
	case len(names) > maxRules:
		return nil, fmt.Errorf("%s has more than %d rules: join some", shown, maxRules)
	}
	for _, name := range names {
		text, err := files.ReadFS(fsys, name, rules.MaxOwnRule)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(shown, name), files.WithoutPath(err))
		}
		rule, err := rules.ParseOwnRule(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(shown, name), err)
		}
		all = append(all, rule)
	}
	return all, nil
}
