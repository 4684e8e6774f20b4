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
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// s3Client sends signed requests to one bucket. It is as much of the S3 protocol as a
// ledger needs: docs/design.md, "Dependencies", has the reason.
type s3Client struct {
	http        *http.Client
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	// bucket is the address of the bucket, without a slash at its end.
	bucket *url.URL
	region string
	now    func() time.Time
	// skew is how far the server's clock is ahead of now: a signature is only valid for
	// some minutes of the server's time.
	skew atomic.Int64
}

// s3Request is one request; an empty key means the bucket itself.
type s3Request struct {
	method, key string
	query       url.Values
	header      map[string]string
	body        []byte
}

// s3Answer is a successful answer. The body must be closed.
type s3Answer struct {
	etag string
	body io.ReadCloser
}

// send sends the request once. An answer that is not a success is an *s3Error.
func (c *s3Client) send(ctx context.Context, r s3Request) (s3Answer, error) {
	req, err := c.signed(ctx, r)
	if err != nil {
		return s3Answer{}, err
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return s3Answer{}, err
	}
	// A cache may answer with an old date, which comes with an Age.
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil && answer.Header.Get("Age") == "" {
		c.skew.Store(int64(date.Sub(c.now())))
	}
	if answer.StatusCode/100 != 2 {
		defer func() { _ = answer.Body.Close() }()
		return s3Answer{}, readS3Error(answer)
	}
	return s3Answer{etag: answer.Header.Get("ETag"), body: answer.Body}, nil
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

// read sends a request that changes nothing the second time, and sends it again while the
// failure may be temporary. It returns the body.
func (s *Bucket) read(ctx context.Context, r s3Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	var answer s3Answer
	err := s.retry(ctx, func() (again bool, err error) {
		answer, err = s.client.send(ctx, r)
		return ctx.Err() == nil && temporary(err), err
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.body.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer.body, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxSize {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrIrregular, maxSize)
	}
	return content, nil
}

// s3Error is an answer that is not a success.
type s3Error struct {
	Status  int    `xml:"-"`
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

func readS3Error(answer *http.Response) error {
	const most = 64 << 10
	e := &s3Error{}
	// A proxy may answer with anything: then the status says what is known.
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

// answered returns the error of the server, or an empty one.
func answered(err error) s3Error {
	var answer *s3Error
	if errors.As(err, &answer) {
		return *answer
	}
	return s3Error{}
}

// temporary reports whether a request that failed may succeed a moment later.
func temporary(err error) bool {
	var credentials *credentialsError
	answer := answered(err)
	switch answer.Code {
	case "RequestTimeout", "RequestTimeTooSkewed", "SlowDown", "Throttling", "ThrottlingException":
		return true
	}
	switch answer.Status {
	case 0:
		return !errors.As(err, &credentials)
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// refusedForGood reports whether the server answered, did nothing, and would not do it
// later either.
func refusedForGood(err error) bool {
	answer := answered(err)
	switch answer.Status {
	case http.StatusConflict, http.StatusPreconditionFailed:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return answer.Status >= 400 && answer.Status < 500 && !temporary(err)
}

// credentialsError says that there are no credentials.
type credentialsError struct{ err error }

func (e *credentialsError) Unwrap() error { return e.err }

func (e *credentialsError) Error() string {
	return "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; trueup uses the role of a machine, container or cluster only for a store that TRUEUP_LEDGER names"
}

// s3Variant says which of the addresses of AWS to use.
type s3Variant struct{ fips, dualStack bool }

// awsAddress returns the address of the S3 service in a region.
func awsAddress(region string, v s3Variant) string {
	// Regions outside the commercial ones have a domain of their own.
	domain := "amazonaws.com"
	for _, partition := range [][2]string{
		{"cn-", "amazonaws.com.cn"},
		{"eusc-", "amazonaws.eu"},
		{"eu-isoe-", "cloud.adc-e.uk"},
		{"us-iso-", "c2s.ic.gov"},
		{"us-isob-", "sc2s.sgov.gov"},
		{"us-isof-", "csp.hci.ic.gov"},
	} {
		if strings.HasPrefix(region, partition[0]) {
			domain = partition[1]
		}
	}
	service := "s3"
	if v.fips {
		service += "-fips"
	}
	if v.dualStack {
		service += ".dualstack"
	}
	return "https://" + service + "." + region + "." + domain
}

// parseEndpoint reads the address of a server, which must use TLS, except on this machine.
// Its errors don't repeat the address: it may hold a password.
func parseEndpoint(endpoint string) (u *url.URL, isIP bool, err error) {
	u, err = url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, false, errors.New("the bucket's endpoint is not of the form https://HOST")
	}
	ip, notIP := netip.ParseAddr(u.Hostname())
	if loopback := u.Hostname() == "localhost" || notIP == nil && ip.IsLoopback(); u.Scheme == "http" && !loopback {
		return nil, false, errors.New("the bucket's endpoint does not use https, which would expose the credentials")
	}
	return u, notIP == nil, nil
}

// bucketAddress returns the address of a bucket on a server. The bucket is a part of the
// host's name unless that would be no name, or no certificate would cover it.
func bucketAddress(endpoint, bucket string, pathStyle bool) (*url.URL, error) {
	u, isIP, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	if pathStyle || isIP || u.Scheme == "https" && strings.Contains(bucket, ".") {
		at.Path += "/" + bucket
	} else {
		at.Host = bucket + "." + u.Host
	}
	return at, nil
}

// configured reads a setting from the first source, the environment or the profile, that
// has it.
func configured[P any, T any](sources []any, read func(P) (T, bool, error)) (value T, found bool) {
	for _, source := range sources {
		if from, ok := source.(P); ok {
			if value, found, err := read(from); found && err == nil {
				return value, true
			}
		}
	}
	return value, false
}
