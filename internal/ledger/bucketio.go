package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
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
	"github.com/google/uuid"
)

// writeMark is the name of the metadata that tells our object from one that is
// otherwise the same.
const writeMark = "trueup-write"

// createTries bounds how often one creation is sent.
const createTries = 6

var (
	errAbsent   = errors.New("it is not there")
	errAnswered = errors.New("the server took it")
	errUnsafe   = errors.New("the server took a second creation of an object that is there (it ignores If-None-Match): " +
		"it is not safe for a ledger, for two runs could send the same request; keep the ledger elsewhere")
)

// object is what an object holds, and the mark of the write that made it.
type object struct {
	body []byte
	mark string
}

// create makes an object where there is none, and returns nil only once it was
// read back. It gives ErrConflict if another is there.
func (s *bucketStore) create(ctx context.Context, name string, body []byte) error {
	want := object{body: body, mark: uuid.NewString()}
	return s.repeated(ctx, "create", name, func() (bool, error) { return s.tryCreate(ctx, name, want) })
}

// repeated tries until it is done, or no other try would do it. The pauses are
// random, and longer each time.
func (s *bucketStore) repeated(ctx context.Context, doing, name string, try func() (again bool, err error)) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier = s.pause, 2
	for n := 1; ; n++ {
		again, err := try()
		if err == nil {
			return nil
		}
		if !again || n == createTries || !pause(ctx, wait.NextBackOff()) {
			return s.failed(doing, name, err)
		}
	}
}

// tryCreate sends a creation once and looks what is there then, whatever the
// answer was: an answer may be lost, and a proxy may have sent twice. Again says
// that nothing is there and that another try may do it.
func (s *bucketStore) tryCreate(ctx context.Context, name string, want object) (again bool, err error) {
	sent := s.put(ctx, name, want)
	if refusedForGood(sent) {
		return false, sent
	}
	have, err := s.get(ctx, name)
	switch {
	case err == nil:
		return false, judge(sent, have, want)
	case !errors.Is(err, errAbsent):
		return false, fmt.Errorf("%w; looking whether it was written: %w", cmp.Or(sent, errAnswered), err)
	case sent == nil || statusOf(sent) == http.StatusPreconditionFailed:
		return false, errors.New("the server said that it is there, and does not show it: it is not safe for a ledger")
	}
	return true, sent
}

// judge says what it means that an object is there after a creation was sent.
func judge(sent error, have, want object) error {
	switch {
	case have.mark == want.mark && bytes.Equal(have.body, want.body):
		return nil
	case have.mark == want.mark:
		return errors.New("what is there is not what was written: the server damages objects")
	case sent == nil:
		return errUnsafe
	default:
		return ErrConflict
	}
}

// refusesCreation creates an object that is there, with the same bytes, which
// must be refused.
func (s *bucketStore) refusesCreation(ctx context.Context, name string, have object) error {
	return s.repeated(ctx, "prove", name, func() (bool, error) {
		err := s.put(ctx, name, have)
		switch {
		case err == nil:
			return false, errUnsafe
		case statusOf(err) == http.StatusPreconditionFailed:
			return false, nil
		}
		return !refusedForGood(err), err
	})
}

// ensure makes an empty object, which may be there already.
func (s *bucketStore) ensure(ctx context.Context, name string) error {
	return s.repeated(ctx, "create", name, func() (bool, error) {
		err := s.put(ctx, name, object{})
		if statusOf(err) == http.StatusPreconditionFailed {
			return false, nil
		}
		return !refusedForGood(err), err
	})
}

// put sends one conditional PUT, once.
func (s *bucketStore) put(ctx context.Context, name string, o object) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	// Every server of the protocol knows this sum, which is against damage only.
	sum := md5.Sum(o.body)
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: aws.String(s.at(name)), Body: bytes.NewReader(o.body),
		IfNoneMatch: aws.String("*"), ContentType: aws.String("application/json"),
		ContentMD5: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
		Metadata:   map[string]string{writeMark: o.mark},
	}, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	return short(err)
}

// get reads an object whole; errAbsent if there is none of that name.
func (s *bucketStore) get(ctx context.Context, name string) (object, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.at(name))})
	var none *types.NoSuchKey
	if errors.As(err, &none) {
		return object{}, errAbsent
	}
	if err != nil {
		return object{}, short(err)
	}
	defer func() { _ = out.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(out.Body, maxFile+1))
	if err == nil && len(body) > maxFile {
		err = fmt.Errorf("longer than %d bytes", maxFile)
	}
	return object{body: body, mark: out.Metadata[writeMark]}, err
}

// page is a part of a listing.
type page struct {
	// names are relative to the store's prefix.
	names []string
	// next continues the listing; empty at its end.
	next string
}

// start is where a listing goes on: after a name, or where a page ended.
type start struct{ after, token string }

func (s *bucketStore) list(ctx context.Context, under string, from start, most int32) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.at(under)), MaxKeys: &most}
	if from.token != "" {
		in.ContinuationToken = &from.token
	} else if from.after != "" {
		in.StartAfter = aws.String(s.at(from.after))
	}
	out, err := s.client.ListObjectsV2(ctx, in)
	if err = short(err); err == nil && aws.ToString(out.Prefix) != s.at(under) {
		// Something else answered, and what it does not show is not absent.
		err = errors.New("the answer is not the listing that was asked for")
	}
	if err != nil {
		return page{}, s.failed("list", under, err)
	}
	var p page
	for _, o := range out.Contents {
		name, ok := strings.CutPrefix(aws.ToString(o.Key), s.at(under))
		if !ok {
			return page{}, s.failed("list", under, fmt.Errorf("the answer holds %q", aws.ToString(o.Key)))
		}
		p.names = append(p.names, under+name)
	}
	if aws.ToBool(out.IsTruncated) {
		p.next = aws.ToString(out.NextContinuationToken)
		if p.next == "" && most > 1 {
			return page{}, s.failed("list", under, errors.New("the answer is cut and can't be continued"))
		}
	}
	return p, nil
}

// listAll returns every name under a folder that sorts after another.
func (s *bucketStore) listAll(ctx context.Context, under, after string) ([]string, error) {
	const most = 1000
	var names []string
	for from := (start{after: after}); ; {
		p, err := s.list(ctx, under, from, most)
		if err != nil {
			return nil, err
		}
		names = append(names, p.names...)
		if p.next == "" {
			return names, nil
		}
		if p.next == from.token {
			return nil, s.failed("list", under, errors.New("the listing goes in a circle"))
		}
		from.token = p.next
	}
}

// removeAll removes what is below the prefix of a proof.
func (s *bucketStore) removeAll(ctx context.Context) error {
	names, err := s.listAll(ctx, "", "")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.remove(ctx, name); err != nil {
			return s.failed("remove", name, err)
		}
	}
	return nil
}

func (s *bucketStore) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.at(name))})
	return short(err)
}

// at is the key of a name; a name that ends in a slash, and the empty one, are
// prefixes of keys.
func (s *bucketStore) at(name string) string {
	if s.prefix == "" {
		return name
	}
	return s.prefix + "/" + name
}

// pause waits, and says whether it was not interrupted.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
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
func (s *bucketStore) failed(doing, name string, err error) error {
	err = fmt.Errorf("%s s3://%s: %w", doing, path.Join(s.bucket, s.at(name)), err)
	if hint := s.hint(err); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

func (s *bucketStore) hint(err error) string {
	switch codeOf(err) {
	case "NoSuchBucket":
		return "make the bucket, or correct ledger: in trueup.yaml"
	case "AccessDenied", "AllAccessDisabled":
		return "the credentials need s3:ListBucket on the bucket, and s3:GetObject and s3:PutObject below " +
			cmp.Or(s.prefix, "it") + " (and s3:DeleteObject: to apply below index/, for ledger init also below tmp/)"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		return "renew the credentials"
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return "give the bucket's own region: s3://BUCKET/PREFIX?region=REGION"
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
	return "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; " +
		"the role of a machine, a container or a cluster is used only for a store that TRUEUP_LEDGER names"
}
