package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func TestFileStore(t *testing.T) {
	contract(t, func() Store { return fileStore{dir: filepath.Join(t.TempDir(), "made", "as needed")} })
}

// childEnv makes the test binary a writer of the store that it names.
const childEnv = "TRUEUP_TEST_LEDGER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := writer(fileStore{dir: dir}, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// git's settings on this machine are not the tests'.
	if err := errors.Join(os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull), os.Setenv("GIT_CONFIG_NOSYSTEM", "1")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const processes, recordsEach = 8, 100

// writer runs in a process of its own: "race" tries to create each record once
// and says which it made; "life" makes a ledger and has one claimed and posted; "endless" moves
// records on until it is killed.
func writer(s Store, mode string) error {
	ctx := context.Background()
	if mode == "life" {
		// Faults are counted for each thread.
		runtime.LockOSThread()
		if err := s.WriteGenesis(ctx, 0, testGenesis()); err != nil {
			return err
		}
		for i, to := range []life{{Claimed, time.Hour, never}, {Posted, time.Hour, 0}} {
			if err := s.Put(ctx, i, testRecord("a", i+1).after(to)); err != nil {
				return err
			}
			fmt.Println(i + 1)
		}
		return nil
	}
	if mode == "race" {
		for i := range recordsEach {
			err := s.Put(ctx, 0, testRecord(fmt.Sprint(i), 1))
			if err == nil {
				fmt.Println(i)
			} else if !errors.Is(err, ErrConflict) {
				return err
			}
		}
		return nil
	}
	spec := bigSpec()
	for i := 0; ; i++ {
		rec := testRecord(fmt.Sprint(i%7), 1)
		rec.Spec = spec
		have, err := s.Read(ctx, []Key{rec.key()})
		if err != nil {
			return err
		}
		rec.Seq = have[rec.key()].Seq + 1
		if err := s.Put(ctx, rec.Seq-1, rec); err != nil {
			return err
		}
		fmt.Println(rec.Name, rec.Seq)
	}
}

func bigSpec() JSON {
	var b strings.Builder
	b.WriteString(`["`)
	for i := range 4000 {
		fmt.Fprintf(&b, "/%x", i*i)
	}
	b.WriteString(`"]`)
	return JSON(b.String())
}

func child(ctx context.Context, t *testing.T, dir, mode string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0], mode)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

func born(t *testing.T) (fileStore, string) {
	t.Helper()
	dir := t.TempDir()
	s := fileStore{dir: dir}
	if err := s.WriteGenesis(t.Context(), 0, testGenesis()); err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func TestProcessesRaceWithOneWinnerEach(t *testing.T) {
	s, dir := born(t)
	var wg sync.WaitGroup
	outputs := make([]string, processes)
	for i := range processes {
		wg.Go(func() {
			out, err := child(t.Context(), t, dir, "race").Output()
			if err != nil {
				t.Error(err)
			}
			outputs[i] = string(out)
		})
	}
	wg.Wait()
	wins := map[string]int{}
	for _, made := range strings.Fields(strings.Join(outputs, " ")) {
		wins[made]++
	}
	for i := range recordsEach {
		if n := wins[fmt.Sprint(i)]; n != 1 {
			t.Errorf("record %d was created %d times", i, n)
		}
	}
	if all := readAll(t, s); len(all) != recordsEach {
		t.Errorf("%d records are there", len(all))
	}
}

func TestKilledWriterLeavesRecordsWhole(t *testing.T) {
	s, dir := born(t)
	last := map[string]int{}
	for round := range 7 {
		ctx, kill := context.WithCancel(t.Context())
		cmd := child(ctx, t, dir, "endless")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			var name string
			var seq int
			if _, err := fmt.Sscan(lines.Text(), &name, &seq); err != nil {
				t.Fatal(err)
			}
			// What a writer said is durable.
			last["Purge/"+name] = seq
			if n == round {
				kill()
			}
		}
		kill()
		if err := cmd.Wait(); err == nil {
			t.Fatal("the writer ended by itself")
		}
		all := readAll(t, s)
		for key, seq := range last {
			if all[key].Seq < seq {
				t.Errorf("round %d: %s is at seq %d, and %d was written", round, key, all[key].Seq, seq)
			}
		}
	}
	// The next writer needs no help.
	mustPut(t, s, 0, testRecord("after", 1))
	left, err := os.ReadDir(filepath.Join(dir, tempDir))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// place returns the file of a record.
func place(dir string, rec Record) string {
	return filepath.Join(dir, filepath.FromSlash(recordPath(rec.key())))
}

func TestDamageIsNamedAndNeverAbsence(t *testing.T) {
	rec := testRecord("a", 1)
	other := testRecord("b", 1)
	damage := map[string]func(t *testing.T, file string){
		"empty":     func(t *testing.T, file string) { write(t, file, "") },
		"truncated": func(t *testing.T, file string) { write(t, file, read(t, file)[:150]) },
		"no schema": func(t *testing.T, file string) { write(t, file, "{}") },
		"not utf-8": func(t *testing.T, file string) { write(t, file, "{\"a\":\"\xff\"}") },
		"newer": func(t *testing.T, file string) {
			write(t, file, strings.Replace(read(t, file), Schema, "trueup.ledger/v2", 1))
		},
		"unknown field": func(t *testing.T, file string) {
			write(t, file, strings.Replace(read(t, file), `"seq"`, `"later": 1, "seq"`, 1))
		},
		"of another": func(t *testing.T, file string) {
			write(t, file, strings.Replace(read(t, file), `"name": "a"`, `"name": "b"`, 1))
		},
		"directory": func(t *testing.T, file string) {
			remove(t, file)
			if err := os.Mkdir(file, 0o777); err != nil {
				t.Fatal(err)
			}
		},
		"link to another": func(t *testing.T, file string) {
			remove(t, file)
			if err := os.Symlink(filepath.Base(file)+".away", file); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			s, dir := born(t)
			mustPut(t, s, 0, rec)
			mustPut(t, s, 0, other)
			file := place(dir, rec)
			harm(t, file)
			_, err := s.Read(t.Context(), []Key{rec.key()})
			if !errors.Is(err, ErrDamaged) && name != "newer" || !strings.Contains(filepath.ToSlash(err.Error()), filepath.Base(file)) {
				t.Errorf("Read gave %v, want damage that names the file", err)
			}
			for seq := range 2 {
				if err := s.Put(t.Context(), seq, testRecord("a", seq+1)); err == nil {
					t.Errorf("Put over seq %d replaced it", seq)
				}
			}
			if name == "directory" {
				return
			}
			if err := s.All(t.Context(), func(Record) error { return nil }); err == nil {
				t.Error("All passed over it")
			}
			if name == "newer" {
				wantErr(t, err, ErrNewer)
			}
		})
	}
}

func TestGenesisDamage(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "cut": `{"schema":"trueup.ledger/v1","ledgerId":`, "newer": `{"schema":"trueup.ledger/v9"}`,
		"no id":     `{"schema":"trueup.ledger/v1","seq":1,"workspace":"w","createdAt":"2026-11-21T09:00:00Z","origins":{}}`,
		"workspace": `{"schema":"trueup.ledger/v1","seq":1,"ledgerId":"x","workspace":"../w","createdAt":"2026-11-21T09:00:00Z","origins":{}}`,
		"seq":       `{"schema":"trueup.ledger/v1","seq":0,"ledgerId":"x","workspace":"w","createdAt":"2026-11-21T09:00:00Z","origins":{}}`,
	} {
		s, dir := born(t)
		write(t, filepath.Join(dir, genesisFile), content)
		want := ErrDamaged
		if name == "newer" {
			want = ErrNewer
		}
		if _, err := s.ReadGenesis(t.Context()); !errors.Is(err, want) || !strings.Contains(err.Error(), filepath.Join(dir, genesisFile)) {
			t.Errorf("%s: ReadGenesis gave %v", name, err)
		}
		if err := s.WriteGenesis(t.Context(), 0, testGenesis()); err == nil {
			t.Errorf("%s: WriteGenesis replaced it", name)
		}
	}
}

func TestIrregularPlaces(t *testing.T) {
	t.Run("lock is a link", func(t *testing.T) {
		s, dir := born(t)
		remove(t, filepath.Join(dir, lockFile))
		target := filepath.Join(t.TempDir(), "elsewhere")
		if err := os.Symlink(target, filepath.Join(dir, lockFile)); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), 0, testRecord("a", 1)); err == nil {
			t.Error("Put locked what a link points to")
		}
		if _, err := os.Stat(target); err == nil {
			t.Error("a file was made outside the ledger")
		}
	})
	t.Run("lock is never let go", func(t *testing.T) {
		s, dir := born(t)
		held := flock.New(filepath.Join(dir, lockFile))
		if ok, err := held.TryLock(); err != nil || !ok {
			t.Fatal(ok, err)
		}
		defer func() { _ = held.Close() }()
		s.wait = time.Millisecond
		if err := s.Put(t.Context(), 0, testRecord("a", 1)); err == nil || !strings.Contains(err.Error(), "another process has held it") {
			t.Errorf("Put gave %v", err)
		}
	})
	t.Run("records lead out", func(t *testing.T) {
		s, dir := born(t)
		out := t.TempDir()
		remove(t, filepath.Join(dir, recordsDir))
		if err := os.Symlink(out, filepath.Join(dir, recordsDir)); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), 0, testRecord("a", 1)); err == nil {
			t.Error("Put wrote outside the ledger")
		}
		if left, _ := os.ReadDir(out); len(left) != 0 {
			t.Errorf("outside the ledger: %v", left)
		}
	})
	t.Run("records are gone", func(t *testing.T) {
		s, dir := born(t)
		rec := testRecord("a", 1)
		mustPut(t, s, 0, rec)
		if err := os.RemoveAll(filepath.Join(dir, recordsDir)); err != nil {
			t.Fatal(err)
		}
		check := func() {
			_, err := s.Read(t.Context(), []Key{rec.key()})
			wantErr(t, err, ErrDamaged)
			_, err = s.Recent(t.Context(), testWorkspace, testLately)
			wantErr(t, err, ErrDamaged)
			wantErr(t, s.Put(t.Context(), 0, rec), ErrDamaged)
			wantErr(t, s.All(t.Context(), func(Record) error { return nil }), ErrDamaged)
		}
		check()
		write(t, filepath.Join(dir, recordsDir), "a file where a folder should be")
		check()
	})
	t.Run("a version control of the project does not turn it back", func(t *testing.T) {
		_, dir := born(t)
		if got := read(t, filepath.Join(dir, ignoreFile)); got != "*\n" {
			t.Errorf("%s holds %q", ignoreFile, got)
		}
	})
	t.Run("the store is a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, "x")
		s := fileStore{dir: file}
		if _, err := s.ReadGenesis(t.Context()); err == nil || errors.Is(err, ErrNoGenesis) {
			t.Errorf("ReadGenesis gave %v", err)
		}
		if err := s.WriteGenesis(t.Context(), 0, testGenesis()); err == nil {
			t.Error("WriteGenesis went on")
		}
		wantErr(t, fileStore{dir: filepath.Join(t.TempDir(), "none")}.WriteGenesis(t.Context(), 1,
			Genesis{Schema: Schema, Seq: 2, LedgerID: "x", Workspace: "w"}), os.ErrNotExist)
	})
	t.Run("foreign files are passed over", func(t *testing.T) {
		s, dir := born(t)
		mustPut(t, s, 0, testRecord("a", 1))
		write(t, place(dir, testRecord("a", 1))+"~", "an editor's copy")
		if all := readAll(t, s); len(all) != 1 {
			t.Errorf("records are %v", all)
		}
	})
	t.Run("what dead writers left is cleared", func(t *testing.T) {
		s, dir := born(t)
		write(t, filepath.Join(dir, tempDir, "dead"), `{"half":`)
		mustPut(t, s, 0, testRecord("a", 1))
		if left, err := os.ReadDir(filepath.Join(dir, tempDir)); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		remove(t, filepath.Join(dir, tempDir))
		write(t, filepath.Join(dir, tempDir), "in the way")
		if err := s.Put(t.Context(), 1, testRecord("a", 2)); err == nil {
			t.Error("Put did without temporary files")
		}
	})
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
}
