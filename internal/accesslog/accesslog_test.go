package accesslog

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// byHost has one class of requests for a host.
func byHost(host string) ClassOf {
	return func(h, path string) (int, string) {
		if h == host {
			return 0, h + path
		}
		return -1, ""
	}
}

func TestLines(t *testing.T) {
	const cloudfront = "#Version: 1.0\n#Fields: date time c-ip cs-method cs(Host) cs-uri-stem cs-uri-query cs(Cookie) x-host-header\n"
	for line, want := range map[string]string{
		`1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326`:                      "- /a.gif",
		`1.2.3.4 - John Doe [10/Oct/2000:13:55:36 -0700] "GET /a?b=/c HTTP/1.0" 200 1`:                 "- /a",
		`1.2.3.4 id u [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 1`:                            "- /a",
		`::1 - - [t] "POST /a#b HTTP/2.0" 200 1 "https://from.example/?q" "agent \"x\" GET"`:           "- /a",
		`h.example:443 1.2.3.4 - - [t] "GET /a HTTP/1.1" 200 1 "-" "-"`:                                "h.example /a",
		`h.example 1.2.3.4 - - [t] "GET / HTTP/1.1" 200 1`:                                             "h.example /",
		`1.2.3.4 - - [t] "GET http://h.example:8080/a HTTP/1.1" 200 1`:                                 "h.example /a",
		`1.2.3.4 - - [t] "GET https://user:pass@h.example?q HTTP/1.1" 200 1`:                           "h.example /",
		`1.2.3.4 - - [t] "GET http://[::1]:80/a HTTP/1.1" 200 1`:                                       "[::1] /a",
		`1.2.3.4 - - [t] "GET /\xC3\xA4\"\\ HTTP/1.1" 200 1`:                                           `- /ä"\`,
		`1.2.3.4 - - [t] "GET /a\x3Fb HTTP/1.1" 200 1`:                                                 "- /a",
		`1.2.3.4 "-" "GET /a HTTP/1.1" 200`:                                                            "- /a",
		`1.2.3.4 - - [t] "GET /a" 200`:                                                                 "- /a",
		`<134>2016-07-04T22:37:26Z cache-sjc3128 name[82959]: 1.2.3.4 - - [t] "GET /a HTTP/1.1" 200 1`: "- /a",
		`<134>2016-07-04T22:37:26Z cache-sjc3128 name[82959]: {"host":"h.example","url":"/a?b"}`:       "h.example /a",
		`1.2.3.4 - - [t] "GET / HTTP/1.1`:                                                              "unread",
		`1.2.3.4 - - [t] "\x16\x03\x01" 400 1 "-" "-"`:                                                 "unread",
		`1.2.3.4 - - [t] "OPTIONS * HTTP/1.1" 200 1`:                                                   "unread",
		`1.2.3.4 - - [t] "CONNECT h:443 HTTP/1.1" 200 1`:                                               "unread",
		`1.2.3.4 - - [t] "GET http:///a HTTP/1.1" 200 1`:                                               "unread",
		`nonsense`:           "unread",
		`<134>`:              "unread",
		`# "GET / HTTP/1.1"`: "comment",

		`{"time":1,"host":"h.example:443","request_uri":"/a?b","status":200}`:                                                 "h.example /a",
		`{"request":{"remote_ip":"1.2.3.4","headers":{"Host":["x"],"uri":"/no"},"host":"h.example","uri":"/a"},"status":200}`: "h.example /a",
		`{"httpRequest":{"requestMethod":"GET","requestUrl":"https://h.example/a?b"},"host":""}`:                              "h.example /a",
		`{"ClientRequestHost":"h.example","ClientRequestURI":"\/a\/\u00e4?b=\"c\""}`:                                          "h.example /a/ä",
		`{"server_name":"_","host":"h.example","uri":"/index.php","request":"GET /a HTTP/1.1"}`:                               "h.example /a",
		`{"host":{"name":"log-collector"},"tags":["host","x",{"uri":"/no"}],"path":"/a"}`:                                     "- /a",
		` {"host":"h"}`:                  "unread",
		`{"host":"h.example","url":"/a"`: "unread",
		`{"host":"h","url":"/a"} x`:      "unread",
		`{"host":"h","url":"/a\x"}`:      "unread",
		`{"host":"h","url":1}`:           "unread",
		`{}`:                             "unread",

		cloudfront + "2019-12-04\t21:02:31\t1.2.3.4\tGET\td111.cloudfront.net\t/a\tq=1\tsecret\th.example": "h.example /a",
		cloudfront + "2019-12-04\t21:02:31\t1.2.3.4\tGET\td111.cloudfront.net\t/a\tq=1\tsecret\t-":         "d111.cloudfront.net /a",
		cloudfront + "2019-12-04\t21:02:31\t1.2.3.4\tGET":                                                  "unread",
		"#Fields: date c-ip cs-uri-stem cs-host\n2019-12-04 1.2.3.4 /a h.example:80":                       "h.example /a",
		"#Fields: date c-ip cs-uri-stem\n2019-12-04\t1.2.3.4\t/a":                                          "- /a",
		"#Fields: date c-ip\n" + `1.2.3.4 - - [t] "GET /a HTTP/1.1" 200 1`:                                 "- /a",
	} {
		var p parser
		got := "unread"
		for text := range strings.Lines(line) {
			r, ok := p.parse([]byte(strings.TrimSuffix(text, "\n")))
			switch {
			case !ok:
				got = "unread"
			case r.comment:
				got = "comment"
			case len(r.host) == 0:
				got = "- " + string(r.path)
			default:
				got = string(r.host) + " " + string(r.path)
			}
		}
		if got != want {
			t.Errorf("%s\n is %q, want %q", line, got, want)
		}
	}
}

// TestOddHosts has hosts that no request can have: one must not pass for another host and path.
func TestOddHosts(t *testing.T) {
	for _, host := range []string{"h/a", "a b.h", "[.h", "h]", "a@h", "a:b:1", "h?", "h%41", `h\\`, `h\n`} {
		c := NewCounter(byHost("h"))
		log := fmt.Sprintf("{\"host\":\"%s\",\"url\":\"/b\"}\n{\"host\":\"h\",\"url\":\"/a/b\"}\n{\"host\":\"[::1]\",\"url\":\"/\"}", host)
		out, err := c.Read(strings.NewReader(log), "")
		if err != nil || out.Unread != (Lines{Count: 1, First: 1}) || out.Requests != 2 || c.Classes(1)[0].Requests != 1 {
			t.Errorf("%s: %+v %+v %v", host, out, c.Classes(1), err)
		}
	}
}

// TestObjects compares the reader of JSON with encoding/json.
func TestObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"", "/a", "h", `"`, `\`, `\"`, "{", "}", "[", ",", ":", "ä\n", "<", "request", "host", "uri"})
		var value func(depth int) *rapid.Generator[any]
		value = func(depth int) *rapid.Generator[any] {
			leaf := rapid.OneOf(rapid.Map(word, func(s string) any { return s }), rapid.SampledFrom([]any{nil, true, 1.5}))
			if depth == 0 {
				return leaf
			}
			list := rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return l })
			object := rapid.Map(rapid.MapOfN(word, value(depth-1), 0, 3), func(m map[string]any) any { return m })
			return rapid.OneOf(leaf, list, object)
		}
		fields := rapid.MapOfN(word, value(3), 0, 5).Draw(t, "fields")
		path := "/" + word.Draw(t, "path")
		fields["request_uri"] = path
		host := word.Draw(t, "host")
		if fields["Host"] = host; host != "" {
			delete(fields, "host")
			delete(fields, "request")
		}
		line, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		var p parser
		r, ok := p.parse(line)
		if want := string(withoutPort([]byte(host))); !ok || string(r.path) != path || want != "" && string(r.host) != want {
			t.Fatalf("%s is %q %q %v", line, r.host, r.path, ok)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`h.example 1.2.3.4 - - [t] "GET http://a@h/\x41?b HTTP/1.1" 200 1`))
	f.Add([]byte("#Fields: cs(Host) cs-uri-stem\nh\t/a"))
	f.Add([]byte(`<1>a: {"request":{"host":"h","uri":"\/a"}}`))
	f.Fuzz(func(t *testing.T, log []byte) {
		lines := int64(bytes.Count(log, []byte("\n"))) + 1
		c := NewCounter(func(host, path string) (int, string) {
			if host == "" || path == "" || path[0] != '/' || strings.Contains(path, "?") {
				t.Errorf("%q has a request of %q for %q", log, host, path)
			}
			return 0, host + path
		})
		out, err := c.Read(bytes.NewReader(log), "")
		if err == nil && out.Requests+out.Unread.Count+out.NoHost.Count > lines {
			t.Errorf("%q: %+v", log, out)
		}
	})
}

// TestCounts: counts are exact as long as addresses have room, and then no more wrong than they say.
func TestCounts(t *testing.T) {
	for name, tt := range map[string]struct{ limit, ofClass int }{"room": {1000, 100}, "prune": {20, 4}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := NewCounter(func(host, path string) (int, string) {
					return map[string]int{"a": 0, "b": 1}[host], host + strings.ToLower(path)
				})
				c.limit, c.ofClass = tt.limit, tt.ofClass
				seed := rapid.Uint64().Draw(t, "seed")
				r := rand.New(rand.NewPCG(seed, 0))
				want := []map[string]int64{{}, {}}
				var log bytes.Buffer
				for range rapid.IntRange(0, 400).Draw(t, "requests") {
					class, n := r.IntN(2), int(40*r.Float64()*r.Float64())
					want[class][fmt.Sprintf("%c/x%d", 'a'+class, n)]++
					fmt.Fprintf(&log, "%c 1.2.3.4 - - [t] \"GET /%c%d?%d HTTP/1.1\" 200\n", 'a'+class, "xX"[r.IntN(2)], n, r.IntN(9))
				}
				if _, err := c.Read(&log, ""); err != nil {
					t.Fatal(err)
				}
				classes := append(c.Classes(100), Class{}, Class{})
				for i := range want {
					checkClass(t, classes[i], want[i], tt.ofClass, name == "room")
				}
			})
		})
	}
}

func checkClass(t *rapid.T, got Class, want map[string]int64, room int, exact bool) {
	total, listed := int64(0), map[string]int64{}
	for _, a := range got.Addresses {
		listed[a.Address] = a.Requests
	}
	for address, n := range want {
		total += n
		if listed[address] > n || listed[address]+got.Slack < n {
			t.Fatalf("%s has %d requests, listed are %d, slack %d", address, n, listed[address], got.Slack)
		}
		delete(listed, address)
	}
	if len(listed) > 0 || got.Requests != total || got.Slack > total/int64(room+1) || exact && got.Slack > 0 {
		t.Fatalf("%+v of %d requests; unknown %v", got, total, listed)
	}
	if !slices.IsSortedFunc(got.Addresses, func(a, b Address) int { return int(b.Requests - a.Requests) }) {
		t.Fatalf("not sorted: %v", got.Addresses)
	}
}

const twoRequests = "h 1.2.3.4 - - [t] \"GET /a HTTP/1.1\" 200\r\n\nbroken\nh 1.2.3.4 - - [t] \"GET /b HTTP/1.1\" 200"

func zipped(t testing.TB, text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, text string) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

func TestCompressed(t *testing.T) {
	for name, log := range map[string][]byte{
		"plain": []byte(twoRequests), "gzip": zipped(t, twoRequests), "zstd": zstandard(t, twoRequests),
		"two gzip members": slices.Concat(zipped(t, twoRequests[:60]), zipped(t, twoRequests[60:])),
		"two zstd frames":  slices.Concat(zstandard(t, twoRequests[:60]), zstandard(t, twoRequests[60:])),
	} {
		c := NewCounter(byHost("h"))
		out, err := c.Read(bytes.NewReader(log), "")
		if want := (Log{Requests: 2, Unread: Lines{1, 3}}); err != nil || out != want {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		if c.Classes(9)[0].Requests != 2 {
			t.Errorf("%s: %+v", name, c.Classes(9))
		}
	}
}

func TestUnreadableLogs(t *testing.T) {
	long := strings.Repeat(twoRequests+"\n", 1000)
	for name, log := range map[string]io.Reader{
		"a gzip file that ends early": bytes.NewReader(zipped(t, long)[:100]),
		"a zstd file that ends early": bytes.NewReader(zstandard(t, long)[:60]),
		"a gzip header only":          strings.NewReader("\x1f\x8b\x08\x00"),
		"a file that breaks":          io.MultiReader(strings.NewReader(long), brokenReader{}),
	} {
		_, err := NewCounter(byHost("h")).Read(log, "")
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		t.Log(name, err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("device broken") }

// TestHostOfLog: a host for a log is that of requests that name none.
func TestHostOfLog(t *testing.T) {
	log := "1.2.3.4 - - [t] \"GET /a HTTP/1.1\" 200\nother 1.2.3.4 - - [t] \"GET /a HTTP/1.1\" 200\n"
	for host, want := range map[string]Log{"": {Requests: 1, NoHost: Lines{1, 1}}, "h": {Requests: 2}} {
		c := NewCounter(byHost("h"))
		out, err := c.Read(strings.NewReader(log), host)
		if err != nil || out != want || host != "" && c.Classes(1)[0].Requests != 1 {
			t.Errorf("%q: %+v, %v", host, out, err)
		}
	}
	c := NewCounter(func(host, path string) (int, string) { return map[string]int{"h": 0, "g": 1}[host], host + path })
	for _, host := range []string{"h", "g", "g"} {
		if _, err := c.Read(strings.NewReader("1 - - [t] \"GET /a HTTP/1.1\" 200\n"), host); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Classes(1); got[0].Requests != 1 || got[1].Requests != 2 {
		t.Errorf("%+v", got)
	}
}

// TestLongLines: a line that is too long is not kept in memory, nor is an address.
func TestLongLines(t *testing.T) {
	address := "/" + strings.Repeat("a", 5000)
	log := fmt.Sprintf("h 1 - - [t] \"GET %s HTTP/1.1\" 200\nh 1 - - [t] \"GET /%s HTTP/1.1\" 200\nh 1 - - [t] \"GET /b HTTP/1.1\" 200\n", address, strings.Repeat("a", 3*longestLine))
	c := NewCounter(byHost("h"))
	out, err := c.Read(strings.NewReader(log), "")
	if want := (Log{Requests: 2, Unread: Lines{1, 2}}); err != nil || out != want {
		t.Errorf("%+v, %v", out, err)
	}
	if got := c.Classes(9)[0]; got.Requests != 2 || len(got.Addresses) != 1 || len(c.raw)+len(c.entries) != 1 {
		t.Errorf("%+v, %d kept", got, len(c.raw)+len(c.entries))
	}
}

// logs are lines of the formats, for few or for ever new addresses.
func logs() map[string]func(i int) string {
	return map[string]func(i int) string{
		"combined": func(i int) string {
			return fmt.Sprintf("www.example.com:443 203.0.113.%d - - [10/Oct/2026:13:55:36 +0000] \"GET /section/%d/article-%d.html?utm=%d HTTP/1.1\" 200 %d \"https://www.example.com/\" \"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36\"\n", i%256, i%7001%70, i%7001, i, i)
		},
		"combined, all new": func(i int) string {
			return fmt.Sprintf("www.example.com:443 203.0.113.%d - - [10/Oct/2026:13:55:36 +0000] \"GET /section/%d/article-%d.html HTTP/1.1\" 200 %d \"https://www.example.com/\" \"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36\"\n", i%256, i%70, i, i)
		},
		"json": func(i int) string {
			return fmt.Sprintf(`{"timestamp":"2026-10-10T13:55:36+0000","client_ip":"203.0.113.%d","geo_country":"x","host":"www.example.com","url":"/section/%d/article-%d.html?utm=%d","request_method":"GET","request_user_agent":"Mozilla/5.0 (X11; Linux x86_64)","response_status":200}`+"\n", i%256, i%7001%70, i%7001, i)
		},
		"cloudfront": func(i int) string {
			return fmt.Sprintf("2026-10-10\t13:55:36\tFRA50\t%d\t203.0.113.1\tGET\td111.cloudfront.net\t/section/%d/article-%d.html\t200\t-\tMozilla/5.0%%20(X11;%%20Linux)\tq=1\t-\tHit\tid%d\twww.example.com\thttps\t23\t0.001\t-\tTLSv1.3\n", i, i%7001%70, i%7001, i)
		},
	}
}

func BenchmarkRead(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(logs())) {
		b.Run(name, func(b *testing.B) {
			var text bytes.Buffer
			if name == "cloudfront" {
				text.WriteString("#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header\n")
			}
			for i := range 200_000 {
				text.WriteString(logs()[name](i))
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				c := NewCounter(func(host, path string) (int, string) { return len(path) % 4, host + path })
				if out, err := c.Read(bytes.NewReader(text.Bytes()), ""); err != nil || out.Requests != 200_000 {
					b.Fatal(out, err)
				}
			}
		})
	}
}

// repeated reads a text again and again.
type repeated struct {
	text []byte
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// BenchmarkTenMillionLines reports the memory that the process takes for it, too.
func BenchmarkTenMillionLines(b *testing.B) {
	const lines = 200_000
	var text bytes.Buffer
	text.Grow(64 << 20)
	for i := range lines {
		text.WriteString(logs()["combined"](i))
	}
	size := int64(text.Len()) * 10_000_000 / lines
	b.SetBytes(size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		c := NewCounter(byHost("www.example.com"))
		out, err := c.Read(io.LimitReader(&repeated{text: text.Bytes()}, size), "")
		if err != nil || out.Requests != 10_000_000 || c.Classes(1)[0].Slack != 0 {
			b.Fatal(out, err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Sys-before.Sys)/1e6, "MB-of-memory")
}
