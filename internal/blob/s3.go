package blob

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"trueup/internal/diag"
)

// s3Server is a bucket on a server of the S3 protocol. It creates objects with If-None-Match: *.
type s3Server struct {
	bucket
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	region      string
	now         func() time.Time
	// skew is how far the server's clock is ahead of now.
	skew atomic.Int64
}

func (s *s3Server) withOwnConnection() server { return s }

// put sends one PUT. confirmed reports whether the server answered with the checksum of these bytes.
func (s *s3Server) put(ctx context.Context, key string, content []byte) (confirmed bool, err error) {
	// Every S3 server supports MD5. It only has to detect damage.
	sum := md5.Sum(content)
	header, _, err := s.send(ctx, bucketRequest{
		method: http.MethodPut, key: key, body: content,
		header: map[string]string{
			"If-None-Match": "*", "Content-Type": "application/json", "Content-MD5": base64.StdEncoding.EncodeToString(sum[:]),
		},
	})
	return err == nil && strings.Trim(header.Get("ETag"), `"`) == hex.EncodeToString(sum[:]), err
}

func (s *s3Server) listPage(ctx context.Context, prefix, token string, most int) (keys []string, next string, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "max-keys": {strconv.Itoa(most)}}
	if token != "" {
		query.Set("continuation-token", token)
	}
	p, err := s.readListing(ctx, "ListBucketResult", query)
	switch {
	case err != nil || !p.IsTruncated:
		return p.Keys, "", err
	case p.NextContinuationToken == "" && most > 1:
		return nil, "", errors.New("the listing is truncated and names no next page")
	}
	return p.Keys, p.NextContinuationToken, nil
}

func (s *s3Server) locateRequest(r bucketRequest) *url.URL {
	address := *s.address
	address.Path += "/" + r.key
	address.RawPath = httpbinding.EscapePath(address.Path, false)
	return &address
}

// noteClock notes how far the server's clock is ahead: signatures are valid for minutes.
func (s *s3Server) noteClock(answer http.Header) {
	// An answer with Age is from a cache, and its date may be old.
	if date, err := http.ParseTime(answer.Get("Date")); err == nil && answer.Get("Age") == "" {
		s.skew.Store(int64(date.Sub(s.now())))
	}
}

func (s *s3Server) signRequest(req *http.Request, body []byte) error {
	credentials, err := s.credentials.Retrieve(req.Context())
	if err != nil {
		return &credentialsError{err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; trueup uses the role of a machine, container or cluster only for a store that TRUEUP_LEDGER or TRUEUP_PROJECTS names"}
	}
	diag.RegisterSecret(credentials.SecretAccessKey)
	diag.RegisterSecret(credentials.SessionToken)
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	signedAt := s.now().Add(time.Duration(s.skew.Load()))
	err = s.signer.SignHTTP(req.Context(), credentials, req, hash, "s3", s.region, signedAt, func(o *v4.SignerOptions) {
		o.DisableURIPathEscaping = true
	})
	if err != nil {
		return fmt.Errorf("sign the request: %w", err)
	}
	return nil
}

func (s *s3Server) hint(err error, prefix string) string {
	switch serverError(err).Code.String() {
	case "NoSuchBucket":
		return ": create the bucket, or correct ledger: in trueup.yaml"
	case "AccessDenied", "AllAccessDisabled":
		return ": the credentials need s3:ListBucket on the bucket, and s3:GetObject and s3:PutObject below " +
			cmp.Or(prefix, "it") + ". trueup ledger init also needs s3:DeleteObject below tmp/"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		return ": renew the credentials"
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return ": name the bucket's region: s3://BUCKET/PREFIX?region=REGION"
	case "NotImplemented":
		return ": the server lacks conditional writes and is not safe for a ledger"
	}
	return ""
}
