package generate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/config"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

const (
	rel42 = "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-42}\nspec: {hostname: shop.example.com, paths: [/a]}\n"
	rel43 = "---\napiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-43}\nspec: {hostname: shop.example.com, paths: [/b]}\n"
	disk  = "---\napiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: db, namespace: acme}\nspec: {source: {persistentVolumeClaimName: db}, volumeSnapshotClassName: general-purpose}\n"
)

func loaded(t *testing.T, text string) config.LoadedProject {
	t.Helper()
	l, err := config.Project{}.LoadManifests(t.Context(), []manifest.PathSource{{Data: []byte(text), Display: "all.yaml"}}, manifest.LoadSettings{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// platformIn is a platform whose ledger is a folder below dir, and may not exist yet.
func platformIn(dir string) *config.Platform {
	return &config.Platform{Ledger: ledger.Config{
		Store: "file:ledger", Dir: dir, Workspace: kind.Workspace{Name: "acme", UUID: "u"}, Now: time.Now, Claim: ledger.Claim{Actor: "mina"},
		Origins: map[kind.Area]string{kind.Delivery: "https://d.example.net"},
	}}
}

// options open the platform, whatever is asked for.
func options(w *config.Platform, dir string) config.Options {
	return config.Options{Env: config.Env{Cwd: dir}, Open: func(context.Context, config.Project, *manifest.Set) (*config.Platform, error) { return w, nil }}
}

func recorded(t *testing.T, w *config.Platform) string {
	t.Helper()
	l, err := ledger.Open(t.Context(), w.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	records, err := l.ListRecords(t.Context())
	text := make([]string, len(records))
	for i, rec := range records {
		text[i] = rec.String() + " " + rec.Status()
		if rec.Outcome == nil || rec.Outcome.By != "mina" {
			t.Errorf("%s is recorded by %+v", rec, rec.Outcome)
		}
	}
	if err != nil {
		t.Error(err)
	}
	return strings.Join(text, ", ")
}

// TestNewLedgerRecordsWhatWasSent: of the requests in git, those that the answer names. A snapshot is none of them: the
// platform has it, or does not.
func TestNewLedgerRecordsWhatWasSent(t *testing.T) {
	for _, c := range []struct {
		sent, answer, want, err string
	}{
		{"", "none", "", ""},
		{"", "all", "Purge/rel-42 adopted, Purge/rel-43 adopted", ""},
		{"", "*-42", "Purge/rel-42 adopted", ""},
		{"purge/*3", "", "Purge/rel-43 adopted", ""},
		{"none", "", "", ""},
		{"db", "", "", "matches no purge"},
		{"a/b/c", "", "", "write all, none or a pattern"},
		{"", "!", "", "nobody"},
	} {
		w := platformIn(t.TempDir())
		n := LedgerSetup{
			Platform: w, Sent: c.sent, Load: func(context.Context) (config.LoadedProject, error) { return loaded(t, rel42+rel43+disk), nil },
			AskSent: func(once []*manifest.Object) (string, error) {
				if len(once) != 2 || c.answer == "" {
					t.Errorf("--adopt %q: asked about %v", c.sent, kind.KeysOf(once))
				}
				if c.answer == "!" {
					return "", errors.New("nobody answers")
				}
				return c.answer, nil
			},
		}
		adopted, err := n.CreateLedger(t.Context())
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || w.Ledger.ID != "" {
				t.Errorf("--adopt %q%q: %v, and ledger %q", c.sent, c.answer, err, w.Ledger.ID)
			}
			continue
		}
		if err != nil || w.Ledger.ID == "" {
			t.Fatalf("--adopt %q%q: %v", c.sent, c.answer, err)
		}
		if got := recorded(t, w); got != c.want || adopted != strings.Count(c.want, "adopted") {
			t.Errorf("--adopt %q%q: %d, %s", c.sent, c.answer, adopted, got)
		}
		w.Close()
	}
}

// TestNewLedgerAsksAgain until trueup.yaml has the id, but only about requests that the ledger does not know.
func TestNewLedgerAsksAgain(t *testing.T) {
	dir, asked := t.TempDir(), ""
	text, problem := "", fs.ErrNotExist
	create := func(id string) error {
		w := platformIn(dir)
		defer w.Close()
		w.Ledger.ID = id
		_, err := LedgerSetup{
			Platform: w, Load: func(context.Context) (config.LoadedProject, error) { return loaded(t, text), problem },
			AskSent: func(once []*manifest.Object) (string, error) {
				asked += fmt.Sprint(kind.KeysOf(once))
				return "rel-42", nil
			},
		}.CreateLedger(t.Context())
		return err
	}
	if err := create(""); err != nil || asked != "" {
		t.Errorf("without manifests: %v, asked %s", err, asked)
	}
	text, problem = rel42, nil
	if err := create(""); err != nil || asked != "[Purge/rel-42]" {
		t.Errorf("%v, asked %s", err, asked)
	}
	if err := create(""); err != nil || asked != "[Purge/rel-42]" {
		t.Errorf("again: %v, asked %s", err, asked)
	}
	w := platformIn(dir)
	again := LedgerSetup{Platform: w, Sent: "all", Load: func(context.Context) (config.LoadedProject, error) { return loaded(t, rel42+rel43), nil }}
	if adopted, err := again.CreateLedger(t.Context()); err != nil || adopted != 1 || recorded(t, w) != "Purge/rel-42 adopted, Purge/rel-43 adopted" {
		t.Errorf("all of which one is new: %d, %v", adopted, err)
	}
	w.Close()
	text, asked = strings.Replace(rel42, "spec:", "spec: 7 #", 1), ""
	if err := create(""); err == nil || !strings.Contains(err.Error(), "can't tell which requests") {
		t.Errorf("with invalid manifests: %v", err)
	}
	if err := create("another"); err == nil || asked != "" {
		t.Errorf("with the id of another ledger: %v, asked %s", err, asked)
	}
}

func TestReadyForTheAreasOfManifests(t *testing.T) {
	for text, ready := range map[string]bool{"": true, rel42: true, disk: false} {
		w := platformIn(t.TempDir())
		n := LedgerSetup{Platform: w, Sent: "none", Load: func(context.Context) (config.LoadedProject, error) { return loaded(t, text), nil }}
		if _, err := n.CreateLedger(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := n.CheckReady(t.Context()); (err == nil) != ready || err != nil && !strings.Contains(err.Error(), "set TRUEUP_COMPUTE_URL") {
			t.Errorf("%q: %v", text, err)
		}
		w.Close()
	}
}

// TestForget asks before it records anything, records what it can, and refuses what is or may be in git.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	w := platformIn(dir)
	defer w.Close()
	n := LedgerSetup{Platform: w, Sent: "none"}
	if _, err := n.CreateLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := func(name string) kind.Key { return kind.Key{Kind: "CDN", Name: name} }
	l, err := w.OpenLedger(t.Context())
	for _, name := range []string{"a", "b"} {
		err = errors.Join(err, l.Adopt(t.Context(), key(name), ledger.Adoption{Spec: []byte("{}")}))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		l       config.LoadedProject
		keys    []kind.Key
		answer  error
		want    []kind.Key
		err     string
		unasked bool
	}{
		"in git":      {loaded(t, rel42), []kind.Key{key("a"), {Kind: "Purge", Name: "rel-42"}}, nil, nil, "is in git, in all.yaml", true},
		"perhaps":     {config.LoadedProject{Project: config.Project{Dir: "elsewhere"}, Set: &manifest.Set{}}, []kind.Key{key("a")}, nil, nil, "only part of the project", true},
		"no":          {loaded(t, rel42), []kind.Key{key("a")}, errors.New("no"), nil, "no", false},
		"yes, partly": {loaded(t, rel42), []kind.Key{key("a"), key("c"), key("b")}, nil, []kind.Key{key("a"), key("b")}, "CDN/c: the ledger has no record", false},
	} {
		asked := false
		done, _, err := ForgetObjects(t.Context(), options(w, dir), c.l, c.keys, "moved", func() error {
			asked = true
			return c.answer
		})
		if !slices.Equal(done, c.want) || err == nil || !strings.Contains(err.Error(), c.err) || asked == c.unasked {
			t.Errorf("%s: %v, %v; asked %t", name, done, err, asked)
		}
	}
}
