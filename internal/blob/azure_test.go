package blob

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trueup/internal/e2e/servers"
)

func TestAzure(t *testing.T) {
	open := func() *RemoteStore {
		s, err := OpenAzure(servers.Store(t, "azblob"), true, os.Getenv, time.Now)
		must(t, err)
		return s
	}
	// The server is empty at first.
	_, _, err := open().server.(*azureServer).send(t.Context(), bucketRequest{method: http.MethodPut, query: url.Values{"restype": {"container"}}})
	if err != nil && serverError(err).Code.String() != "ContainerAlreadyExists" {
		t.Fatal(err)
	}
	contract(t, func() Store { return open() })
}

const azureTestKey = "c2VzYW1l"

// azureFake answers as the service does: each answer is a status, a code and a body, the
// last one for all further requests.
func azureFake(t *testing.T, answers ...string) *RemoteStore {
	var n atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := min(int(n.Add(1)), len(answers)) - 1
		var status int
		var code string
		_, _ = fmt.Sscan(answers[i], &status, &code)
		if r.Method == http.MethodPut {
			if r.Header.Get("If-None-Match") != "*" || r.URL.RawQuery != "" {
				t.Errorf("a creation without condition, or in several parts: %s", r.URL)
			}
			w.Header().Set("Content-MD5", r.Header.Get("Content-MD5"))
		}
		if code == "unconfirmed" {
			w.Header().Del("Content-MD5")
		}
		w.WriteHeader(status)
		if status/100 == 2 {
			_, _ = w.Write([]byte(code))
			return
		}
		_, _ = fmt.Fprintf(w, "\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code><Message>no</Message></Error>", code)
	}))
	t.Cleanup(server.Close)
	env := map[string]string{"AZURE_STORAGE_ACCOUNT": "ledgers", "AZURE_STORAGE_KEY": azureTestKey}
	s, err := OpenAzure("azblob://ledgers/x?endpoint="+server.URL, true, func(name string) string { return env[name] }, time.Now)
	must(t, err)
	s.pause = 1
	return s
}

// TestAzureAnswers is what a creation comes to, whatever is answered: 409 and 412 both
// say that another came first.
func TestAzureAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		want    string
		is      error
	}{
		"made":                        {answers: []string{"201 made"}},
		"made without its checksum":   {answers: []string{"201 unconfirmed", "200 content"}},
		"409, another's":              {answers: []string{"409 BlobAlreadyExists", "200 other"}, is: ErrExists},
		"409, ours":                   {answers: []string{"409 BlobAlreadyExists", "200 content"}},
		"412, another's":              {answers: []string{"412 ConditionNotMet", "200 other"}, is: ErrExists},
		"412, ours":                   {answers: []string{"412 ConditionNotMet", "200 content"}},
		"another 409, then made":      {answers: []string{"409 OperationInProgress", "404 BlobNotFound", "201 made"}},
		"it is not shown":             {answers: []string{"409 BlobAlreadyExists", "404 BlobNotFound"}, want: "not safe"},
		"busy once":                   {answers: []string{"503 ServerBusy", "404 BlobNotFound", "201 made"}},
		"no right":                    {answers: []string{"403 AuthorizationPermissionMismatch"}, want: "Storage Blob Data Contributor"},
		"a signature that expired":    {answers: []string{"403 AuthenticationFailed"}, want: "renew the credentials"},
		"no container":                {answers: []string{"404 ContainerNotFound"}, want: "create the container"},
		"a proxy's 404 is no absence": {answers: []string{"503 ServerBusy", "404 Proxy"}, want: "looking whether"},
	} {
		err := create(t.Context(), azureFake(t, c.answers...), "log/1", []byte("content"))
		if c.is != nil && !errors.Is(err, c.is) || c.is == nil && c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	const listing = "<EnumerationResults><Prefix>%s</Prefix><Blobs>%s</Blobs></EnumerationResults>"
	for _, answer := range []string{"<html>", fmt.Sprintf(listing, "y/", ""), fmt.Sprintf(listing, "x/log/", "<Blob><Name>y/1</Name></Blob>")} {
		if names, err := azureFake(t, "200 "+answer).List(t.Context(), "log", 0); err == nil {
			t.Errorf("%s: %v", answer, names)
		}
	}
}

func TestOpenAzure(t *testing.T) {
	for _, c := range []struct {
		store   string
		trusted bool
		env     map[string]string
		want    string
	}{
		{store: "azblob://ledgers/a/b"},
		{store: "azblob://ledgers/a", env: map[string]string{"AZURE_STORAGE_ACCOUNT": ""}, want: "AZURE_STORAGE_ACCOUNT"},
		{store: "azblob://ledgers/a", env: map[string]string{"AZURE_STORAGE_ACCOUNT": "evil.example.com/"}, want: "AZURE_STORAGE_ACCOUNT"},
		{store: "azblob://ledgers/a", env: map[string]string{"AZURE_STORAGE_KEY": "sesame!"}, want: "base64"},
		{store: "azblob://ledgers/a", env: map[string]string{"AZURE_TENANT_ID": "../x", "AZURE_CLIENT_ID": "id", "AZURE_CLIENT_SECRET": "sesame"}, want: "AZURE_TENANT_ID"},
		{store: "azblob://ledgers/a", env: map[string]string{"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "id", "AZURE_CLIENT_SECRET": "sesame", "AZURE_AUTHORITY_HOST": "http://example.com"}, want: "AZURE_AUTHORITY_HOST"},
		{store: "azblob://ledgers/a?endpoint=https://example.com", want: "TRUEUP_LEDGER"},
		{store: "azblob://ledgers/a?endpoint=https://example.com", trusted: true},
		{store: "azblob://ledgers/a?endpoint=http://example.com", trusted: true, want: "https"},
		{store: "azblob://led--gers/a", want: "container"},
		{store: "azblob://$root/a", want: "container"},
		{store: "azblob://me:sesame@ledgers/a", want: azureForm},
		{store: "azblob://ledgers/a b", want: "prefix"},
	} {
		getenv := func(name string) string {
			if value, ok := c.env[name]; ok {
				return value
			}
			return map[string]string{"AZURE_STORAGE_ACCOUNT": "acme"}[name]
		}
		_, err := OpenAzure(c.store, c.trusted, getenv, time.Now)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %v gave %v, want %q", c.store, c.env, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

// TestAzureCredentials: a secret, a workload identity, which a repository can't use, and a
// shared access signature, which no error tells.
func TestAzureCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "assertion")
	must(t, os.WriteFile(file, []byte("signed\n"), 0o600))
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/t/oauth2/v2.0/token") {
			asked = append(asked, "secret="+r.FormValue("client_secret")+" assertion="+r.FormValue("client_assertion"))
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token": "token", "expires_in": 3600, "token_type": "Bearer"}`))
			return
		}
		asked = append(asked, r.Header.Get("Authorization")+r.URL.Query().Get("sig"))
		_, _ = w.Write([]byte("<EnumerationResults><Prefix>x/log/</Prefix></EnumerationResults>"))
	}))
	defer server.Close()
	login := map[string]string{"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "id", "AZURE_AUTHORITY_HOST": server.URL}
	list := func(trusted bool, more map[string]string) error {
		getenv := func(name string) string {
			if value, ok := more[name]; ok {
				return value
			}
			if name == "AZURE_STORAGE_ACCOUNT" {
				return "acme"
			}
			return login[name]
		}
		s, err := OpenAzure("azblob://ledgers/x", trusted, getenv, time.Now)
		must(t, err)
		must(t, s.server.(*azureServer).address.UnmarshalBinary([]byte(server.URL+"/ledgers")))
		asked = nil
		_, err = s.List(t.Context(), "log", 1)
		return err
	}
	must(t, list(false, map[string]string{"AZURE_CLIENT_SECRET": "sesame"}))
	if len(asked) != 2 || asked[0] != "secret=sesame assertion=" || asked[1] != "Bearer token" {
		t.Errorf("with a secret: %q", asked)
	}
	must(t, list(true, map[string]string{"AZURE_FEDERATED_TOKEN_FILE": file}))
	if len(asked) != 2 || asked[0] != "secret= assertion=signed" || asked[1] != "Bearer token" {
		t.Errorf("with a workload identity: %q", asked)
	}
	if err := list(false, map[string]string{"AZURE_FEDERATED_TOKEN_FILE": file}); err == nil || !strings.Contains(err.Error(), "no credentials") || asked != nil {
		t.Errorf("a repository's store: %v, asked %q", err, asked)
	}
	signed := map[string]string{"AZURE_TENANT_ID": "", "AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=sesame"}
	must(t, list(false, signed))
	if len(asked) != 1 || asked[0] != "sesame" {
		t.Errorf("with a signature: %q", asked)
	}
	server.Close()
	s, err := OpenAzure("azblob://ledgers/x?endpoint=http://127.0.0.1:1", true, func(name string) string {
		return map[string]string{"AZURE_STORAGE_ACCOUNT": "acme", "AZURE_STORAGE_SAS_TOKEN": "sig=sesame"}[name]
	}, time.Now)
	must(t, err)
	s.pause = 1
	if _, err = s.List(t.Context(), "log", 1); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("without a server: %v", err)
	}
}
