package blob

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/cenkalti/backoff/v5"
)

// createTries bounds how often one creation is sent.
const createTries = 6

var (
	errAnswered = errors.New("the server accepted it")
	errUnsafe   = errors.New("the server ignores If-None-Match and accepted a second creation of an object. It is not safe for a ledger, because two runs could send the same request: use another store")
)

// Bucket is a prefix of a bucket on a server that speaks the S3 protocol. An object is
// created only where nothing is (If-None-Match: *), and none is ever replaced.
// Servers that ignore the condition exist: RefusesCreation tells.
type Bucket struct {
	client         *s3.Client
	bucket, prefix string
	// pause is what the first wait between two tries is near, patience bounds
	// one request with all its tries.
	pause, patience time.Duration
}

// Make does nothing: a bucket needs no folders.
func (s *Bucket) Make(context.Context) error { return nil }

// Below is the store of a longer prefix.
func (s *Bucket) Below(folder string) Store {
	below := *s
	below.prefix = path.Join(s.prefix, folder)
	return &below
}

// Place is the object's address.
func (s *Bucket) Place(name string) string { return "s3://" + path.Join(s.bucket, s.at(name)) }

// Create makes an object.
func (s *Bucket) Create(ctx context.Context, b Blob, copies ...Copy) error {
	err := s.create(ctx, b.Name, b.Content)
	for i := 0; i < len(copies) && err == nil && s.create(ctx, copies[i].Name, copies[i].Content) == nil; {
		i++
	}
	return err
}

func (s *Bucket) create(ctx context.Context, name string, content []byte) error {
	return s.repeated(ctx, "create", name, func() (bool, error) { return s.tryCreate(ctx, name, content) })
}

// repeated tries until it is done, or no other try would do it. The pauses are
// random, and longer each time.
func (s *Bucket) repeated(ctx context.Context, doing, name string, try func() (again bool, err error)) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier = s.pause, 2
	for n := 1; ; n++ {
		again, err := try()
		if err == nil {
			return nil
		}
		if !again || n == createTries || pauseFor(ctx, wait.NextBackOff()) != nil {
			return s.failed(doing, name, err)
		}
	}
}

// tryCreate sends a creation once. Unless the answer is that the server has taken these
// very bytes it looks what is there then: an answer may be lost, and a proxy may have
// sent twice. Again says that nothing is there and that another try may do it.
func (s *Bucket) tryCreate(ctx context.Context, name string, content []byte) (again bool, err error) {
	taken, sent := s.put(ctx, name, content)
	if taken || refusedForGood(sent) {
		return false, sent
	}
	have, err := s.get(ctx, name)
	switch {
	case err == nil && bytes.Equal(have, content):
		return false, nil
	case err == nil && sent == nil:
		return false, errUnsafe
	case err == nil:
		return false, ErrExists
	case !errors.Is(err, ErrAbsent):
		return false, fmt.Errorf("%w; looking whether it was written: %w", cmp.Or(sent, errAnswered), err)
	case sent == nil || statusOf(sent) == http.StatusPreconditionFailed:
		return false, errors.New("the server answered that it exists, but does not show it: this store is not safe for a ledger")
	}
	return true, sent
}

// RefusesCreation creates an object that is there, with the same bytes, which must be
// refused.
func (s *Bucket) RefusesCreation(ctx context.Context, name string) error {
	content, err := s.Get(ctx, name)
	if err != nil {
		return err
	}
	return s.repeated(ctx, "prove", name, func() (bool, error) {
		_, err := s.put(ctx, name, content)
		switch {
		case err == nil:
			return false, errUnsafe
		case statusOf(err) == http.StatusPreconditionFailed:
			return false, nil
		}
		return !refusedForGood(err), err
	})
}

// put sends one conditional PUT, once. Taken says that the server answered with the sum
// of these bytes.
func (s *Bucket) put(ctx context.Context, name string, content []byte) (taken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	// Every server of the protocol knows this sum, which is against damage only.
	sum := md5.Sum(content)
	out, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: aws.String(s.at(name)), Body: bytes.NewReader(content),
		IfNoneMatch: aws.String("*"), ContentType: aws.String("application/json"),
		ContentMD5: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	}, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return false, short(err)
	}
	return strings.Trim(aws.ToString(out.ETag), `"`) == hex.EncodeToString(sum[:]), nil
}

// Get reads an object.
func (s *Bucket) Get(ctx context.Context, name string) ([]byte, error) {
	content, err := s.get(ctx, name)
	if err != nil {
		return nil, s.failed("read", name, err)
	}
	return content, nil
}

func (s *Bucket) get(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.at(name))})
	var none *types.NoSuchKey
	if errors.As(err, &none) {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, short(err)
	}
	defer func() { _ = out.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(out.Body, maxSize+1))
	if err == nil && len(content) > maxSize {
		err = fmt.Errorf("%w: longer than %d bytes", ErrIrregular, maxSize)
	}
	return content, err
}

// page is a part of a listing.
type page struct {
	// names are relative to the store's prefix.
	names []string
	// next continues the listing; empty at its end.
	next string
}

// List lists the objects.
func (s *Bucket) List(ctx context.Context, under string, most int) ([]string, error) {
	const all = 1000
	var names []string
	for token := ""; ; {
		p, err := s.page(ctx, under+"/", token, int32(min(cmp.Or(most, all), all)))
		if err != nil {
			return nil, s.failed("list", under, err)
		}
		names = append(names, p.names...)
		switch {
		case p.next == "" || most > 0 && len(names) >= most:
			return names, nil
		case p.next == token:
			return nil, s.failed("list", under, errors.New("the listing repeats itself"))
		}
		token = p.next
	}
}

func (s *Bucket) page(ctx context.Context, under, token string, most int32) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.at(under)), MaxKeys: &most}
	if token != "" {
		in.ContinuationToken = &token
	}
	out, err := s.client.ListObjectsV2(ctx, in)
	if err = short(err); err == nil && aws.ToString(out.Prefix) != s.at(under) {
		// Something else answered, and what it does not show is not absent.
		err = errors.New("the answer is another listing")
	}
	if err != nil {
		return page{}, err
	}
	var p page
	for _, o := range out.Contents {
		name, ok := strings.CutPrefix(aws.ToString(o.Key), s.at(under))
		if !ok {
			return page{}, fmt.Errorf("the answer contains %q", aws.ToString(o.Key))
		}
		p.names = append(p.names, under+name)
	}
	if aws.ToBool(out.IsTruncated) {
		p.next = aws.ToString(out.NextContinuationToken)
		if p.next == "" && most > 1 {
			return page{}, errors.New("the answer is cut and can't be continued")
		}
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
		if err := whole.remove(ctx, name); err != nil {
			return whole.failed("remove", name, err)
		}
	}
	return nil
}

func (s *Bucket) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.at(name))})
	return short(err)
}

// at is the key of a name, or a prefix of keys.
func (s *Bucket) at(name string) string {
	if s.prefix == "" {
		return name
	}
	return s.prefix + "/" + name
}

// statusOf is the HTTP status that an error stands for, 0 if there was none.
func statusOf(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// refusedForGood says that the server answered, did nothing, and would not do it
// later either.
func refusedForGood(err error) bool {
	switch status := statusOf(err); status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusPreconditionFailed, http.StatusTooManyRequests:
		return false
	case http.StatusBadRequest:
		return codeOf(err) != "RequestTimeout"
	case http.StatusNotImplemented:
		return true
	default:
		return status >= 400 && status < 500
	}
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// failed names the object, and what to do.
func (s *Bucket) failed(doing, name string, err error) error {
	err = fmt.Errorf("%s %s: %w", doing, s.Place(name), err)
	if hint := s.hint(err); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

func (s *Bucket) hint(err error) string {
	switch codeOf(err) {
	case "NoSuchBucket":
		return "create the bucket, or correct ledger: in trueup.yaml"
	case "AccessDenied", "AllAccessDisabled":
		return "the credentials need s3:ListBucket on the bucket, and s3:GetObject and s3:PutObject below " +
			cmp.Or(s.prefix, "it") + " (for ledger init also s3:DeleteObject below tmp/)"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		return "renew the credentials"
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return "name the bucket's region: s3://BUCKET/PREFIX?region=REGION"
	case "NotImplemented":
		return "the server lacks conditional writes and is not safe for a ledger"
	}
	return ""
}

// requestError is an error of the client, which says it at length.
type requestError struct{ err error }

func short(err error) error {
	if err == nil {
		return nil
	}
	return &requestError{err}
}

func (e *requestError) Unwrap() error { return e.err }

func (e *requestError) Error() string {
	var (
		credentials *credentialsError
		answer      smithy.APIError
		network     *url.Error
	)
	switch {
	case errors.As(e.err, &credentials):
		return credentials.Error()
	case errors.As(e.err, &answer):
		return strings.TrimRight(answer.ErrorCode()+": "+answer.ErrorMessage(), ":. ")
	case errors.As(e.err, &network):
		return network.Error()
	default:
		return e.err.Error()
	}
}

// credentialsError says that there are no credentials.
type credentialsError struct{ err error }

func (e *credentialsError) Unwrap() error { return e.err }

func (e *credentialsError) Error() string {
	return "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; trueup uses the role of a machine, container or cluster only for a store that TRUEUP_LEDGER names"
}
