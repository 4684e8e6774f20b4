package blob

import (
	"net/http"
	"testing"
	"time"
)

func TestBucketAddress(t *testing.T) {
	for _, c := range []struct {
		endpoint, region, bucket string
		fips, dualStack          bool
		pathStyle                bool
		want                     string
	}{
		{region: "eu-west-1", bucket: "ledgers", want: "https://ledgers.s3.eu-west-1.amazonaws.com"},
		{region: "eu-west-1", bucket: "ledgers", pathStyle: true, want: "https://s3.eu-west-1.amazonaws.com/ledgers"},
		// No certificate covers a name with one more dot.
		{region: "eu-west-1", bucket: "led.gers", want: "https://s3.eu-west-1.amazonaws.com/led.gers"},
		{region: "cn-north-1", bucket: "ledgers", want: "https://ledgers.s3.cn-north-1.amazonaws.com.cn"},
		{region: "us-isob-east-1", bucket: "ledgers", want: "https://ledgers.s3.us-isob-east-1.sc2s.sgov.gov"},
		{region: "eusc-de-east-1", bucket: "ledgers", want: "https://ledgers.s3.eusc-de-east-1.amazonaws.eu"},
		{region: "us-gov-west-1", bucket: "ledgers", fips: true, want: "https://ledgers.s3-fips.us-gov-west-1.amazonaws.com"},
		{region: "us-east-1", bucket: "ledgers", dualStack: true, want: "https://ledgers.s3.dualstack.us-east-1.amazonaws.com"},
		{
			region: "us-east-1", bucket: "ledgers", fips: true, dualStack: true, pathStyle: true,
			want: "https://s3-fips.dualstack.us-east-1.amazonaws.com/ledgers",
		},
		{endpoint: "https://s3.example.com:8443/base/", bucket: "ledgers", want: "https://ledgers.s3.example.com:8443/base"},
		{endpoint: "https://10.0.0.1", bucket: "ledgers", want: "https://10.0.0.1/ledgers"},
		{endpoint: "http://localhost:9000", bucket: "led.gers", want: "http://led.gers.localhost:9000"},
	} {
		if c.endpoint == "" {
			c.endpoint = awsEndpoint(c.region, c.fips, c.dualStack)
		}
		u, err := bucketURL(c.endpoint, c.bucket, c.pathStyle)
		if err != nil || u.String() != c.want {
			t.Errorf("%+v gave %v, %v", c, u, err)
		}
	}
}

// TestBucketSettings reads the address from the variables and the profile of AWS.
func TestBucketSettings(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"https://own.example.com/ledgers":                        {"AWS_ENDPOINT_URL_S3": "https://own.example.com", "AWS_ENDPOINT_URL": "https://all.example.com"},
		"https://all.example.com/ledgers":                        {"AWS_ENDPOINT_URL_S3": "", "AWS_ENDPOINT_URL": "https://all.example.com"},
		"https://s3.here-1.amazonaws.com/ledgers":                {"AWS_ENDPOINT_URL_S3": "https://own.example.com", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
		"https://s3-fips.dualstack.here-1.amazonaws.com/ledgers": {"AWS_ENDPOINT_URL_S3": "", "AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true"},
	} {
		t.Run(want, func(t *testing.T) {
			f := newFakeBucket(t)
			for name, value := range env {
				t.Setenv(name, value)
			}
			if at := f.store(t, "x").server.(*s3Server).address.String(); at != want {
				t.Errorf("the bucket is at %s", at)
			}
		})
	}
}

// TestBucketClock signs by the server's clock: a machine's may be wrong.
func TestBucketClock(t *testing.T) {
	f := newFakeBucket(t)
	var signed []string
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		signed = append(signed, r.Header.Get("X-Amz-Date"))
		w.Header().Set("Date", "Sat, 21 Nov 2026 09:00:00 GMT")
		if len(signed) == 1 {
			refuse(w, http.StatusForbidden, "RequestTimeTooSkewed")
			return true
		}
		return false
	}
	s := f.store(t, "x")
	s.server.(*s3Server).now = func() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }
	if _, err := s.List(t.Context(), "log", 1); err != nil || len(signed) != 2 || signed[1] != "20261121T090000Z" {
		t.Errorf("signed at %v, %v", signed, err)
	}
}
