package blob

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"trueup/internal/e2e/servers"
)

func TestGCS(t *testing.T) {
	contract(t, func() Store {
		s, err := OpenGCS(servers.Store(t, "gs"), true)
		must(t, err)
		return s
	})
}

// gcsFake answers as the JSON API does: each answer is a status and a body, the last one
// for all further requests.
func gcsFake(t *testing.T, answers ...string) (*RemoteStore, *atomic.Int32) {
	var n atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := min(int(n.Add(1)), len(answers)) - 1
		status, body, _ := strings.Cut(answers[i], " ")
		if r.Method == http.MethodPost && (r.URL.Query().Get("ifGenerationMatch") != "0" || r.URL.Query().Get("uploadType") != "media") {
			t.Errorf("a creation without condition, or in several parts: %s", r.URL)
		}
		w.WriteHeader(map[string]int{"200": 200, "403": 403, "404": 404, "412": 412, "503": 503}[status])
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	s, err := OpenGCS("gs://ledgers/x?endpoint="+server.URL, true)
	must(t, err)
	s.pause = 1
	return s, &n
}

// TestGCSAnswers is what a creation comes to, whatever is answered.
func TestGCSAnswers(t *testing.T) {
	const (
		none  = `200 {"kind":"storage#objects"}`
		has   = `200 {"kind":"storage#objects","items":[{"name":"x/log/1"}]}`
		sum   = `200 {"md5Hash":"mgNkuembtIDdJeHwKEyFVQ=="}` // of "content"
		no    = `404 {"error":{"errors":[{"reason":"notFound"}],"message":"no"}}`
		lost  = `412 {"error":{"errors":[{"reason":"conditionNotMet"}],"message":"it exists"}}`
		right = `403 {"error":{"errors":[{"reason":"forbidden"}],"message":"no right"}}`
	)
	for name, c := range map[string]struct {
		answers []string
		want    string
		is      error
	}{
		"made":                      {answers: []string{sum}},
		"made without its checksum": {answers: []string{"200 {}", "200 content"}},
		"another came first":        {answers: []string{lost, "200 other"}, is: ErrExists},
		"ours, its answer was lost": {answers: []string{lost, "200 content"}},
		"it is not shown":           {answers: []string{lost, no, none}, want: "not safe"},
		"busy once":                 {answers: []string{"503 busy", no, none, sum}},
		"no right, another's":       {answers: []string{right, "200 other", "200 other"}, is: ErrExists},
		"no right":                  {answers: []string{right, right}, want: "Storage Object User"},
		"no bucket":                 {answers: []string{no}, want: "create the bucket"},
		"a proxy's 404 is no proof": {answers: []string{"503 busy", "404 <html>", "200 <html>"}, want: "not a listing"},
		"a listing that has it":     {answers: []string{lost, no, has}, want: "looking whether"},
	} {
		s, _ := gcsFake(t, c.answers...)
		err := create(t.Context(), s, "log/1", []byte("content"))
		if c.is != nil && !errors.Is(err, c.is) || c.is == nil && c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenGCS(t *testing.T) {
	for _, c := range []struct {
		store   string
		trusted bool
		want    string
	}{
		{store: "gs://ledgers/a/b"},
		{store: "gs://led_gers"},
		{store: "gs://ledgers/a?endpoint=https://storage.example.com", want: "TRUEUP_LEDGER"},
		{store: "gs://ledgers/a?endpoint=https://storage.example.com", trusted: true},
		{store: "gs://ledgers/a?endpoint=http://storage.example.com", trusted: true, want: "https"},
		{store: "gs://ledgers/a?region=x", trusted: true, want: "region"},
		{store: "gs://Ledgers/a", want: "bucket"},
		{store: "gs://me:sesame@ledgers/a", want: gcsForm},
		{store: "gs://ledgers/a b", want: "prefix"},
		{store: "gs://", want: "bucket"},
	} {
		_, err := OpenGCS(c.store, c.trusted)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s gave %v, want %q", c.store, err, c.want)
		}
	}
}

// TestGCSCredentials: a file of the user signs in, and what a repository names does not
// use the identity of the machine.
func TestGCSCredentials(t *testing.T) {
	var asked, authorized atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "computeMetadata") && !strings.HasSuffix(r.URL.Path, "/token"):
			w.Header().Set("Metadata-Flavor", "Google") // it is asked what machine it is
		case strings.Contains(r.URL.Path, "computeMetadata"):
			asked.Add(1)
			w.Header().Set("Metadata-Flavor", "Google")
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "of-the-machine", "expires_in": 3600, "token_type": "Bearer"})
		case r.URL.Path == "/token":
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "of-the-user", "expires_in": 3600, "token_type": "Bearer", "issued_token_type": "x"})
		default:
			if r.Header.Get("Authorization") == "Bearer of-the-user" {
				authorized.Add(1)
			}
			_, _ = w.Write([]byte(`{"kind":"storage#objects"}`))
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(server.URL, "http://"))
	list := func(trusted bool) error {
		s, err := OpenGCS("gs://ledgers/x", trusted)
		must(t, err)
		gcs := s.server.(*gcsServer)
		must(t, gcs.address.UnmarshalBinary([]byte(server.URL)))
		_, err = s.List(t.Context(), "log", 1)
		return err
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	if err := list(false); err == nil || !strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS") || asked.Load() != 0 {
		t.Errorf("without credentials: %v, the machine was asked for its identity %d times", err, asked.Load())
	}
	must(t, list(true))
	if asked.Load() == 0 {
		t.Error("a trusted store did not use the machine's identity")
	}
	must(t, os.WriteFile(filepath.Join(dir, "subject"), []byte("signed"), 0o600))
	identity, err := json.Marshal(map[string]any{
		"type": "external_account", "audience": "//iam.example.com/pool", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url": server.URL + "/token", "credential_source": map[string]any{"file": filepath.Join(dir, "subject")},
	})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "identity.json"), identity, 0o600))
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(dir, "identity.json"))
	must(t, list(false))
	if authorized.Load() != 1 {
		t.Errorf("%d requests had the user's token", authorized.Load())
	}
}
