package blob

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"trueup/internal/api"
	"trueup/internal/diag"
)

const (
	gcsForm  = "gs://BUCKET/PREFIX"
	gcsScope = "https://www.googleapis.com/auth/devstorage.read_write"
	// gcsKind is the kind of a listing. Another answer does not prove absence.
	gcsKind = "storage#objects"
)

var gcsName = diag.Pattern(`^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$`)

// gcsServer is a bucket of Google Cloud Storage, by its JSON API. It creates objects with ifGenerationMatch=0, each in
// one request.
type gcsServer struct {
	bucket
	// token returns the credentials, or nil where none are needed.
	token func() (*oauth2.Token, error)
}

// OpenGCS parses gs://BUCKET/PREFIX. It sends no request. Google's library finds the credentials in the environment and
// the user's files. Only a trusted store may have an endpoint, which gets the credentials, or use the identity of the
// machine.
func OpenGCS(store string, trusted bool) (*RemoteStore, error) {
	name, prefix, query, err := splitStoreURL(store, gcsForm)
	if err != nil {
		return nil, err
	}
	if !gcsName().MatchString(name) {
		return nil, fmt.Errorf("bucket %q must have at least 3 lower-case letters, digits, dots, hyphens and underscores", name)
	}
	base, err := parseEndpointParam(query, trusted, "https://storage.googleapis.com")
	if err != nil {
		return nil, err
	}
	s := &gcsServer{bucket: newBucket("gs", name, base)}
	s.locate, s.sign, s.decodeError = s.locateRequest, s.signRequest, decodeGCSError
	if !api.IsLoopback(base) {
		s.token = s.findCredentials(trusted)
	}
	return newRemoteStore(s, prefix), nil
}

// parseEndpointParam returns the parameter endpoint of a store, the only one that it may have.
func parseEndpointParam(query url.Values, trusted bool, usual string) (*url.URL, error) {
	for name := range query {
		if name != "endpoint" {
			return nil, fmt.Errorf("%q is not endpoint, the only parameter", name)
		}
		if !trusted {
			return nil, errors.New("trueup.yaml may not choose the server that gets the credentials: remove endpoint, or set the whole store in TRUEUP_LEDGER")
		}
	}
	return parseEndpoint(cmp.Or(query.Get("endpoint"), usual))
}

// findCredentials finds the credentials when they are needed first.
func (s *gcsServer) findCredentials(trusted bool) func() (*oauth2.Token, error) {
	// Tokens are renewed by requests of their own.
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, s.http)
	find := sync.OnceValues(func() (oauth2.TokenSource, error) {
		found, err := google.FindDefaultCredentials(ctx, gcsScope)
		if err != nil {
			return nil, err
		}
		if found.JSON == nil && !trusted {
			return nil, errNoRole
		}
		return found.TokenSource, nil
	})
	return func() (*oauth2.Token, error) {
		source, err := find()
		if err != nil {
			return nil, err
		}
		return source.Token()
	}
}

func (s *gcsServer) withOwnConnection() server { return s }

// locateRequest returns the address of an object, whose slashes are escaped, or of all objects. A POST goes to another one.
func (s *gcsServer) locateRequest(r bucketRequest) *url.URL {
	at := []string{"storage", "v1", "b", s.name, "o"}
	if r.method == http.MethodPost {
		at = slices.Concat([]string{"upload"}, at)
	}
	if r.key != "" {
		at = append(at, url.PathEscape(r.key))
	}
	return s.address.JoinPath(at...)
}

func (s *gcsServer) signRequest(req *http.Request, _ []byte) error {
	if s.token != nil {
		token, err := s.token()
		if err != nil {
			return &credentialsError{err, "set GOOGLE_APPLICATION_CREDENTIALS to the file of a workload identity or a service account, or log in with gcloud. trueup uses the identity of the machine only for a store that TRUEUP_LEDGER or TRUEUP_PROJECTS names"}
		}
		token.SetAuthHeader(req)
	}
	return nil
}

func decodeGCSError(body io.Reader, e *httpError) error {
	var answer struct {
		Error struct {
			Message diag.Quotation
			Errors  []struct{ Reason diag.Quotation }
		}
	}
	err := json.NewDecoder(body).Decode(&answer)
	if len(answer.Error.Errors) > 0 {
		*e = httpError{Code: answer.Error.Errors[0].Reason, Message: answer.Error.Message}
	}
	return err
}

// put sends one request, and confirms by the checksum of what was stored.
func (s *gcsServer) put(ctx context.Context, key string, content []byte) (confirmed bool, err error) {
	_, answer, err := s.send(ctx, bucketRequest{
		method: http.MethodPost, body: content, header: map[string]string{"Content-Type": "application/json"},
		query: url.Values{"uploadType": {"media"}, "name": {key}, "ifGenerationMatch": {"0"}},
	})
	if serverError(err).Status == http.StatusForbidden {
		// Whoever may create objects only may be refused like this where one exists.
		if _, looked := s.get(ctx, key); looked == nil {
			return false, errTaken
		}
	}
	if err != nil {
		return false, err
	}
	var stored struct{ MD5Hash string }
	sum := md5.Sum(content)
	err = json.Unmarshal(answer, &stored)
	return err == nil && stored.MD5Hash == base64.StdEncoding.EncodeToString(sum[:]), nil
}

// get reads an object. 404 may also be of the bucket or of a proxy, so only a listing proves absence.
func (s *gcsServer) get(ctx context.Context, key string) ([]byte, error) {
	_, content, err := s.send(ctx, bucketRequest{method: http.MethodGet, key: key, query: url.Values{"alt": {"media"}}})
	if serverError(err).Status != http.StatusNotFound {
		return content, err
	}
	keys, _, listed := s.listPage(ctx, key, "", 1)
	if listed == nil && !slices.Contains(keys, key) {
		return nil, ErrAbsent
	}
	return nil, cmp.Or(listed, err)
}

func (s *gcsServer) listPage(ctx context.Context, prefix, token string, most int) (keys []string, next string, err error) {
	query := url.Values{"prefix": {prefix}, "maxResults": {strconv.Itoa(most)}, "fields": {"kind,nextPageToken,items(name)"}}
	if token != "" {
		query.Set("pageToken", token)
	}
	_, answer, err := s.send(ctx, bucketRequest{method: http.MethodGet, query: query})
	if err != nil {
		return nil, "", err
	}
	var p struct {
		Kind, NextPageToken string
		Items               []struct{ Name string }
	}
	if err := json.Unmarshal(answer, &p); err != nil || p.Kind != gcsKind {
		return nil, "", errors.New("the answer is not a listing")
	}
	for _, item := range p.Items {
		keys = append(keys, item.Name)
	}
	return keys, p.NextPageToken, nil
}

func (s *gcsServer) hint(err error, _ string) string {
	switch serverError(err).Status {
	case http.StatusNotFound:
		return ": create the bucket, or correct ledger: in trueup.yaml"
	case http.StatusUnauthorized:
		return ": renew the credentials"
	case http.StatusForbidden:
		return ": plan needs the role Storage Object Viewer on the bucket; apply and trueup ledger init need Storage Object User"
	}
	return ""
}
