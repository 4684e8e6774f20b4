package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

func TestTokensPrintAsStars(t *testing.T) {
	const secret = "s3cr3t-canary"
	tok, err := NewToken(secret + "\r\n")
	if err != nil || tok.Reveal() != secret {
		t.Fatalf("%v", err)
	}
	type holder struct {
		Token  Token
		hidden Token
		Map    map[string]Endpoint
		cfg    *ClientConfig
	}
	h := holder{Token: tok, hidden: tok, Map: map[string]Endpoint{"x": {Token: tok}}, cfg: &ClientConfig{Endpoints: map[kind.Area]Endpoint{kind.Delivery: {Token: tok}}}}
	var out strings.Builder
	for _, v := range []any{tok, &tok, h, &h, *h.cfg, []Token{tok}, NewClient(*h.cfg), errors.New(tok.String())} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%p"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	}
	asJSON, err := json.Marshal(map[string]any{"a": tok, "b": &tok, "c": h.Map})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(asJSON)
	text, _ := tok.MarshalText()
	out.Write(text)
	if strings.Contains(out.String(), secret) || strings.Contains(out.String(), fmt.Sprintf("%x", secret)) {
		t.Error("the token is printed")
	}
	if tok.String() != "***" || fmt.Sprintf("%#v", tok) != "***" || string(text) != "***" || !strings.Contains(string(asJSON), `"a":"***"`) {
		t.Error("the token is not printed as stars")
	}
}

func TestNewTokenRefuses(t *testing.T) {
	for _, text := range []string{"", "\n", "a b", "a\n\n", " a", "a\t", "a\x00b", "a\x7f", "ä", "a\nb\n", "\u202ea"} {
		tok, err := NewToken(text)
		if err == nil || !tok.IsZero() || tok.Reveal() != "" {
			t.Errorf("%q is a token", text)
		} else if len(text) > 2 && strings.Contains(err.Error(), text) {
			t.Errorf("the error quotes the token: %v", err)
		}
	}
}

func TestParseBase(t *testing.T) {
	for raw, want := range map[string]string{
		"https://api.example.com/delivery/v2.1":    "",
		"https://api.example.com/machine/v1/thr1/": "",
		"https://api.example.com/apis/GROUP%2FV":   "",
		"https://api.example.com:8443":             "",
		"HTTPS://api.example.com":                  "",
		"http://127.0.0.1:80/x":                    "",
		"http://localhost/x":                       "",
		"http://API.Localhost:8":                   "",
		"http://[::1]:8/x":                         "",
		"":                                         "no host",
		"api.example.com":                          "no host",
		"/path":                                    "no host",
		"https:///x":                               "no host",
		"https://%2525":                            "percent sign",
		"https://[fe80::1%25eth0]/":                "percent sign",
		"mailto:x@example.com":                     "no host",
		"https://user:secret@api.example.com":      "user name or a password",
		"https://secret@api.example.com":           "user name or a password",
		"http://api.example.com":                   "trueup uses https",
		"http://127.0.0.1.example.com":             "trueup uses https",
		"http://localhost.example.com":             "trueup uses https",
		"http://notlocalhost":                      "trueup uses https",
		"ftp://api.example.com":                    "a scheme other than https",
		"https://api.example.com/?a=secret":        "query or a fragment",
		"https://api.example.com/?":                "query or a fragment",
		"https://api.example.com/#secret":          "query or a fragment",
		"https://api.example.com/#":                "query or a fragment",
		"https://api.example.com/a/../b":           "dot segment",
		"https://api.example.com/%2e%2e/b":         "dot segment",
		"https://api.example.com/a b":              "not a URL",
		"https://api.example.com\n":                "not a URL",
		"https://api.example.com:secret/":          "not a URL",
	} {
		_, err := ParseBaseURL(raw)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", raw, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", raw, err, want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error quotes the address: %v", raw, err)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{1 << 30: "1 GiB", 16 << 20: "16 MiB", 2048: "2 KiB", 2049: "2049 bytes"} {
		if got := formatSize(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestHopeless(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("x: %w", &net.DNSError{IsNotFound: true}): true,
		&net.DNSError{IsTemporary: true}:                     false,
		&tls.CertificateVerificationError{}:                  true,
		tls.RecordHeaderError{}:                              true,
		io.ErrUnexpectedEOF:                                  false,
	} {
		if isHopeless(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

func testKind(t testing.TB) *kind.Kind {
	k, ok := kind.FindKind("CDN")
	if !ok {
		t.Fatal("no such kind")
	}
	return k
}

// TestTextIsCheckedHoweverItIsCut: the borders of reads change nothing.
func TestTextIsCheckedHoweverItIsCut(t *testing.T) {
	k := testKind(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }), "")
		for _, body := range []string{`{"x":"` + text + `","items":[]}`, `[{"metadata":{"name":"a"},"spec":{"x":"` + text + `"}}]`} {
			for _, wrap := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader,
			} {
				src := &bodyReader{r: wrap(strings.NewReader(body)), object: 1 << 20, list: 1 << 20}
				_, _, err := decodeList(src, k, kind.Workspace{}, func(kind.LiveObject) error { return nil })
				if (err == nil) != utf8.ValidString(text) {
					t.Fatalf("%q: %v", body, err)
				}
			}
		}
	})
}

func FuzzListDecode(f *testing.F) {
	for _, seed := range []string{
		`{"items":[{"metadata":{"name":"a"},"spec":{"x":1}}],"metadata":{"continue":"x"}}`, `[]`, `{"items":null}`,
		`{"data":[{"metadata":{"name":"é"}}]}`, `{"kind":"CDNList"}`, `[{}`,
		`{"metadata":{"remainingItemCount":1e9},"items":[]} `, "[\"\xff\"]",
		`[{"status":{"b":-0,"a":1.50},"spec":{"z":"\u0026\/","a":[1,{"q":null,"b":true}],"\u0061b":1e2},"metadata":{"name":"a"}} , {"metadata":{"name":"b"}}]`,
		`{"x":{"a":1,"a":2},"total":12,"it\u0065ms":[{"metadata":{"name":"a"},"spec":{"y":"\ud800"}}]}`,
	} {
		f.Add([]byte(seed))
	}
	k := testKind(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		decode := func(r io.Reader) (items []kind.LiveObject, says string, err error) {
			src := &bodyReader{r: r, object: 1 << 16, list: 1 << 20}
			next, more, err := decodeList(src, k, kind.Workspace{}, func(o kind.LiveObject) error {
				items = append(items, o)
				return nil
			})
			return items, fmt.Sprint(next, more), err
		}
		items, says, err := decode(bytes.NewReader(body))
		slow, slowSays, slowErr := decode(iotest.OneByteReader(bytes.NewReader(body)))
		if (err == nil) != (slowErr == nil) || err == nil && (len(items) != len(slow) || says != slowSays) {
			t.Fatalf("%q: the borders of reads change the answer: %v, %v", body, err, slowErr)
		}
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q is a list", body)
		}
		for i, doc := range listed(body) {
			if want, err := k.ReadObject(canon.Encode(doc)); err != nil || !reflect.DeepEqual(items[i], want) {
				t.Fatalf("%q holds %+v, not %+v, %v", body, items[i], want, err)
			}
		}
	})
}

// listed are the items of a list that can be read, by way of a tree.
func listed(body []byte) []map[string]any {
	v, err := canon.Decode(body)
	if err != nil {
		return nil // a key stands twice where nobody looks
	}
	items, _ := v.([]any)
	if fields, ok := v.(map[string]any); ok {
		for _, name := range []string{"items", "data"} {
			if has, ok := fields[name].([]any); ok {
				items = has
			}
		}
	}
	docs := make([]map[string]any, len(items))
	for i, item := range items {
		docs[i] = item.(map[string]any)
	}
	return docs
}

func FuzzErrorBody(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"Status","message":"m","reason":"r","details":{"causes":[{"field":"<nil>","message":"x"}],"retryAfterSeconds":1}}`,
		`{"message":{"detail":"d"}}`, `{"errors":["a",{"detail":"b"}]}`, `{"title":"t","detail":"d"}`, `"x"`, `[`, "<html><title>T</title>\x1b[2J",
		"<html><title>İ</title>", `{"error":{"error":{"error":{"error":{"error":{"error":"x"}}}}}}`, "<!doctype html><TITLE>secret-canary", "::error::\r\n::stop",
	} {
		f.Add([]byte(seed))
	}
	if _, err := NewToken("secret-canary"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := readErrorBody(body)
		failure := &Error{Op: "get", Kind: "K", Name: "n", Status: 400, RetryAfter: c.retryAfter}
		c.quoteInto(failure)
		text := failure.Error()
		for _, r := range text {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q became %q", body, text)
			}
		}
		if strings.Contains(strings.ToLower(text), "secret-c") || len(text) > messageSize+(2*maxCauses+5)*(excerptSize+10) || c.retryAfter < 0 {
			t.Fatalf("%q became %q", body, text)
		}
	})
}

// slowConn has handed on what it was given before it returns.
type slowConn struct {
	net.Conn
	taken, goOn chan struct{}
	err         error
}

func (c *slowConn) Write(p []byte) (int, error) {
	c.taken <- struct{}{}
	<-c.goOn
	if c.err != nil {
		return 0, c.err
	}
	return len(p), nil
}

// TestWhatIsBeingWrittenCounts: the server may have carried out a request and
// gone away before the write that sent it has returned.
func TestWhatIsBeingWrittenCounts(t *testing.T) {
	for _, refused := range []error{nil, io.ErrClosedPipe} {
		slow := &slowConn{taken: make(chan struct{}), goOn: make(chan struct{}), err: refused}
		conn := &countedConn{Conn: slow}
		watch := &writeTracker{provable: true}
		watch.gotConn(conn)
		done := make(chan struct{})
		go func() {
			_, _ = conn.Write([]byte("POST"))
			close(done)
		}()
		<-slow.taken
		if watch.nothingWritten(t.Context()) {
			t.Error("a request that was being written counted as not sent")
		}
		close(slow.goOn)
		<-done
		if got, want := watch.nothingWritten(t.Context()), refused != nil; got != want {
			t.Errorf("after the write nothingWritten is %v, want %v", got, want)
		}
	}
}

// TestAPauseThatIsOverMeanwhileIsStillOne: whoever was turned away can tell, also
// where the pause ends while the error is made.
func TestAPauseThatIsOverMeanwhileIsStillOne(t *testing.T) {
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if e := (&operation{verb: kind.Create, kind: kind.AllKinds()[0]}).pausedError(over, ""); e.RetryAfter <= 0 {
		t.Errorf("waits %s: %v", e.RetryAfter, e)
	}
}
