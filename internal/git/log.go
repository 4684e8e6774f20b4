package git

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Entry is a commit of a log.
type Entry struct {
	ID      string
	Author  string
	Subject string
	Time    time.Time // Time is when it was committed.
	// Parents are the newest commits of the log before this one, even if Log left them out.
	Parents []string
}

// Log returns at most so many commits of HEAD that changed one of the names, each before its parents. It includes
// a merge only if it differs from a parent that no other one has. The names start from the repository's folder.
func (r Repository) Log(ctx context.Context, names []string, most int) ([]Entry, error) {
	args := []string{
		"rev-list", "--date-order", "--simplify-merges", "--parents", "--encoding=UTF-8", "--format=tformat:%ct%n%an%n%s",
		"--max-count=" + strconv.Itoa(most), "HEAD", "--",
	}
	for _, name := range names {
		args = append(args, ":(literal)"+name)
	}
	out, err := r.runGit(ctx, args...)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	var entries []Entry
	for ; len(lines) >= 4; lines = lines[4:] {
		ids := strings.Fields(strings.TrimPrefix(lines[0], "commit "))
		seconds, err := strconv.ParseInt(lines[1], 10, 64)
		if err != nil || len(ids) == 0 {
			return nil, fmt.Errorf("git rev-list: %q is not a commit", lines[0])
		}
		entries = append(entries, Entry{
			ID: ids[0], Parents: ids[1:], Author: lines[2], Subject: lines[3], Time: time.Unix(seconds, 0).UTC(),
		})
	}
	return entries, nil
}

// Delta is a file that a commit changed. Was and Is are the ids of its contents, empty where it is not a regular file.
type Delta struct{ Name, Was, Is string }

// Deltas returns what commits changed since each of their parents: below the names, or anywhere. Names of the result
// start from the repository's top.
func (r Repository) Deltas(ctx context.Context, commits, names []string) (map[string][]Delta, error) {
	args := []string{"diff-tree", "--stdin", "-r", "-m", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-relative", "--ignore-submodules=none", "--"}
	for _, name := range names {
		args = append(args, ":(literal)"+name)
	}
	in := strings.NewReader(strings.Join(commits, "\n") + "\n")
	out, err := gitCommand{dir: r.dir, offline: r.offline, in: in, args: args}.runForText(ctx)
	if err != nil {
		return nil, err
	}
	deltas, commit := map[string][]Delta{}, ""
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(fields); i++ {
		change, ok := strings.CutPrefix(fields[i], ":")
		if !ok {
			commit = fields[i]
			continue
		}
		// Like "100644 100644 <id> <id> M", and then the name.
		entry := strings.Fields(change)
		if i++; len(entry) != 5 || i == len(fields) {
			return nil, fmt.Errorf("git diff-tree: %q is not a change", change)
		}
		d := Delta{Name: fields[i]}
		if kindOf(entry[0]) == Regular {
			d.Was = entry[2]
		}
		if kindOf(entry[1]) == Regular {
			d.Is = entry[3]
		}
		deltas[commit] = append(deltas[commit], d)
	}
	return deltas, nil
}

// Contents returns the ids of the contents of files, which are named like COMMIT:./FILE, "" where there is no file.
func (r Repository) Contents(ctx context.Context, files []string) ([]string, error) {
	found, err := r.readSizes(ctx, files)
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.id
	}
	return ids, err
}

// Blobs returns contents by their ids, as files that are named after the ids, with an extension. It skips those that
// are too large.
func (r Repository) Blobs(ctx context.Context, ids []string, extension string) (fs.FS, error) {
	files, err := r.readSizes(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].name = files[i].id + extension
	}
	if files, err = chooseReadable(files, func(_, id string) bool { return id != "" }); err != nil {
		return nil, err
	}
	contents, err := r.readContents(ctx, files)
	if err != nil {
		return nil, err
	}
	return newTree(files, contents)
}

// readSizes returns the ids and sizes of objects, without those that are not there or no files.
func (r Repository) readSizes(ctx context.Context, objects []string) ([]treeFile, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	in := strings.NewReader(strings.Join(objects, "\n") + "\n")
	out, err := gitCommand{dir: r.dir, offline: r.offline, in: in, args: []string{"cat-file", "--batch-check"}}.runForText(ctx)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(objects) {
		return nil, fmt.Errorf("git cat-file: %d answers to %d questions", len(lines), len(objects))
	}
	files := make([]treeFile, len(lines))
	for i, line := range lines {
		// Like "<id> blob 12", or what is missing.
		fields := strings.Fields(line)
		if n := len(fields); n == 3 && fields[1] == "blob" {
			if files[i].size, err = strconv.Atoi(fields[2]); err != nil {
				return nil, fmt.Errorf("git cat-file: %q is not an answer", line)
			}
			files[i].mode, files[i].id = "100644", fields[0]
		}
	}
	return files, nil
}
