package blob

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeBucket is as much of a server of the S3 protocol as the store uses: one
// bucket, conditional PUT, GET, DELETE, and listings in pages.
type fakeBucket struct {
	URL string

	mu      sync.Mutex
	objects map[string][]byte
	// sorted are the keys in order, if they did not change since.
	sorted []string
	// calls are the requests, as METHOD key, bytes what was answered.
	calls []string
	bytes int
	// ignores makes it take every PUT, whatever its condition.
	ignores bool
	// reversed makes it list the last names first.
	reversed bool
	// pageSize bounds a page; 0 means 1000.
	pageSize int
	// before may answer a request itself, after may spoil the answer to one that
	// was carried out; both say whether they did.
	before, after func(w http.ResponseWriter, r *http.Request) bool
}

const fakeName = "ledgers"

func newFakeBucket(t testing.TB) *fakeBucket {
	f := &fakeBucket{objects: map[string][]byte{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.URL = server.URL
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "sesame")
	t.Setenv("AWS_REGION", "here-1")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	return f
}

// store opens a prefix of the bucket, with short waits.
func (f *fakeBucket) store(t testing.TB, prefix string) *RemoteStore {
	t.Helper()
	return quickBucket(t, "s3://"+fakeName+"/"+prefix+"?path-style=true")
}

func quickBucket(t testing.TB, where string) *RemoteStore {
	t.Helper()
	s, err := OpenS3(t.Context(), where, true, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s.pause = time.Millisecond
	return s
}

func (f *fakeBucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, ok := strings.CutPrefix(r.URL.Path, "/"+fakeName)
	if strings.HasPrefix(r.Host, fakeName+".") {
		key, ok = r.URL.Path, true
	}
	key = strings.TrimPrefix(key, "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+key)
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	if !ok {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	answer := httptest.NewRecorder()
	f.serve(answer, r, key, body)
	if after != nil && after(w, r) {
		return
	}
	f.set(func() { f.bytes += answer.Body.Len() })
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (f *fakeBucket) serve(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have, there := f.objects[key]
	switch {
	case r.Method == http.MethodPut && r.Header.Get("If-None-Match") == "*" && there && !f.ignores:
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		f.sorted = nil
		f.objects[key] = body
		sum := md5.Sum(body)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
	case r.Method == http.MethodGet && key == "":
		f.list(w, r)
	case r.Method == http.MethodGet && !there:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Length", strconv.Itoa(len(have)))
		_, _ = w.Write(have)
	case r.Method == http.MethodDelete:
		f.sorted = nil
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (f *fakeBucket) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	most, err := strconv.Atoi(query.Get("max-keys"))
	if err != nil || f.pageSize > 0 && f.pageSize < most {
		most = max(f.pageSize, 1)
	}
	type entry struct{ Key string }
	answer := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name, Prefix          string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []entry
	}{Name: fakeName, Prefix: query.Get("prefix")}
	if len(f.sorted) != len(f.objects) {
		f.sorted = slices.Sorted(maps.Keys(f.objects))
	}
	after := max(query.Get("start-after"), query.Get("continuation-token"))
	first, _ := slices.BinarySearch(f.sorted, max(answer.Prefix, after))
	keys := f.sorted[first:]
	if f.reversed {
		keys = slices.Clone(keys)
		slices.Reverse(keys)
	}
	for _, key := range keys {
		if key <= after || f.reversed && !strings.HasPrefix(key, answer.Prefix) {
			continue
		}
		if !strings.HasPrefix(key, answer.Prefix) {
			break
		}
		if len(answer.Contents) == most {
			answer.IsTruncated, answer.NextContinuationToken = true, answer.Contents[most-1].Key
			break
		}
		answer.Contents = append(answer.Contents, entry{key})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no: %s</Message></Error>", code, code)
}

// hangUp ends the connection without an answer.
func hangUp(w http.ResponseWriter) {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = c.Close()
	}
}

// times gives a fault to the first n requests of a method and of keys below a
// folder.
func times(n int, method, folder string, fault func(http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 || r.Method != method || !strings.Contains(r.URL.Path+"?"+r.URL.Query().Get("prefix"), folder) {
			return false
		}
		n--
		fault(w)
		return true
	}
}

// set changes how the server behaves.
func (f *fakeBucket) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}
