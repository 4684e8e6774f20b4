package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/smithy-go/logging"

	"trueup/internal/api"
	"trueup/internal/diag"
)

const bucketForm = "s3://BUCKET/PREFIX?region=REGION&path-style=true"

var (
	bucketName = diag.Pattern(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	bucketPath = diag.Pattern(`^([A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*)?$`)
	regionName = diag.Pattern(`^[a-z0-9-]{1,40}$`)
)

// s3Address is a parsed s3:// name.
type s3Address struct {
	bucket, prefix, region, endpoint string
	pathStyle                        bool
	trusted                          bool // the user named the store, not the repository
}

// OpenS3 parses s3://BUCKET/PREFIX with the parameters region, path-style and endpoint. It sends no request. The
// AWS library finds credentials, region and endpoint in the environment and the user's files. Only a trusted store may
// have an endpoint, which gets the credentials, or use the role of the machine.
func OpenS3(ctx context.Context, store string, trusted bool, now func() time.Time) (*RemoteStore, error) {
	at, err := parseS3Store(store, trusted)
	if err != nil {
		return nil, err
	}
	cfg, err := loadAWSConfig(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read the settings of the bucket's client: %w", err)
	}
	address, region, err := at.bucketURL(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &s3Server{
		bucket: newBucket("s3", at.bucket, address), credentials: cfg.Credentials, signer: v4.NewSigner(), region: region, now: now,
	}
	s.locate, s.sign, s.seen = s.locateRequest, s.signRequest, s.noteClock
	if client, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		s.http.Transport = client.GetTransport()
	}
	return newRemoteStore(s, at.prefix), nil
}

// splitStoreURL splits SCHEME://BUCKET/PREFIX?PARAMETERS.
func splitStoreURL(store, form string) (bucket, prefix string, query url.Values, err error) {
	u, err := url.Parse(store)
	if err == nil {
		query, err = url.ParseQuery(u.RawQuery)
	}
	if err != nil || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		// The error omits the store's text, which may contain a password.
		return "", "", nil, errors.New("the store is not of the form " + form)
	}
	if prefix = strings.Trim(u.Path, "/"); !bucketPath().MatchString(prefix) {
		return "", "", nil, fmt.Errorf("prefix %q is not of letters, digits, dots, hyphens, underscores and slashes", prefix)
	}
	return u.Host, prefix, query, nil
}

func parseS3Store(store string, trusted bool) (s3Address, error) {
	bucket, prefix, query, err := splitStoreURL(store, bucketForm)
	at := s3Address{bucket: bucket, prefix: prefix, trusted: trusted}
	if err != nil {
		return at, err
	}
	// A double hyphen marks special bucket types, whose listings are not sorted.
	if !bucketName().MatchString(at.bucket) || strings.Contains(at.bucket, "--") || strings.HasSuffix(at.bucket, ".mrap") {
		return at, fmt.Errorf("bucket %q must have 3 to 63 lower-case letters, digits, dots and hyphens, and be a general purpose bucket", at.bucket)
	}
	for name, values := range query {
		if err := at.setOption(name, values[len(values)-1]); err != nil {
			return at, err
		}
	}
	return at, nil
}

func (at *s3Address) setOption(name, value string) (err error) {
	switch name {
	case "region":
		if !regionName().MatchString(value) {
			return fmt.Errorf("region %q may only have lower-case letters, digits and hyphens", value)
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

// loadAWSConfig reads the user's settings. For a store that the repository names, it ignores the role of the machine,
// container or cluster: whoever can write trueup.yaml must not make a machine sign with it. A profile of the user may
// still name a web identity.
func loadAWSConfig(ctx context.Context, at s3Address) (aws.Config, error) {
	env, err := config.NewEnvConfig()
	if err != nil {
		return aws.Config{}, err
	}
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(configureTransport)),
	}
	if at.region != "" {
		options = append(options, config.WithRegion(at.region))
	}
	if !at.trusted {
		options = append(options,
			config.WithEC2IMDSClientEnableState(imds.ClientDisabled),
			config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) {
				// The client calls it before it asks for the role, and does not retry its error.
				o.AuthorizationTokenProvider = noRole{}
			}),
			config.WithWebIdentityRoleCredentialOptions(func(o *stscreds.WebIdentityRoleOptions) {
				// A cluster sets these variables, not the user.
				if env.WebIdentityTokenFilePath != "" {
					o.TokenRetriever = noRole{}
				}
			}))
	}
	return config.LoadDefaultConfig(ctx, options...)
}

// noRole returns an error instead of the token for the role of a machine.
type noRole struct{}

var errNoRole = errors.New("trueup does not use the machine's role for a store that trueup.yaml names")

func (noRole) GetToken() (string, error) { return "", errNoRole }

func (noRole) GetIdentityToken() ([]byte, error) { return nil, errNoRole }

// bucketURL returns the bucket's address and region. A setting of the environment precedes that of the profile.
func (at s3Address) bucketURL(ctx context.Context, cfg aws.Config) (u *url.URL, region string, err error) {
	var env config.EnvConfig
	var profile config.SharedConfig
	for _, source := range cfg.ConfigSources {
		switch s := source.(type) {
		case config.EnvConfig:
			env = s
		case config.SharedConfig:
			profile = s
		}
	}
	endpoint := cmp.Or(at.endpoint, aws.ToString(cfg.BaseEndpoint))
	if at.endpoint == "" && !aws.ToBool(cmp.Or(env.IgnoreConfiguredEndpoints, profile.IgnoreConfiguredEndpoints)) {
		own, _, _ := env.GetServiceBaseEndpoint(ctx, "S3")
		profileOwn, _, _ := profile.GetServiceBaseEndpoint(ctx, "S3")
		endpoint = cmp.Or(own, env.BaseEndpoint, profileOwn, endpoint)
	}
	region = cfg.Region
	switch {
	case endpoint != "":
		region = cmp.Or(region, "us-east-1")
	case region == "":
		return nil, "", errors.New("the bucket's region is unknown: write s3://BUCKET/PREFIX?region=REGION, or set AWS_REGION")
	case !regionName().MatchString(region):
		// It would be a part of the host's name, and could name another host.
		return nil, "", fmt.Errorf("the bucket's region %q may only have lower-case letters, digits and hyphens: correct AWS_REGION, or the region of the profile", region)
	default:
		endpoint = awsEndpoint(region,
			cmp.Or(env.UseFIPSEndpoint, profile.UseFIPSEndpoint) == aws.FIPSEndpointStateEnabled,
			cmp.Or(env.UseDualStackEndpoint, profile.UseDualStackEndpoint) == aws.DualStackEndpointStateEnabled)
	}
	u, err = bucketURL(endpoint, at.bucket, at.pathStyle)
	return u, region, err
}

// awsEndpoint returns the address of S3 in a region.
func awsEndpoint(region string, fips, dualStack bool) string {
	// Regions outside the commercial ones have a domain of their own.
	domain := "amazonaws.com"
	for prefix, own := range map[string]string{
		"cn-": "amazonaws.com.cn", "eusc-": "amazonaws.eu", "eu-isoe-": "cloud.adc-e.uk",
		"us-iso-": "c2s.ic.gov", "us-isob-": "sc2s.sgov.gov", "us-isof-": "csp.hci.ic.gov",
	} {
		if strings.HasPrefix(region, prefix) {
			domain = own
		}
	}
	service := "s3"
	if fips {
		service += "-fips"
	}
	if dualStack {
		service += ".dualstack"
	}
	return "https://" + service + "." + region + "." + domain
}

// parseEndpoint rejects a server without TLS, except on this machine. Its errors omit the address, which may contain a
// password.
func parseEndpoint(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the bucket's endpoint is not of the form https://HOST")
	}
	if u.Scheme == "http" && !api.IsLoopback(u) {
		return nil, errors.New("the bucket's endpoint does not use https, which would expose the credentials")
	}
	return u, nil
}

// bucketURL returns the address of a bucket. It puts the bucket into the host name, unless pathStyle is set, that
// is impossible, or no certificate would cover the name.
func bucketURL(endpoint, bucket string, pathStyle bool) (*url.URL, error) {
	u, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	_, notIP := netip.ParseAddr(u.Hostname())
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	if pathStyle || notIP == nil || u.Scheme == "https" && strings.Contains(bucket, ".") {
		at.Path += "/" + bucket
	} else {
		at.Host = bucket + "." + u.Host
	}
	return at, nil
}
