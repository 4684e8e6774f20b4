package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFileWithoutIndex: an index that is gone is made again of the records, and
// until then nothing is forgotten.
func TestFileWithoutIndex(t *testing.T) {
	const long = 100 * time.Hour
	s, dir := born(t)
	must(t, live(t.Context(), s, testRecord("a", 1), life{Claimed, long, never}))
	must(t, live(t.Context(), s, testRecord("b", 1), life{Claimed, time.Hour, never}, life{Posted, time.Hour, 0}))
	must(t, live(t.Context(), s, testRecord("old", 1), life{Claimed, long, never}, life{Posted, long, long}))
	elsewhere := testRecord("a", 1)
	elsewhere.Workspace = "other"
	must(t, live(t.Context(), s, elsewhere, life{Claimed, 0, never}))
	check := func(want ...string) {
		t.Helper()
		keys, err := s.Recent(t.Context(), testWorkspace, testLately)
		must(t, err)
		var names []string
		for _, key := range keys {
			names = append(names, key.Name)
		}
		slices.Sort(names)
		if !slices.Equal(names, want) {
			t.Errorf("recent are %v, want %v", names, want)
		}
	}
	check("a", "b")
	index := filepath.Join(dir, indexDir)
	remove(t, index)
	check("a", "b")
	// What a process left that died over it is no index.
	must(t, os.MkdirAll(filepath.Join(dir, tempDir, indexDir, "half"), 0o777))
	must(t, live(t.Context(), s, testRecord("c", 1), life{Claimed, 0, never}))
	check("a", "b", "c")
	if _, err := os.Stat(index); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, tempDir)); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	write(t, filepath.Join(index, testWorkspace, openDir, "note.txt"), "of a person")
	check("a", "b", "c")
}

// TestFileIndexDamage is what stands where an entry should be: the record is not
// written, and it is not read as nothing.
func TestFileIndexDamage(t *testing.T) {
	claimed := testRecord("a", 1).after(life{Claimed, 0, never})
	for _, entry := range claimed.entries() {
		s, dir := born(t)
		file := filepath.Join(dir, filepath.FromSlash(entry))
		must(t, os.MkdirAll(file, 0o777))
		err := s.Put(t.Context(), 0, claimed)
		wantErr(t, err, ErrDamaged)
		if !strings.Contains(filepath.ToSlash(err.Error()), entry) {
			t.Errorf("the error does not name %s: %v", entry, err)
		}
		if all := readAll(t, s); len(all) != 0 {
			t.Errorf("written without its entry: %v", all)
		}
	}
	s, dir := born(t)
	write(t, filepath.Join(dir, indexDir, testWorkspace), "a file where a folder should be")
	wantErr(t, s.Put(t.Context(), 0, claimed), ErrDamaged)
	_, err := s.Recent(t.Context(), testWorkspace, testLately)
	wantErr(t, err, ErrDamaged)
	remove(t, filepath.Join(dir, indexDir))
	write(t, filepath.Join(dir, indexDir), "a file where a folder should be")
	wantErr(t, s.Put(t.Context(), 0, claimed), ErrDamaged)
	_, err = s.Recent(t.Context(), testWorkspace, testLately)
	wantErr(t, err, ErrDamaged)
}

// TestFileMarkers: what ends removes the markers of all who had it open, and no
// other's.
func TestFileMarkers(t *testing.T) {
	s, dir := born(t)
	must(t, live(t.Context(), s, testRecord("a-1", 1), life{Claimed, 0, never}))
	must(t, live(t.Context(), s, testRecord("a", 1), life{Claimed, 0, never}, life{Claimed, 0, never}, life{Posted, 0, 0}))
	left, err := os.ReadDir(filepath.Join(dir, indexDir, testWorkspace, openDir))
	if err != nil || len(left) != 1 || left[0].Name() != "Purge=a-1=1" {
		t.Errorf("markers are %v, %v", left, err)
	}
}

// TestWhatIsNoRecordSaysWhere: a record is read from its folder, and an error still
// names its place in the ledger.
func TestWhatIsNoRecordSaysWhere(t *testing.T) {
	for name, put := range map[string]func(file string){
		"a folder for a record": func(file string) { _ = os.Mkdir(file, 0o777) },
		"a file for a folder":   func(file string) { _ = os.Remove(filepath.Dir(file)); write(t, filepath.Dir(file), "x") },
	} {
		s, dir := born(t)
		rec := testRecord("a", 1)
		mustPut(t, s, 0, rec)
		place := recordPath(rec.key())
		file := filepath.Join(dir, filepath.FromSlash(place))
		remove(t, file)
		put(file)
		_, err := s.Read(t.Context(), []Key{rec.key()})
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
