package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/internal/diag"
)

// TestPullAsJSON: machines read the form that is published, before and after.
func TestPullAsJSON(t *testing.T) {
	dir := t.TempDir()
	schema := publishedSchema(t, "pull.schema.json")
	for _, args := range [][]string{{"pull", "--diff", "-o", "json"}, {"pull", "-o", "json"}, {"pull", "-o", "json"}} {
		_, text, _ := ran(t, dir, append(args, "--sandbox")...)
		doc := decoded(t, text)
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%v: %#v", args, err)
		}
		objects, _ := doc["objects"].([]any)
		if len(objects) == 0 {
			t.Errorf("%v: %s", args, text)
		}
	}
}

// TestPullOfTheCorpus: after pull the manifests are sound, a plan is empty and
// apply sends nothing, whatever a server adds, retypes, shuffles and pages.
func TestPullOfTheCorpus(t *testing.T) {
	sets := corpusCDNs(t)
	for _, flags := range [][]string{nil, {"--all-fields"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			s := newStage(t, benign()["all"]...)
			s.seedLive(sets)
			said := s.must(diag.ExitOK, append([]string{"pull", "-o", "json"}, flags...)...)
			if got := strings.Count(said, `"verdict": "written"`); got != len(sets) {
				t.Fatalf("%d of %d are written: %s", got, len(sets), said)
			}
			if got := strings.Count(said, `"adopted": true`); got != len(sets) {
				t.Errorf("%d of %d are adopted", got, len(sets))
			}
			// Some paths of the corpus are odd, and stay so.
			if got, want := s.warnings(), s.warnings(filepath.Join(os.Getenv("TRUEUP_CORPUS"), "cdns")); !slices.Equal(got, want) {
				t.Errorf("validate says %q, and of the corpus itself %q", got, want)
			}
			s.must(diag.ExitOK, "fmt", "--check")
			s.isEmpty()
			if again := s.must(diag.ExitOK, "pull", "--diff"); !strings.Contains(again, fmt.Sprintf("Pull: %d in git.", len(sets))) {
				t.Errorf("another pull says %s", again)
			}
			s.isTakenOver(sets)
		})
	}
}

// seedLive puts CDNs on the platform as somebody in the console would.
func (s *stage) seedLive(sets map[string]map[string]any) {
	s.t.Helper()
	for _, doc := range sets {
		if err := s.server.Put(copyTree(doc)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// warnings are what validate says of manifests in which there is no error.
func (s *stage) warnings(paths ...string) []string {
	s.t.Helper()
	var doc struct {
		Findings []struct{ Rule, Message string }
	}
	out := s.must(diag.ExitOK, append([]string{"validate", "-o", "json"}, paths...)...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, f := range doc.Findings {
		all = append(all, f.Rule+": "+f.Message)
	}
	slices.Sort(all)
	return all
}

// TestPullOfAListThatIsCutShort: it is not all that is live, and the code says so;
// who names an object has it.
func TestPullOfAListThatIsCutShort(t *testing.T) {
	s := newStage(t)
	item := `{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"shop"},"spec":{"hostname":"shop.example.com"}}`
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/shop") {
			_, _ = io.WriteString(w, item)
			return
		}
		_, _ = io.WriteString(w, `{"metadata":{"remainingItemCount":3},"items":[`+item+`]}`)
	}))
	defer web.Close()
	s.vars["TRUEUP_DELIVERY_URL"] = web.URL
	s.without()
	if _, said, _ := s.run("pull", "cdns", "--diff"); !strings.Contains(said, "Pull: 1 not in git.") {
		t.Errorf("pull says %s", said)
	}
	s.must(diag.ExitPartial, "pull", "cdn/sh*", "--diff")
	s.must(diag.ExitChanges, "pull", "cdn/shop", "--diff")
}

// isTakenOver asserts that git owns the lists of what was pulled: an element that
// git drops goes without another word.
func (s *stage) isTakenOver(sets map[string]map[string]any) {
	s.t.Helper()
	name := slices.Sorted(maps.Keys(sets))[0]
	doc := s.object(sets[name])
	spec := doc["spec"].(map[string]any)
	spec["locations"] = append(spec["locations"].([]any), map[string]any{"path": "/of-somebody/*"})
	if err := s.server.Put(doc); err != nil {
		s.t.Fatal(err)
	}
	object := doc["metadata"].(map[string]any)["name"].(string)
	s.must(diag.ExitOK, "apply", "--auto-approve", "--target", "CDN/"+object)
	if sent := s.writes(); len(sent) != 1 || strings.Contains(sent[0].Body, "of-somebody") {
		s.t.Errorf("the list was not taken over: %v", sent)
	}
}
