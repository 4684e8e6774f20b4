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

	"trueup/internal/e2e/gitremote"
	"trueup/internal/e2e/scratch"
	"trueup/internal/kind"
)

func TestFileStore(t *testing.T) {
	contract(t, func() RecordStore { return inFolder(filepath.Join(t.TempDir(), "made", "as needed")) })
}

// childEnv makes the test binary a writer of the store that it names.
const childEnv = "TRUEUP_TEST_LEDGER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := asChild(inFolder(dir), os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := scratch.Run(m)
	gitremote.Remove()
	os.Exit(code)
}

const processes, recordsEach = 8, 100

// asChild runs in a process of its own: "race" tries to create each record once
// and says which it made; "life" makes a ledger and has one claimed and posted; "endless" moves
// records on until it is killed.
func asChild(s *logStore, mode string) error {
	ctx := context.Background()
	if mode == "life" {
		// Faults are counted for each thread.
		runtime.LockOSThread()
		put := func(c RecordChange) error {
			if err := c.encodeText(); err != nil {
				return err
			}
			batch := []*RecordChange{&c}
			finishChanges(batch, s.withState(ctx, func() error { return s.writeEntry(ctx, batch) }))
			return <-c.done
		}
		g := testGenesis()
		if err := errors.Join(s.blobs.Prepare(ctx), put(RecordChange{genesis: &g})); err != nil {
			return err
		}
		for i, to := range []life{{Claimed, time.Hour, never}, {Posted, time.Hour, 0}} {
			if err := put(RecordChange{ExpectSeq: i, Rec: testRecord("a", i+1).after(to)}); err != nil {
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
		have, err := s.Read(ctx, []kind.Key{rec.Key})
		if err != nil {
			return err
		}
		rec.Seq = have[rec.Key].Seq + 1
		if err := s.Put(ctx, rec.Seq-1, rec); err != nil {
			return err
		}
		fmt.Println(rec.Name, rec.Seq)
	}
}

func bigSpec() CanonicalJSON {
	var b strings.Builder
	b.WriteString(`["`)
	for i := range 4000 {
		fmt.Fprintf(&b, "/%x", i*i)
	}
	b.WriteString(`"]`)
	return CanonicalJSON(b.String())
}

func child(ctx context.Context, t *testing.T, dir, mode string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0], mode)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

func born(t *testing.T) (*logStore, string) {
	t.Helper()
	dir := t.TempDir()
	s := inFolder(dir)
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
	s.Invalidate()
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
		s.Invalidate()
		all := readAll(t, s)
		for key, seq := range last {
			if all[key].Seq < seq {
				t.Errorf("round %d: %s is at seq %d, and %d was written", round, key, all[key].Seq, seq)
			}
		}
	}
	// The next writer needs no help.
	mustPut(t, s, 0, testRecord("after", 1))
}

// TestFolderDamage is what stands where the log should be.
func TestFolderDamage(t *testing.T) {
	for name, harm := range map[string]func(dir, entry string) error{
		"a folder for an entry": func(_, entry string) error { return errors.Join(os.Remove(entry), os.Mkdir(entry, 0o777)) },
		"a link for an entry": func(_, entry string) error {
			return errors.Join(os.Rename(entry, entry+".away"), os.Symlink(entry+".away", entry))
		},
		"a file for the log": func(dir, _ string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, logDir)), os.WriteFile(filepath.Join(dir, logDir), []byte("x"), 0o600))
		},
		"an editor's copy": func(_, entry string) error { return os.WriteFile(entry+"~", nil, 0o600) },
	} {
		s, dir := born(t)
		mustPut(t, s, 0, testRecord("a", 1))
		mustPut(t, s, 0, testRecord("b", 1))
		must(t, harm(dir, s.blobs.Location(entryFile(2))))
		run := s.another()
		_, err := run.Read(t.Context(), []kind.Key{testRecord("a", 1).Key})
		if name == "an editor's copy" {
			must(t, err) // it is no newest entry
			continue
		}
		if errors.Is(err, ErrNoGenesis) || err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
		if err := run.Put(t.Context(), 0, testRecord("c", 1)); err == nil || errors.Is(err, ErrConflict) {
			t.Errorf("%s: Put gave %v", name, err)
		}
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}
