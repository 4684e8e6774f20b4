package blob

import "testing"

// FuzzBucketName: a name of a repository's never says where credentials go.
func FuzzBucketName(f *testing.F) {
	for _, name := range []string{"s3://bucket/prefix?region=eu&endpoint=http://evil.example", "s3://user:password@bucket", "s3://a", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if at, err := parseS3Store(name, false); err == nil && at.endpoint != "" {
			t.Fatalf("%q names an endpoint, and who says so is a repository", name)
		}
	})
}
