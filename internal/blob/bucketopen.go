package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/smithy-go/logging"
)

// parallel is how many connections are kept for requests that are under way at once.
const parallel = 32

const bucketForm = "s3://BUCKET/PREFIX?region=REGION&path-style=true"

var (
	bucketName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`) })
	bucketPath = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
	})
	regionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9-]{1,40}$`) })
)

// bucketPlace says where a bucket store is.
type bucketPlace struct {
	bucket, prefix, region, endpoint string
	pathStyle                        bool
	// trusted says that the user named the store.
	trusted bool
}

// OpenBucket makes the store of a name, s3://BUCKET/PREFIX with the parameters region,
// path-style and endpoint; the last only if it is trusted, because whoever runs the
// program gave it. It asks no server: credentials, region and endpoint
// are looked up in the usual order of the environment and the user's files, and,
// for a name of the user, the role of the machine.
func OpenBucket(ctx context.Context, store string, trusted bool, now func() time.Time) (*Bucket, error) {
	at, err := parseBucket(store, trusted)
	if err != nil {
		return nil, err
	}
	client, err := newS3Client(ctx, at, now)
	if err != nil {
		return nil, err
	}
	return &Bucket{
		client: client, bucket: at.bucket, prefix: at.prefix,
		pause: 100 * time.Millisecond, patience: time.Minute,
	}, nil
}

// parseBucket reads a store's name. An endpoint is where credentials go, so that
// only the user may name it, and a repository may not.
func parseBucket(store string, trusted bool) (bucketPlace, error) {
	u, err := url.Parse(store)
	if err != nil || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		// The text is not repeated: it may hold a password.
		return bucketPlace{}, fmt.Errorf("the store is not of the form %s", bucketForm)
	}
	at := bucketPlace{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), trusted: trusted}
	if err := at.check(); err != nil {
		return bucketPlace{}, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bucketPlace{}, fmt.Errorf("the store is not of the form %s", bucketForm)
	}
	for name, values := range query {
		if err := at.set(name, values[len(values)-1]); err != nil {
			return bucketPlace{}, err
		}
	}
	return at, nil
}

func (at *bucketPlace) check() error {
	// Names with a double hyphen are of special types, whose listings have no
	// order.
	if !bucketName().MatchString(at.bucket) || strings.Contains(at.bucket, "--") || strings.HasSuffix(at.bucket, ".mrap") {
		return fmt.Errorf("bucket %q must have 3 to 63 lower-case letters, digits, dots and hyphens, and not be of a special type", at.bucket)
	}
	if at.prefix != "" && !bucketPath().MatchString(at.prefix) {
		return fmt.Errorf("prefix %q is not of letters, digits, dots, hyphens, underscores and slashes", at.prefix)
	}
	return nil
}

func (at *bucketPlace) set(name, value string) (err error) {
	switch name {
	case "region":
		if !regionName().MatchString(value) {
			return fmt.Errorf("region %q is not of lower-case letters, digits and hyphens", value)
		}
		at.region = value
	case "path-style":
		if at.pathStyle, err = strconv.ParseBool(value); err != nil {
			return errors.New("path-style is neither true nor false")
		}
	case "endpoint":
		if !at.trusted {
			return errors.New("trueup.yaml may not choose the server that gets the credentials: remove endpoint, and set AWS_ENDPOINT_URL_S3, or the whole store in TRUEUP_LEDGER")
		}
		at.endpoint = value
	default:
		return fmt.Errorf("%q is not one of region, path-style, endpoint", name)
	}
	return nil
}

// newS3Client makes the client of a bucket. AWS's own library finds the credentials, so
// that profiles, SSO, web identities and roles work as everywhere.
func newS3Client(ctx context.Context, at bucketPlace, now func() time.Time) (*s3Client, error) {
	cfg, err := loadConfig(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read the settings of the bucket's client: %w", err)
	}
	client := &s3Client{
		http: &http.Client{}, credentials: cfg.Credentials, signer: v4.NewSigner(), region: cfg.Region, now: now,
	}
	if b, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		client.http.Transport = b.GetTransport()
	}
	// A redirect would take the request, and what signs it, elsewhere.
	client.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	endpoint := cmp.Or(at.endpoint, configuredEndpoint(ctx, cfg))
	if client.region == "" && endpoint != "" {
		client.region = "us-east-1"
	}
	if client.region == "" {
		return nil, errors.New("the bucket's region is unknown: write s3://BUCKET/PREFIX?region=REGION, or set AWS_REGION")
	}
	if endpoint == "" {
		endpoint = awsAddress(client.region, configuredVariant(ctx, cfg))
	}
	client.bucket, err = bucketAddress(endpoint, at.bucket, at.pathStyle)
	return client, err
}

func loadConfig(ctx context.Context, at bucketPlace) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = parallel
		})),
	}
	if at.region != "" {
		options = append(options, config.WithRegion(at.region))
	}
	if !at.trusted {
		without, err := withoutRole()
		if err != nil {
			return aws.Config{}, err
		}
		options = append(options, without...)
	}
	return config.LoadDefaultConfig(ctx, options...)
}

// configuredEndpoint returns the address that the user set for S3, or for all services, or
// "". The environment wins over a profile.
func configuredEndpoint(ctx context.Context, cfg aws.Config) string {
	type ignorer interface {
		GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
	}
	type namer interface {
		GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
	}
	all := aws.ToString(cfg.BaseEndpoint)
	sources := cfg.ConfigSources
	if ignored, _ := configured(sources, func(s ignorer) (bool, bool, error) { return s.GetIgnoreConfiguredEndpoints(ctx) }); ignored {
		return all
	}
	ofS3, _ := configured(sources, func(s namer) (string, bool, error) {
		own, found, err := s.GetServiceBaseEndpoint(ctx, "S3")
		if env, ok := s.(config.EnvConfig); ok && !found && env.BaseEndpoint != "" {
			return env.BaseEndpoint, true, nil
		}
		return own, found, err
	})
	return cmp.Or(ofS3, all)
}

// configuredVariant returns which addresses of AWS the user chose.
func configuredVariant(ctx context.Context, cfg aws.Config) s3Variant {
	type fips interface {
		GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
	}
	type dualStack interface {
		GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error)
	}
	useFIPS, _ := configured(cfg.ConfigSources, func(s fips) (aws.FIPSEndpointState, bool, error) { return s.GetUseFIPSEndpoint(ctx) })
	useDual, _ := configured(cfg.ConfigSources, func(s dualStack) (aws.DualStackEndpointState, bool, error) {
		return s.GetUseDualStackEndpoint(ctx)
	})
	return s3Variant{fips: useFIPS == aws.FIPSEndpointStateEnabled, dualStack: useDual == aws.DualStackEndpointStateEnabled}
}

// withoutRole keeps the client from asking for the role of the machine that it runs
// on, whether the machine, its container or its cluster gives it: whoever can write
// trueup.yaml must not make a machine sign with that. A profile of the user's may
// still name a web identity.
func withoutRole() ([]func(*config.LoadOptions) error, error) {
	env, err := config.NewEnvConfig()
	if err != nil {
		return nil, err
	}
	return []func(*config.LoadOptions) error{
		config.WithEC2IMDSClientEnableState(imds.ClientDisabled),
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) {
			// It is asked for before the role; an error of a request would be tried again.
			o.AuthorizationTokenProvider = noRole{}
		}),
		config.WithWebIdentityRoleCredentialOptions(func(o *stscreds.WebIdentityRoleOptions) {
			// Clusters set the variables of a web identity by themselves.
			if env.WebIdentityTokenFilePath != "" {
				o.TokenRetriever = noRole{}
			}
		}),
	}, nil
}

// noRole stands where a role of the machine would be asked for.
type noRole struct{}

var errNoRole = errors.New("trueup does not use the machine's role for a store that trueup.yaml names")

// GetToken gives none.
func (noRole) GetToken() (string, error) { return "", errNoRole }

// GetIdentityToken gives none.
func (noRole) GetIdentityToken() ([]byte, error) { return nil, errNoRole }
