package blob

import (
	"path"
	"strings"
	"testing"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		store, name string
		want        bool
	}{
		{"s3://acme/shop", "s3://acme/", true},
		{"s3://acme/shop", "s3://acme", true},
		{"s3://acme/teams/a/shop", "s3://acme/teams/a", true},
		{"s3://acme/teams/a", "s3://acme/teams/a/", true},
		{"s3://acme/teams/ab", "s3://acme/teams/a", false},
		{"s3://acme/teams", "s3://acme/teams/a", false},
		{"s3://acme-evil/shop", "s3://acme", false},
		{"s3://acme.evil.example/shop", "s3://acme", false},
		{"s3://acme:443/shop", "s3://acme", false},
		{"s3://acme@evil/shop", "s3://acme", false},
		{"s3://evil/acme/shop", "s3://acme", false},
		{"gs://acme/shop", "s3://acme", false},
		{"S3://acme/shop", "s3://acme", false},
		{"s3://acme/../evil/shop", "s3://acme", false},
		{"s3://acme/teams/a/../b", "s3://acme/teams/a", false},
		{"s3://acme/teams/a/%2e%2e/b", "s3://acme/teams/a", false},
		{"s3://acme/teams%2fa/shop", "s3://acme/teams/a", true}, // the address that is opened is the same
		{"s3://acme/shop?endpoint=https://evil.example", "s3://acme", false},
		{"s3://acme/shop?region=eu-west-1", "s3://acme", false},
		{"s3://acme/shop?region=eu-west-1", "s3://acme/?region=eu-west-1", true},
		{"s3://acme/shop?region=eu-west-1&region=x", "s3://acme/?region=eu-west-1", false},
		{"s3://acme/shop?region=eu-west-1&endpoint=https://evil.example", "s3://acme/?region=eu-west-1", false},
		{"s3://acme/shop", "s3://acme/?region=eu-west-1", false},
		{"s3://acme/shop#?region=eu-west-1", "s3://acme/?region=eu-west-1", false},
		{"azblob://ledgers/shop", "azblob://ledgers/", true},
		{"postgres:teams/a", "postgres:teams/", true},
		{"postgres:teams-b", "postgres:teams", false},
		{"postgres:teams/../b", "postgres:teams", false},
		{"postgres:a", "postgres:", true},
		{"git:refs/trueup/shop", "git:refs/trueup/", true},
		{"git:refs/trueup/shop@origin", "git:refs/trueup", true},
		{"git:refs/trueup/shop@evil", "git:refs/trueup", false},
		{"git:refs/heads/main", "git:refs/trueup", false},
		{"file:ledger", "s3://acme", false},
		{"", "s3://acme", false},
	} {
		if got, err := IsStoreWithin(c.store, c.name); err != nil || got != c.want {
			t.Errorf("%q in %q: %t, %v", c.store, c.name, got, err)
		}
	}
	for _, name := range []string{"acme", "s3://", "s3:acme", "https://acme/", "s3://user:password@acme/", "s3://acme/../x"} {
		if got, err := IsStoreWithin("s3://acme/shop", name); err == nil || got {
			t.Errorf("%q: %t and no error", name, got)
		}
	}
}

// FuzzWithin: a store of a repository's that is within another one is in the same bucket of the same server, in a folder
// of it, whatever its name looks like.
func FuzzWithin(f *testing.F) {
	const name = "s3://acme/teams/a?region=eu-west-1"
	for _, store := range []string{"s3://acme/teams/a/shop?region=eu-west-1", "s3://acme/teams/a?region=eu-west-1&endpoint=https://evil.example", "s3://acme/teams/%61/x?region=eu-west-1", "s3://a"} {
		f.Add(store)
	}
	f.Fuzz(func(t *testing.T, store string) {
		in, err := IsStoreWithin(store, name)
		if err != nil {
			t.Fatal(err)
		}
		at, err := parseS3Store(store, true)
		if !in || err != nil {
			return
		}
		u, err := bucketURL("https://s3.example.com", at.bucket, true)
		if err != nil || u.Host != "s3.example.com" || u.Path != "/acme" || at.endpoint != "" || at.region != "eu-west-1" || at.pathStyle {
			t.Fatalf("%q is %+v at %v: %v", store, at, u, err)
		}
		if folder := path.Clean("/" + at.prefix); folder != "/teams/a" && !strings.HasPrefix(folder, "/teams/a/") {
			t.Fatalf("%q is in %s", store, folder)
		}
	})
}
