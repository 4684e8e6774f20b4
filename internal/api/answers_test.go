package api_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"trueup/internal/api"
	"trueup/internal/kind"
)

var update = flag.Bool("update", false, "write docs/reference/answers.md")

// TestAnswersPage holds the page to the table.
func TestAnswersPage(t *testing.T) {
	const file, begin, end = "../../docs/reference/answers.md", "-update -->\n", "<!-- end of answers"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the page has no place for the table")
	}
	want := head + begin + api.AnswersPage() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("docs/reference/answers.md is not as the table: run go test ./internal/api -run TestAnswersPage -update")
	}
}

// TestAWholeListProvesThatTheAddressIsRight: a 404 for one object is then its absence.
func TestAWholeListProvesThatTheAddressIsRight(t *testing.T) {
	list := `{"items":[]}`
	for name, whole := range map[string]bool{"after a list": true, "before one": false} {
		listed := new(api.ListedKinds)
		with := func(cfg *api.ClientConfig) { cfg.Listed = listed }
		if whole {
			if _, err := serve(t, say(200, jsonType, list), with).List(t.Context(), named(t, "CDN"), func(kind.LiveObject) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		gone := serve(t, say(404, "text/html", "<html>nothing here</html>"), with)
		for _, k := range []string{"CDN", "VolumeSnapshot"} {
			_, err := gone.Get(t.Context(), named(t, k), "shop")
			if e := asError(t, err); e.NotFound() != (whole && k == "CDN") {
				t.Errorf("%s %s: %v", k, name, err)
			}
		}
	}
}

func TestTheFieldThatIsWrong(t *testing.T) {
	for body, want := range map[string]string{
		`{"message":"no","details":{"causes":[{"field":"spec.locations[1].cache.level","message":"bad"}]}}`: "spec.locations[1].cache.level",
		`{"message":"CDN \"shop\" is invalid: spec.tls.forced: must be text"}`:                              "spec.tls.forced",
		`{"message":"no"}`: "",
	} {
		_, err := serve(t, say(422, jsonType, body)).Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`))
		if got := asError(t, err).Field(); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}
