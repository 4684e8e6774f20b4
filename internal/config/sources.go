package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/manifest"
	"trueup/internal/rules"
)

// OpenSources opens PATHs, or else the manifests of the project, or else the folder of the run.
func (o Options) OpenSources(p Project, paths []string) ([]manifest.PathSource, error) {
	switch {
	case len(paths) > 0:
		return o.OpenPaths(paths)
	case len(p.Manifests) > 0:
		return p.OpenManifests(o.Dir())
	}
	return o.OpenPaths([]string{"."})
}

// OpenPaths opens PATHs as the user wrote them. No link leads out of the folder of the run for a path inside it; any
// other is the user's own choice.
func (o Options) OpenPaths(paths []string) (list []manifest.PathSource, err error) {
	for i, path := range paths {
		var src manifest.PathSource
		switch {
		case path != "-":
			at := files.FolderAt(o.Dir(), path)
			if info, err := os.Stat(at.Base); err == nil && !info.IsDir() {
				at.Base, at.Inside = filepath.Dir(at.Base), filepath.Base(at.Base)
			}
			src, err = openSource(at.Base, at.Inside, path)
		case slices.Contains(paths[:i], path):
			err = errors.New("- is given twice, and there is only one standard input: name it once")
		default:
			src.Display = path
			if src.Data, err = io.ReadAll(io.LimitReader(o.OpenStdin("manifests"), manifest.MaxFile+1)); err != nil { // manifest.Load refuses the byte too many
				err = fmt.Errorf("standard input: %w", err)
			}
		}
		if err != nil {
			return list, err
		}
		list = append(list, src)
	}
	return list, nil
}

// OpenManifests opens the manifests of the project, which must be below its folder: a pull request must
// not make trueup show other files of the machine.
func (p Project) OpenManifests(cwd string) (list []manifest.PathSource, err error) {
	for _, path := range p.Manifests {
		if !filepath.IsLocal(path) {
			return list, diag.WithExit(diag.ExitInvalid, fmt.Errorf("%s: manifests: %q is outside the folder of the file", ProjectFile, path))
		}
		src, err := openSource(p.Dir, path, p.ShownPath(cwd, path))
		if errors.Is(err, fs.ErrNotExist) {
			return list, fmt.Errorf("%w: manifests: in %s names it: create it, or name another", err, ProjectFile)
		}
		if err != nil {
			return list, err
		}
		list = append(list, src)
	}
	return list, nil
}

// openRules opens the folder of the project's own rules, which must be below its folder.
func (p Project) openRules(cwd string) (src manifest.PathSource, err error) {
	if !filepath.IsLocal(p.Rules) {
		return src, fmt.Errorf("rules: %q is outside the folder of %s", p.Rules, ProjectFile)
	}
	return openSource(p.Dir, p.Rules, p.ShownPath(cwd, p.Rules))
}

// openSource opens a file or folder inside base; shown is the path as the user knows it. The source is inside an os.Root
// that no link leads out of, and that stays open. It rejects a path in git's own folder, also through a link, because
// errors would quote its files, which may hold a token.
func openSource(base, inside, shown string) (src manifest.PathSource, err error) {
	full := filepath.Join(base, inside)
	if isWithinGit(full) || isWithinGit(ResolveLinks(full)) {
		return src, fmt.Errorf("%s is git's own folder and has no manifests: name the folder of your manifests, such as %s", shown, ManifestsDir)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", shown, files.WithoutPath(err))
		}
	}()
	root, err := os.OpenRoot(base)
	if err != nil {
		return src, err
	}
	defer func() { _ = root.Close() }() // opened for reading only
	info, err := root.Stat(inside)
	if err != nil {
		return src, err
	}
	src.Path, src.Display = ".", filepath.ToSlash(shown)
	if !info.IsDir() {
		src.Path, src.Display = filepath.Base(inside), filepath.ToSlash(filepath.Dir(shown))
		inside = filepath.Dir(inside)
	}
	within, err := root.OpenRoot(inside)
	if err != nil {
		return src, err
	}
	src.FS = files.OpenFS(within)
	return src, nil
}

// ReadsFile reports whether commands without PATH in cwd read a file or folder.
func (p Project) ReadsFile(cwd, full string) bool {
	folders := []string{cwd}
	if len(p.Manifests) > 0 {
		folders = diag.MapList(p.Manifests, func(name string) string { return filepath.Join(p.Dir, name) })
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		inside := files.ShownPath(folder, full)
		// Manifests with a part that starts with a dot are not read.
		return filepath.IsLocal(inside) && (inside == "." || !strings.Contains("/"+filepath.ToSlash(inside), "/."))
	})
}

// isWithinGit reports whether an absolute path is git's own folder, or in it. A work tree is never in it.
func isWithinGit(full string) bool {
	for at := full; ; at = filepath.Dir(at) {
		if isDotGit(filepath.Base(at)) {
			return true
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || at == filepath.Dir(at) {
			return false
		}
	}
}

// isDotGit reports whether some file system resolves a name to .git, because it ignores case, drops
// invisible characters or trailing dots and spaces, or has short names or streams after a colon.
func isDotGit(name string) bool {
	name = strings.ToLower(strings.Map(func(r rune) rune {
		if diag.IsInvisible(r) {
			return -1
		}
		return r
	}, name))
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, " .")
	number, short := strings.CutPrefix(name, "git~")
	return name == ".git" || short && number != "" && strings.Trim(number, "0123456789") == ""
}

// rulesVariable names the folder of rules that no repository changes.
const rulesVariable = "TRUEUP_RULES"

// maxRules limits the rules of a folder.
const maxRules = 100

// ReadOwnRules reads the rules of the users: those of TRUEUP_RULES, and those that the project adds.
func (o Options) ReadOwnRules(p Project) (all []rules.OwnRule, err error) {
	if dir := o.Getenv(rulesVariable); dir != "" {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("%s is %q: write the whole path, so that no repository can be the folder", rulesVariable, dir)
		}
		if all, err = readRules(os.DirFS(dir), dir); err != nil {
			return nil, fmt.Errorf("%s: %w", rulesVariable, err)
		}
	}
	if p.Rules == "" {
		return all, nil
	}
	src, err := p.openRules(o.Dir())
	if err == nil {
		var added []rules.OwnRule
		added, err = readRules(src.FS, src.Display)
		all = append(all, added...)
	}
	if err != nil {
		return nil, diag.WithExit(diag.ExitInvalid, fmt.Errorf("%s: %w", ProjectFile, err))
	}
	return all, nil
}

// readRules reads the rules in a folder, which must have one: a wrong folder would check nothing.
func readRules(fsys fs.FS, shown string) (all []rules.OwnRule, err error) {
	names, _ := fs.Glob(fsys, "*.json") // the pattern is valid
	switch {
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
