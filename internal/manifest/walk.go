package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"trueup/internal/diag"
	"trueup/internal/files"
)

// FileText is a file of manifests.
type FileText struct {
	// FS is nil for standard input. Name is the name of the file in FS.
	FS   fs.FS
	Name string
	// Path is the file as the user named it.
	Path string
	Data []byte
}

// ErrChanged says that a file is not as it was read.
var ErrChanged = errors.New("changed while it was read")

// Replace changes the content of the file, unless it was written to since it was read.
func (t FileText) Replace(content []byte) error {
	root := files.RootOf(t.FS)
	if root == nil {
		return fmt.Errorf("%s: it is not writable", t.Path)
	}
	if !files.HasContent(root, files.File{Name: t.Name, Content: t.Data}) {
		return fmt.Errorf("%s %w: run trueup again when nothing writes to it", t.Path, ErrChanged)
	}
	if err := files.ReplaceFile(root, files.File{Name: t.Name, Content: content}); err != nil {
		return fmt.Errorf("%s: %w", t.Path, errors.Unwrap(err))
	}
	return nil
}

// lister lists the files of sources, each once.
type lister struct {
	texts    []FileText
	findings diag.List
	seen     map[string]bool
	limits   Limits
	// exceeded reports whether the files exceed a limit: the list ends, and has no files.
	exceeded bool
}

func listSources(sources []PathSource, limits Limits) (*lister, error) {
	l := &lister{seen: map[string]bool{}, limits: limits}
	for _, s := range sources {
		if err := l.addSource(s); err != nil {
			return nil, err
		}
	}
	if l.exceeded {
		l.texts = nil
	}
	return l, nil
}

func (l *lister) report(path, rule string, severity diag.Severity, message, fix string) {
	l.findings = append(l.findings, diag.Finding{Path: path, Rule: rule, Severity: severity, Message: message, Fix: fix})
}

// reportLimit reports the first exceeded limit.
func (l *lister) reportLimit(path, message, fix string) {
	if !l.exceeded {
		l.exceeded = true
		l.report(path, RuleSize, diag.Error, message, fix)
	}
}

// addSource lists a source: standard input, a file, or a directory and all below it, in the order of names.
// It skips hidden names, and follows no symbolic link: a link can lead out of the repository. A
// directory that can't be listed is an error: it must not look empty.
func (l *lister) addSource(s PathSource) error {
	if s.FS == nil {
		l.texts = append(l.texts, FileText{Path: cmp.Or(s.Display, "-"), Data: s.Data})
		return nil
	}
	root := path.Clean(s.Path)
	info, err := fs.Lstat(s.FS, root)
	if err != nil {
		return fmt.Errorf("read %s: %w", path.Join(s.Display, root), files.WithoutPath(err))
	}
	if !info.IsDir() {
		l.addFile(s, root, info.Mode())
		return nil
	}
	cases := map[string]string{}
	return fs.WalkDir(s.FS, root, func(name string, e fs.DirEntry, err error) error {
		shown := path.Join(s.Display, name)
		switch {
		case l.exceeded:
			return fs.SkipAll
		case err != nil:
			return fmt.Errorf("read folder %s: %w: the user that runs trueup needs permission to read all of it", shown, files.WithoutPath(err))
		case name == root:
			return nil
		case strings.HasPrefix(e.Name(), "."):
			return skipFolder(e)
		case e.IsDir() || IsFile(name):
			l.checkCase(shown, cases)
		}
		return l.addDirEntry(s, name, e)
	})
}

func skipFolder(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// addDirEntry lists one entry of a directory.
func (l *lister) addDirEntry(s PathSource, name string, e fs.DirEntry) error {
	shown := path.Join(s.Display, name)
	switch {
	case !utf8.ValidString(name) && (e.IsDir() || IsFile(name)):
		l.report(shown, RuleEncoding, diag.Error, "the name is not UTF-8", "rename it")
		return skipFolder(e)
	case e.IsDir():
	case IsFile(name):
		l.addFile(s, name, e.Type())
	case e.Type()&fs.ModeSymlink != 0:
		if info, err := fs.Stat(s.FS, name); err != nil || info.IsDir() {
			l.report(shown, ruleNotRegular, diag.Warning, "trueup does not follow symbolic links to folders",
				"move the manifests into a real folder, or name the folder on the command line")
		}
	}
	return nil
}

// checkCase warns about names that differ only in case: a file system that ignores case keeps only one,
// and the other looks removed there.
func (l *lister) checkCase(shown string, cases map[string]string) {
	dir, name := path.Split(shown)
	folded := dir + strings.ToLower(name)
	if other, taken := cases[folded]; taken {
		l.report(shown, ruleFileCase, diag.Warning,
			fmt.Sprintf("the name differs from %s only in case", diag.Quote(other)), "rename one of them")
	}
	cases[folded] = name
}

// IsFile reports whether a file name has the extension of a manifest.
func IsFile(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// IsYAML reports whether a file name has an extension of YAML.
func IsYAML(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// addFile lists a regular file, and reports any other without opening it: a pipe would wait for a writer.
func (l *lister) addFile(s PathSource, name string, mode fs.FileMode) {
	display := path.Join(s.Display, name)
	if l.seen[display] {
		return
	}
	l.seen[display] = true
	switch {
	case len(l.seen) > l.limits.Files:
		l.reportLimit(display, fmt.Sprintf("there are more than %d files", l.limits.Files), "name fewer folders at once")
	case mode.IsRegular():
		l.texts = append(l.texts, FileText{FS: s.FS, Name: name, Path: display})
	default:
		what := "a device, a pipe or a socket"
		if mode&fs.ModeSymlink != 0 {
			what = "a symbolic link"
		}
		l.report(display, ruleNotRegular, diag.Error, "the manifest is "+what+" and is not read", "replace it with a regular file")
	}
}

// readText reads the file into the buffer, at most one byte more than the limit.
func (t FileText) readText(limit int64, buffer *bytes.Buffer) ([]byte, error) {
	if t.FS == nil {
		return t.Data, nil
	}
	data, err := readRegular(t.FS, t.Name, limit, buffer)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it was deleted just now: run trueup again when nothing changes the files")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Path, files.WithoutPath(err))
	}
	return data, nil
}

func readRegular(fsys fs.FS, name string, limit int64, buffer *bytes.Buffer) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	before, err := f.Stat()
	if err == nil && !before.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no longer a regular file", fs.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	buffer.Reset()
	buffer.Grow(int(min(before.Size(), limit)) + bytes.MinRead)
	if _, err := buffer.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if size := min(before.Size(), limit+1); int64(buffer.Len()) != size || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, errors.New("it changed while trueup read it: run trueup again when nothing writes to it") // the rest would look removed
	}
	return buffer.Bytes(), nil
}

// ReadTexts reads the files that Load reads, in the same order and within the same limits. It returns files
// that it skips as findings, and an error for a file that it could not read.
func ReadTexts(sources []PathSource, limits Limits) ([]FileText, diag.List, error) {
	limits = limits.orDefault()
	found, err := listSources(sources, limits)
	if err != nil {
		return nil, nil, err
	}
	total := int64(0)
	for i := range found.texts {
		t := &found.texts[i]
		if t.Data, err = t.readText(limits.File, &bytes.Buffer{}); err != nil {
			return nil, nil, err
		}
		size := int64(len(t.Data))
		if total += size; size > limits.File {
			found.reportLimit(t.Path, "the file is larger than "+bytesOf(limits.File), "split it into several files")
		} else if total > limits.Total {
			found.reportLimit(t.Path, "the manifests are larger in total than "+bytesOf(limits.Total), "name fewer files at once")
		}
		if found.exceeded {
			return nil, found.findings, nil
		}
	}
	return found.texts, found.findings, nil
}
