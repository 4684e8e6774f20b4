package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// s3Request is one request; an empty key means the bucket itself.
type s3Request struct {
	method, key string
	query       url.Values
	header      map[string]string
	body        []byte
}

// send sends a signed request once. docs/design.md, "Dependencies", says why trueup uses no library for this. For an
// answer other than 2xx it returns an *s3Error. Otherwise close the body.
func (s *Bucket) send(ctx context.Context, r s3Request) (etag string, body io.ReadCloser, err error) {
	req, err := s.signed(ctx, r)
	if err != nil {
		return "", nil, err
	}
	answer, err := s.http.Do(req)
	if err != nil {
		return "", nil, err
	}
	// An answer with Age is from a cache, and its date may be old.
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil && answer.Header.Get("Age") == "" {
		s.skew.Store(int64(date.Sub(s.now())))
	}
	if answer.StatusCode/100 != 2 {
		defer func() { _ = answer.Body.Close() }()
		failed := &s3Error{}
		// A proxy may answer with any text; the status is enough.
		if xml.NewDecoder(io.LimitReader(answer.Body, maxS3Error)).Decode(failed) != nil {
			failed = &s3Error{}
		}
		failed.Status = answer.StatusCode
		return "", nil, failed
	}
	return answer.Header.Get("ETag"), answer.Body, nil
}

func (s *Bucket) signed(ctx context.Context, r s3Request) (*http.Request, error) {
	credentials, err := s.credentials.Retrieve(ctx)
	if err != nil {
		return nil, &credentialsError{err}
	}
	address := *s.address
	address.Path += "/" + r.key
	address.RawPath = httpbinding.EscapePath(address.Path, false)
	address.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, address.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(r.body)
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "trueup")
	req.Header.Set("X-Amz-Content-Sha256", hash)
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	signedAt := s.now().Add(time.Duration(s.skew.Load()))
	err = s.signer.SignHTTP(ctx, credentials, req, hash, "s3", s.region, signedAt, func(o *v4.SignerOptions) {
		o.DisableURIPathEscaping = true
	})
	if err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	return req, nil
}

// read sends a request that is safe to repeat, and retries while the failure may be temporary.
func (s *Bucket) read(ctx context.Context, r s3Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	var body io.ReadCloser
	err := s.retry(ctx, func() (again bool, err error) {
		_, body, err = s.send(ctx, r)
		return ctx.Err() == nil && temporary(err), err
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxSize {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrIrregular, maxSize)
	}
	return content, nil
}

// maxS3Error bounds the body of an error, in bytes.
const maxS3Error = 64 << 10

type s3Error struct {
	Status  int    `xml:"-"`
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

func (e *s3Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the server answered HTTP %d %s", e.Status, http.StatusText(e.Status))
	}
	return strings.TrimRight(e.Code+": "+e.Message, ":. ")
}

// answered returns the server's error, or an empty one.
func answered(err error) s3Error {
	var answer *s3Error
	if errors.As(err, &answer) {
		return *answer
	}
	return s3Error{}
}

func temporary(err error) bool {
	var credentials *credentialsError
	answer := answered(err)
	switch answer.Code {
	case "RequestTimeout", "RequestTimeTooSkewed", "SlowDown", "Throttling", "ThrottlingException":
		return true
	}
	return answer.Status == 0 && !errors.As(err, &credentials) ||
		slices.Contains([]int{408, 429, 500, 502, 503, 504}, answer.Status)
}

// refusedForGood reports whether the server rejected the request, and would reject a retry.
func refusedForGood(err error) bool {
	answer := answered(err)
	switch answer.Status {
	case http.StatusConflict, http.StatusPreconditionFailed:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return answer.Status/100 == 4 && !temporary(err)
}

// credentialsError says that there are no credentials.
type credentialsError struct{ err error }

func (e *credentialsError) Unwrap() error { return e.err }

func (e *credentialsError) Error() string {
	return "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; trueup uses the role of a machine, container or cluster only for a store that TRUEUP_LEDGER names"
}
