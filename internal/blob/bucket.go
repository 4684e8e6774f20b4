package blob

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/cenkalti/backoff/v5"
)

// maxTries limits the attempts of one request.
const maxTries = 6

var (
	errAnswered = errors.New("the server accepted it")
	errUnsafe   = errors.New("the server ignores If-None-Match and accepted a second creation of an object. It is not safe for a ledger, because two runs could send the same request: use another store")
)

// Bucket is a prefix of a bucket on an S3 server. It creates objects with If-None-Match: * and never replaces one.
// RefusesCreation detects servers that ignore this condition.
type Bucket struct {
	http        http.Client
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	// address is the bucket's, without a final slash.
	address                *url.URL
	region, bucket, prefix string
	now                    func() time.Time
	// skew is how far the server's clock is ahead of now. It corrects the time of signatures, which are valid for minutes.
	skew *atomic.Int64
	// pause is roughly the first wait before a retry. patience limits the time of a request with its retries.
	pause, patience time.Duration
}

// Make does nothing, because a bucket has no folders.
func (s *Bucket) Make(context.Context) error { return nil }

// Below returns the store with the prefix PREFIX/FOLDER.
func (s *Bucket) Below(folder string) Store {
	below := *s
	below.prefix = path.Join(s.prefix, folder)
	return &below
}

// Place returns the object's address.
func (s *Bucket) Place(name string) string { return "s3://" + path.Join(s.bucket, s.at(name)) }

// Create creates an object.
func (s *Bucket) Create(ctx context.Context, b Blob, copies ...Copy) error {
	return createAll(ctx, b, copies, func(ctx context.Context, b Blob) error {
		err := s.retry(ctx, func() (bool, error) { return s.tryCreate(ctx, b) })
		return s.failed("create", b.Name, err)
	})
}

// retry calls try until it succeeds, or returns again as false because another attempt is useless.
func (s *Bucket) retry(ctx context.Context, try func() (again bool, err error)) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier = s.pause, 2
	for n := 1; ; n++ {
		again, err := try()
		if err == nil || !again || n == maxTries || Sleep(ctx, wait.NextBackOff()) != nil {
			return err
		}
	}
}

// tryCreate sends one PUT. Unless the server confirms exactly these bytes, it reads the object: an answer may be lost,
// and a proxy may have sent the request twice. again reports that the object does not exist and a retry may create it.
func (s *Bucket) tryCreate(ctx context.Context, b Blob) (again bool, err error) {
	confirmed, sent := s.put(ctx, b.Name, b.Content)
	if confirmed || refusedForGood(sent) {
		return false, sent
	}
	have, err := s.get(ctx, b.Name)
	switch {
	case err == nil && bytes.Equal(have, b.Content):
		return false, nil
	case err == nil && sent == nil:
		return false, errUnsafe
	case err == nil:
		return false, ErrExists
	case !errors.Is(err, ErrAbsent):
		return false, fmt.Errorf("%w; looking whether it was written: %w", cmp.Or(sent, errAnswered), err)
	case sent == nil || answered(sent).Status == http.StatusPreconditionFailed:
		return false, errors.New("the server answered that it exists, but does not show it: this store is not safe for a ledger")
	}
	return true, sent
}

// RefusesCreation creates an existing object again with the same bytes. The server must reject that.
func (s *Bucket) RefusesCreation(ctx context.Context, name string) error {
	content, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	err = s.retry(ctx, func() (bool, error) {
		_, err := s.put(ctx, name, content)
		switch {
		case err == nil:
			return false, errUnsafe
		case answered(err).Status == http.StatusPreconditionFailed:
			return false, nil
		}
		return !refusedForGood(err), err
	})
	return s.failed("prove", name, err)
}

// put sends one conditional PUT. confirmed reports whether the server answered with the checksum of these bytes.
func (s *Bucket) put(ctx context.Context, name string, content []byte) (confirmed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	// Every S3 server supports MD5. It only has to detect damage.
	sum := md5.Sum(content)
	etag, body, err := s.send(ctx, s3Request{
		method: http.MethodPut, key: s.at(name), body: content,
		header: map[string]string{
			"If-None-Match": "*", "Content-Type": "application/json", "Content-MD5": base64.StdEncoding.EncodeToString(sum[:]),
		},
	})
	if err != nil {
		return false, err
	}
	_ = body.Close()
	return strings.Trim(etag, `"`) == hex.EncodeToString(sum[:]), nil
}

// Get reads an object.
func (s *Bucket) Get(ctx context.Context, name string) ([]byte, error) {
	content, err := s.get(ctx, name)
	return content, s.failed("read", name, err)
}

func (s *Bucket) get(ctx context.Context, name string) ([]byte, error) {
	content, err := s.read(ctx, s3Request{method: http.MethodGet, key: s.at(name)})
	if answered(err).Code == "NoSuchKey" {
		return nil, ErrAbsent
	}
	return content, err
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Prefix                string
	Contents              []struct{ Key string }
	IsTruncated           bool
	NextContinuationToken string
}

// List lists the objects.
func (s *Bucket) List(ctx context.Context, under string, most int) ([]string, error) {
	const all = 1000
	var names []string
	for token := ""; ; {
		p, err := s.page(ctx, under+"/", token, min(cmp.Or(most, all), all))
		if err != nil {
			return nil, s.failed("list", under, err)
		}
		for _, o := range p.Contents {
			names = append(names, under+"/"+strings.TrimPrefix(o.Key, p.Prefix))
		}
		switch {
		case !p.IsTruncated || most > 0 && len(names) >= most:
			return names, nil
		case p.NextContinuationToken == token:
			return nil, s.failed("list", under, errors.New("the listing repeats itself"))
		}
		token = p.NextContinuationToken
	}
}

func (s *Bucket) page(ctx context.Context, under, token string, most int) (p listing, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {s.at(under)}, "max-keys": {strconv.Itoa(most)}}
	if token != "" {
		query.Set("continuation-token", token)
	}
	answer, err := s.read(ctx, s3Request{method: http.MethodGet, query: query})
	if err != nil {
		return p, err
	}
	if err := xml.Unmarshal(answer, &p); err != nil {
		return p, fmt.Errorf("the answer is not a listing: %w", err)
	}
	if p.Prefix != s.at(under) {
		// This is not the answer to the request, so it does not prove absence.
		return p, errors.New("the answer lists another prefix")
	}
	for _, o := range p.Contents {
		if !strings.HasPrefix(o.Key, p.Prefix) {
			return p, fmt.Errorf("the answer contains %q", o.Key)
		}
	}
	if p.IsTruncated && p.NextContinuationToken == "" && most > 1 {
		return p, errors.New("the listing is truncated and names no next page")
	}
	return p, nil
}

// Clear removes every object below the prefix.
func (s *Bucket) Clear(ctx context.Context) error {
	whole := *s
	whole.prefix = ""
	names, err := whole.List(ctx, s.prefix, 0)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := whole.read(ctx, s3Request{method: http.MethodDelete, key: whole.at(name)}); err != nil {
			return whole.failed("remove", name, err)
		}
	}
	return nil
}

func (s *Bucket) at(name string) string { return strings.TrimPrefix(s.prefix+"/"+name, "/") }

// failed adds the object and a fix to an error.
func (s *Bucket) failed(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	switch answered(err).Code {
	case "NoSuchBucket":
		hint = ": create the bucket, or correct ledger: in trueup.yaml"
	case "AccessDenied", "AllAccessDisabled":
		hint = ": the credentials need s3:ListBucket on the bucket, and s3:GetObject and s3:PutObject below " +
			cmp.Or(s.prefix, "it") + ". trueup ledger init also needs s3:DeleteObject below tmp/"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		hint = ": renew the credentials"
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		hint = ": name the bucket's region: s3://BUCKET/PREFIX?region=REGION"
	case "NotImplemented":
		hint = ": the server lacks conditional writes and is not safe for a ledger"
	}
	return fmt.Errorf("%s %s: %w%s", doing, s.Place(name), err, hint)
}
