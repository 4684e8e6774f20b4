package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/api"
)

// TestJSONTestSuite: no body that the suite calls invalid is taken for an
// answer of any operation, nor for the platform's word that an object is
// absent; one that it calls valid is read.
func TestJSONTestSuite(t *testing.T) {
	corpus := os.Getenv("TRUEUP_CORPUS")
	if corpus == "" {
		t.Skip("TRUEUP_CORPUS names no folder: the JSON test suite is not read")
	}
	files, err := filepath.Glob(filepath.Join(corpus, "json-test-suite", "test_parsing", "*.json"))
	if err != nil || len(files) < 300 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	s := &suite{T: t}
	cfg := config(t, "http://127.0.0.1:1")
	cfg.Retry.Tries = 1
	cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		return respond(r, s.status, nil, s.body), nil
	})
	s.config = cfg
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.try(filepath.Base(file), string(content))
	}
}

// suite is the answer that each request gets.
type suite struct {
	*testing.T
	config api.ClientConfig
	status int
	body   string
}

// try answers every operation with a value of the suite, as it is and inside
// the object that was asked for, and refuses every operation with it.
func (s *suite) try(file, value string) {
	// Of two values of one key it would not be known which one is meant.
	twice := strings.HasPrefix(file, "y_object_duplicated_key")
	wrong, right := file[0] == 'n' || twice, file[0] == 'y' && !twice
	empty := strings.TrimSpace(value) == ""
	for asked := range documented {
		verb, name, _ := strings.Cut(asked, " ")
		inside := `{"kind":"` + name + `","metadata":{"name":"a.b c"},"spec":{"x":` + value + `}}`
		if verb == "list" {
			inside = `{"items":[` + inside + `]}`
		}
		if err := s.operate(asked, 200, inside); wrong && err == nil || right && err != nil {
			s.Errorf("%s inside the answer to %s: %v", file, asked, err)
		}
		// To a write, no body is a body too.
		read := verb == "list" || verb == "get"
		if err := s.operate(asked, 200, value); err == nil && file[0] == 'n' && (read || !empty) {
			s.Errorf("%s is an answer to %s", file, asked)
		}
		for _, status := range []int{400, 404, 409, 429, 500} {
			if err := s.operate(asked, status, value); err == nil || asError(s.T, err).NotFound() && wrong && !empty {
				s.Errorf("%s, %s, %d: %v", file, asked, status, err)
			}
		}
	}
}

// operate does what is asked, once.
func (s *suite) operate(asked string, status int, body string) error {
	verb, name, _ := strings.Cut(asked, " ")
	s.status, s.body = status, body
	return operate(s.Context(), api.NewClient(s.config), verb, named(s.T, name))
}
