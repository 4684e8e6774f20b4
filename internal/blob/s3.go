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
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// s3Client sends signed requests to one bucket. docs/design.md, "Dependencies", says why trueup uses no library for this.
type s3Client struct {
	http        *http.Client
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	// bucket is the bucket's address, without a final slash.
	bucket *url.URL
	region string
	now    func() time.Time
	// skew is how far the server's clock is ahead of now. It corrects the time of signatures, which are valid for minutes.
	skew atomic.Int64
}

// s3Request is one request; an empty key means the bucket itself.
type s3Request struct {
	method, key string
	query       url.Values
	header      map[string]string
	body        []byte
}

// send sends the request once. For an answer other than 2xx it returns an *s3Error. Otherwise close the body.
func (c *s3Client) send(ctx context.Context, r s3Request) (etag string, body io.ReadCloser, err error) {
	req, err := c.signed(ctx, r)
	if err != nil {
		return "", nil, err
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return "", nil, err
	}
	// An answer with Age is from a cache, and its date may be old.
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil && answer.Header.Get("Age") == "" {
		c.skew.Store(int64(date.Sub(c.now())))
	}
	if answer.StatusCode/100 != 2 {
		defer func() { _ = answer.Body.Close() }()
		return "", nil, readS3Error(answer)
	}
	return answer.Header.Get("ETag"), answer.Body, nil
}

func (c *s3Client) signed(ctx context.Context, r s3Request) (*http.Request, error) {
	credentials, err := c.credentials.Retrieve(ctx)
	if err != nil {
		return nil, &credentialsError{err}
	}
	address := *c.bucket
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
	signedAt := c.now().Add(time.Duration(c.skew.Load()))
	err = c.signer.SignHTTP(ctx, credentials, req, hash, "s3", c.region, signedAt, func(o *v4.SignerOptions) {
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
		_, body, err = s.client.send(ctx, r)
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

type s3Error struct {
	Status  int    `xml:"-"`
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

func readS3Error(answer *http.Response) error {
	const most = 64 << 10
	e := &s3Error{}
	// A proxy may answer with any text; the status is enough.
	if err := xml.NewDecoder(io.LimitReader(answer.Body, most)).Decode(e); err != nil {
		e = &s3Error{}
	}
	e.Status = answer.StatusCode
	return e
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
