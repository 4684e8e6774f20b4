package crash

import (
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"trueup/internal/e2e/servers"
)

// standInBucket is as much of a server of the S3 protocol as a ledger needs: one bucket, path style, conditional PUT, GET,
// DELETE, and listings in pages.
type standInBucket struct {
	mu      sync.Mutex
	objects map[string]storedObject
	// sorted are the keys in order.
	sorted []string
}

type storedObject struct {
	body   []byte
	header http.Header
}

const standInBucketName = "ledgers"

// serveStandInBucket starts a bucket for all tests, and names it to them as a server of the environment.
var serveStandInBucket = sync.OnceValue(func() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &standInBucket{objects: map[string]storedObject{}}}
	go func() { _ = server.Serve(listener) }()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "sesame", "AWS_REGION": "here-1", "AWS_CONFIG_FILE": os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		servers.Variable: os.Getenv(servers.Variable) + " s3://" + standInBucketName + "/ledger?path-style=true&endpoint=http://" + listener.Addr().String(),
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
})

// stores are those that tests can use here: the stand-in replaces a server of the S3 protocol.
func stores(t testing.TB) []string {
	t.Helper()
	if !servers.Has("s3") {
		if err := serveStandInBucket(); err != nil {
			t.Fatal(err)
		}
	}
	return append([]string{"file", "git"}, slices.DeleteFunc(servers.Schemes(), func(scheme string) bool { return !servers.Has(scheme) })...)
}

func (b *standInBucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	key, ok := strings.CutPrefix(r.URL.Path, "/"+standInBucketName)
	if err != nil || !ok {
		s3Refuses(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	b.mu.Lock()
	status, code, header, answer := b.serve(r, strings.TrimPrefix(key, "/"), body)
	b.mu.Unlock()
	if code != "" {
		s3Refuses(w, status, code)
		return
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(answer)
	}
}

// serve executes a request. The lock is held.
func (b *standInBucket) serve(r *http.Request, key string, body []byte) (status int, code string, header http.Header, answer []byte) {
	if r.Method == http.MethodGet && key == "" {
		answer, err := b.list(r)
		if err != nil {
			return http.StatusInternalServerError, "InternalError", nil, nil
		}
		return http.StatusOK, "", http.Header{"Content-Type": {"application/xml"}}, answer
	}
	have, there := b.objects[key]
	match := r.Header.Get("If-Match")
	switch {
	case r.Method == http.MethodPut && (r.Header.Get("If-None-Match") == "*" && there || match != "" && match != have.header.Get("ETag")):
		return http.StatusPreconditionFailed, "PreconditionFailed", nil, nil
	case r.Method == http.MethodPut:
		header = http.Header{"Etag": {fmt.Sprintf("\"%x\"", md5.Sum(body))}}
		kept := header.Clone()
		for name, values := range r.Header {
			if strings.HasPrefix(name, "X-Amz-Meta-") {
				kept[name] = values
			}
		}
		b.put(key, storedObject{body, kept})
		return http.StatusOK, "", header, nil
	case r.Method == http.MethodDelete:
		b.remove(key)
		return http.StatusNoContent, "", nil, nil
	case !there:
		return http.StatusNotFound, "NoSuchKey", nil, nil
	}
	return http.StatusOK, "", have.header, have.body
}

func (b *standInBucket) put(key string, o storedObject) {
	if at, there := slices.BinarySearch(b.sorted, key); !there {
		b.sorted = slices.Insert(b.sorted, at, key)
	}
	b.objects[key] = o
}

func (b *standInBucket) remove(key string) {
	if at, there := slices.BinarySearch(b.sorted, key); there {
		b.sorted = slices.Delete(b.sorted, at, at+1)
	}
	delete(b.objects, key)
}

// list answers ListObjectsV2.
func (b *standInBucket) list(r *http.Request) ([]byte, error) {
	type entry struct{ Key string }
	type shared struct{ Prefix string }
	query := r.URL.Query()
	answer := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name, Prefix          string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []entry
		CommonPrefixes        []shared
	}{Name: standInBucketName, Prefix: query.Get("prefix")}
	most, err := strconv.Atoi(query.Get("max-keys"))
	if err != nil || most > 1000 {
		most = 1000
	}
	after, delimiter, last := max(query.Get("start-after"), query.Get("continuation-token")), query.Get("delimiter"), ""
	first, _ := slices.BinarySearch(b.sorted, max(answer.Prefix, after))
	for _, key := range b.sorted[first:] {
		below, ok := strings.CutPrefix(key, answer.Prefix)
		if !ok {
			break
		}
		group, _, grouped := strings.Cut(below, delimiter)
		if grouped = grouped && delimiter != ""; grouped {
			group = answer.Prefix + group + delimiter
		}
		if key <= after || grouped && (group == last || strings.HasPrefix(after, group)) {
			continue
		}
		if len(answer.Contents)+len(answer.CommonPrefixes) == most {
			answer.IsTruncated, answer.NextContinuationToken = true, last
			break
		}
		if last = key; grouped {
			last = group
			answer.CommonPrefixes = append(answer.CommonPrefixes, shared{group})
		} else {
			answer.Contents = append(answer.Contents, entry{key})
		}
	}
	return xml.Marshal(answer)
}

func s3Refuses(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}
