package generate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/yamledit"
)

// replacing returns a run that found other live values for n objects of one file.
func replacing(t *testing.T, n int) (r *pullRun, name string) {
	t.Helper()
	var text strings.Builder
	for at := range n {
		fmt.Fprintf(&text, "---\n# Of %[1]d.\napiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: s%[1]d}\nspec: {hostname: 's%[1]d.example.com', tls: {forced: \"true\"}} # mine\n", at)
	}
	r = &pullRun{Options: config.Options{Env: config.Env{Cwd: t.TempDir()}}, opts: PullOptions{Replace: true}}
	name = filepath.Join(r.Dir(), "all.yaml")
	if err := os.WriteFile(name, []byte(text.String()), 0o640); err != nil {
		t.Fatal(err)
	}
	set, findings, err := manifest.Load(t.Context(), []manifest.PathSource{{Data: []byte(text.String()), Display: "all.yaml"}}, manifest.LoadSettings{})
	if err != nil || findings.HasErrors() {
		t.Fatal(findings, err)
	}
	for _, o := range set.Objects {
		tree := o.Tree()
		tree["tls"] = map[string]any{"forced": "false"}
		spec := canon.Encode(tree)
		r.Items = append(r.Items, &PulledObject{
			Kind: o.Kind.Name, Name: o.Name, File: "all.yaml", Verdict: Differs, manifest: o,
			live: kind.LiveObject{Kind: o.Kind, Name: o.Name, Spec: spec}, draft: yamledit.Draft{Kind: o.Kind, Name: o.Name, Spec: spec},
		})
	}
	return r, name
}

func (r *pullRun) draftAll(t *testing.T) {
	t.Helper()
	for _, i := range r.Items {
		if err := r.draftReplacement(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplaceLosesNothingOfOthers: what somebody writes to a file while pull runs stays, and pull says so.
func TestReplaceLosesNothingOfOthers(t *testing.T) {
	r, name := replacing(t, 2)
	r.draftAll(t)
	was, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	note := strings.Replace(string(was), "# Of 0.", "# A note.", 1)
	if err := os.WriteFile(name, []byte(note), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := r.writeManifests(t.Context()); err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile(name)
	if err != nil || string(is) != note {
		t.Errorf("the file became\n%s", is)
	}
	for _, i := range r.Items {
		if i.Verdict != Refused || !strings.Contains(i.Reason, "changed while") {
			t.Errorf("%s: %s, %s", i.Name, i.Verdict, i.Reason)
		}
	}
}

// TestReplaceOfManyObjectsOfOneFile: a file is written once, whatever the number of objects.
func TestReplaceOfManyObjectsOfOneFile(t *testing.T) {
	n := 800
	if testing.Short() {
		n = 50
	}
	r, name := replacing(t, n)
	begin := time.Now()
	r.draftAll(t)
	if err := r.writeManifests(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects in %v", n, time.Since(begin))
	is, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{`forced: "false"`: n, `forced: "true"`: 0, "# Of ": n, "# mine": n, "'s": n} {
		if got := strings.Count(string(is), word); got != want {
			t.Errorf("%d times %q, not %d", got, word, want)
		}
	}
	if r.CountVerdicts(Replaced) != n {
		t.Errorf("%d of %d are replaced", r.CountVerdicts(Replaced), n)
	}
}
