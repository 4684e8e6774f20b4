package blob

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"trueup/internal/api"
	"trueup/internal/diag"
)

const (
	parallel     = 32       // how many idle connections to keep
	maxErrorText = 64 << 10 // bounds the body of an error, in bytes
)

// httpError is an answer other than 2xx, with the code and message of its body.
type httpError struct {
	Status        int `xml:"-"`
	Code, Message diag.Quotation
}

func (e *httpError) Error() string {
	if e.Code == (diag.Quotation{}) {
		return fmt.Sprintf("the server answered HTTP %d %s", e.Status, http.StatusText(e.Status))
	}
	return strings.TrimRight(e.Code.String()+": "+e.Message.String(), ":. ")
}

// credentialsError says that there are no credentials, and what to set.
type credentialsError struct {
	err  error
	need string
}

func (e *credentialsError) Unwrap() error { return e.err }

func (e *credentialsError) Error() string { return "no credentials: " + e.need }

// serverError returns the server's error, or an empty one.
func serverError(err error) httpError {
	if answer, ok := errors.AsType[*httpError](err); ok {
		return *answer
	}
	return httpError{}
}

// classifyError: what is neither an answer nor a failure of the transport was not sent, or can't be read. Azure's 409 and 412
// both say that another came first.
func (*bucket) classifyError(err error) failureVerdict {
	var transport *url.Error
	var credentials *credentialsError
	answer := serverError(err)
	switch status, code := answer.Status, answer.Code.String(); {
	case errors.As(err, &credentials):
		return final
	case status == 0 && errors.As(err, &transport),
		slices.Contains([]int{408, 429, 500, 502, 503, 504}, status),
		slices.Contains([]string{"RequestTimeout", "RequestTimeTooSkewed", "SlowDown", "Throttling", "ThrottlingException"}, code):
		return temporary
	case errors.Is(err, errTaken), status == http.StatusPreconditionFailed, code == "BlobAlreadyExists":
		return exists
	case status == 0, status == http.StatusNotImplemented, status/100 == 4 && status != http.StatusConflict:
		return final
	}
	return unclear
}

// bucket is what the servers of buckets have in common: they speak HTTP, and need no connection.
type bucket struct {
	http *http.Client
	// address is the bucket's, or that of Google's API. scheme and name are as in a store's name, SCHEME://NAME.
	address      *url.URL
	scheme, name string
	// locate returns the address of a request without its query, and sign adds the credentials. decodeError reads the body of
	// an answer other than 2xx. seen gets the head of each answer, and may be nil.
	locate      func(r bucketRequest) *url.URL
	sign        func(req *http.Request, body []byte) error
	decodeError func(io.Reader, *httpError) error
	seen        func(http.Header)
}

// bucketRequest is one request for an object, or for the bucket itself if the key is empty.
type bucketRequest struct {
	method, key string
	query       url.Values
	header      map[string]string
	body        []byte
}

func newBucket(scheme, name string, address *url.URL) bucket {
	return bucket{
		http: api.NewHTTPClient(newTransport()), scheme: scheme, name: name, address: address,
		decodeError: func(body io.Reader, e *httpError) error { return xml.NewDecoder(body).Decode(e) },
	}
}

func (*bucket) prepare(context.Context) error { return nil }

func (*bucket) close() error { return nil }

func (b *bucket) location(key string) string { return b.scheme + "://" + path.Join(b.name, key) }

func (b *bucket) get(ctx context.Context, key string) ([]byte, error) {
	_, content, err := b.send(ctx, bucketRequest{method: http.MethodGet, key: key})
	if isAbsent(err) {
		return nil, ErrAbsent
	}
	return content, err
}

func (b *bucket) remove(ctx context.Context, key string) error {
	_, _, err := b.send(ctx, bucketRequest{method: http.MethodDelete, key: key})
	if isAbsent(err) {
		return nil
	}
	return err
}

// xmlListing is a page of a listing: of S3 with keys and a token, of Azure with names and a marker.
type xmlListing struct {
	XMLName                           xml.Name
	Prefix                            string
	Keys                              []string `xml:"Contents>Key"`
	Names                             []string `xml:"Blobs>Blob>Name"`
	IsTruncated                       bool
	NextContinuationToken, NextMarker string
}

// readListing reads a listing, whose element is root. Another answer does not prove absence.
func (b *bucket) readListing(ctx context.Context, root string, query url.Values) (p xmlListing, err error) {
	_, answer, err := b.send(ctx, bucketRequest{method: http.MethodGet, query: query})
	if err != nil {
		return xmlListing{}, err
	}
	switch err := xml.Unmarshal(answer, &p); {
	case err != nil:
		return xmlListing{}, fmt.Errorf("the answer is not a listing: %w", err)
	case p.XMLName.Local != root:
		return xmlListing{}, fmt.Errorf("the answer is not a listing: it is <%s>", p.XMLName.Local)
	case p.Prefix != query.Get("prefix"):
		return xmlListing{}, errors.New("the answer lists another prefix")
	}
	return p, nil
}

// isAbsent reports whether the server says that it has no object of the key.
func isAbsent(err error) bool {
	return slices.Contains([]string{"NoSuchKey", "BlobNotFound", "notFound"}, serverError(err).Code.String())
}

// send sends a request once, and returns the answer's header and body. For an answer other than 2xx it returns an
// *httpError. docs/design.md, "Dependencies", says why trueup uses no library for this.
func (b *bucket) send(ctx context.Context, r bucketRequest) (http.Header, []byte, error) {
	address := *b.locate(r)
	address.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, address.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("User-Agent", "trueup")
	req.Header.Set("Accept-Encoding", "identity") // the bytes are compared, so nothing may compress them
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if err := b.sign(req, r.body); err != nil {
		return nil, nil, err
	}
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	diag.RegisterSecret(token)
	diag.RegisterSecret(req.URL.Query().Get("sig"))
	return b.readAnswer(req)
}

func (b *bucket) readAnswer(req *http.Request) (http.Header, []byte, error) {
	answer, err := b.http.Do(req)
	if transport, ok := errors.AsType[*url.Error](err); ok {
		transport.URL = req.URL.Scheme + "://" + req.URL.Host + req.URL.EscapedPath() // a query may have a signature
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if b.seen != nil {
		b.seen(answer.Header)
	}
	if answer.StatusCode/100 != 2 {
		failed := &httpError{}
		// A proxy may answer with any text; the status is enough.
		if b.decodeError(io.LimitReader(answer.Body, maxErrorText), failed) != nil {
			failed = &httpError{}
		}
		failed.Status = answer.StatusCode
		return answer.Header, nil, failed
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxSize+1))
	if err != nil {
		return answer.Header, nil, err
	}
	if len(content) > maxSize {
		return answer.Header, nil, fmt.Errorf("%w: longer than %d bytes", ErrIrregular, maxSize)
	}
	return answer.Header, content, nil
}

// newTransport returns a transport that reaches names below localhost on this machine, without a proxy.
func newTransport() *http.Transport {
	t, _ := http.DefaultTransport.(*http.Transport)
	t = t.Clone()
	configureTransport(t)
	return t
}

func configureTransport(t *http.Transport) {
	t.MaxIdleConnsPerHost = parallel
	t.DialContext = api.Dial
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if api.IsLoopback(r.URL) {
			return nil, nil
		}
		return http.ProxyFromEnvironment(r)
	}
}
