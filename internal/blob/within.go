package blob

import (
	"errors"
	"io/fs"
	"net/url"
	"strings"
)

// root is the name of a store, in parts. where is the bucket, or the git remote.
type root struct {
	scheme, where, path string
	query               url.Values
}

// IsWithin reports whether a store is the one that a name means, or below it by whole segments of its path. Server and
// parameters must be the same. An error means that name is of no store.
func IsWithin(store, name string) (bool, error) {
	above, err := parseRoot(name)
	if err != nil {
		return false, err
	}
	above.path = strings.TrimSuffix(above.path, "/")
	at, err := parseRoot(store)
	if err != nil || at.path != "" && !fs.ValidPath(at.path) {
		return false, nil
	}
	return at.scheme == above.scheme && at.where == above.where && at.query.Encode() == above.query.Encode() &&
		(above.path == "" || at.path == above.path || strings.HasPrefix(at.path, above.path+"/")), nil
}

func parseRoot(store string) (r root, err error) {
	scheme, rest, _ := strings.Cut(store, ":")
	r = root{scheme: scheme, path: rest}
	switch scheme {
	case "s3", "gs", "azblob":
		if r.where, r.path, r.query, err = parsePlace(store, scheme+"://BUCKET/"); err == nil && r.where == "" {
			err = errors.New("it names no bucket")
		}
	case "git":
		r.path, r.where = CutRemote(rest)
	case "file", "postgres":
	default:
		err = errors.New("it does not begin as a store, such as s3://BUCKET/ or postgres:NAME/")
	}
	return r, err
}
