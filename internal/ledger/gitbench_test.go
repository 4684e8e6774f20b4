package ledger

import (
	"context"
	"crypto/sha1"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// toll counts what goes through it to a server.
type toll struct{ calls, up, down atomic.Int64 }

// before puts the toll before a server on loopback and returns its address.
func (c *toll) before(tb testing.TB, server string) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			c.calls.Add(1)
			go c.pass(in, server)
		}
	}()
	return l.Addr().String()
}

// clone makes a repository whose remote is a daemon behind the toll.
func (c *toll) clone(tb testing.TB, bare string) string {
	tb.Helper()
	server, path, _ := strings.Cut(strings.TrimPrefix(daemonURL(tb, bare), "git://"), "/")
	dir := tb.TempDir()
	gitCmd(tb, dir, "init", "-q")
	gitCmd(tb, dir, "remote", "add", "origin", "git://"+c.before(tb, server)+"/"+path)
	return dir
}

func (c *toll) pass(in net.Conn, server string) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	go func() {
		n, _ := io.Copy(out, in)
		c.up.Add(n)
		_ = out.(*net.TCPConn).CloseWrite()
	}()
	n, _ := io.Copy(in, out)
	c.down.Add(n)
	_ = out.Close()
}

// importer writes a commit of records for git fast-import.
type importer struct {
	strings.Builder
	keys []Key
}

func (in *importer) file(path string, content []byte) {
	_, _ = fmt.Fprintf(in, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}

// records adds n records of a name, with ids and specs of their own; alike
// leaves the specs as they are, which is quicker.
func (in *importer) records(tb testing.TB, n int, rec Record, alike bool) {
	tb.Helper()
	const id, name = "7d444840-9dc0-11d1-b245-5ffdce74fad2", "N-A-M-E"
	at := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	own := func(key kind.Key) string {
		r := rec
		r.Key, r.Workspace, r.Schema, r.Nonce, r.Seq = key, testWorkspace, Schema, id, 2
		for seq := range 2 {
			r.History = append(r.History, Step{Seq: seq + 1, Nonce: id, At: at, Event: "posted", By: "https://ci.example/run/1"})
		}
		r.Spec = JSON(strings.ReplaceAll(string(r.Spec), name, key.Name))
		r.Applied = JSON(strings.ReplaceAll(string(r.Applied), name, key.Name))
		if r.State != "" {
			digest := canon.Digest(r.Spec)
			r.SpecDigest, r.FirstClaimAt, r.ClaimedAt, r.AcceptedAt = &digest, &at, &at, &at
			r.Claim = &Claim{RunID: "1", RunURL: "https://ci.example/run/1", Actor: "someone", Commit: strings.Repeat("a", 40)}
		}
		b, err := encode(r)
		if err != nil {
			tb.Fatal(err)
		}
		return string(b)
	}
	text := own(rec.Key)
	for i := range n {
		key := kind.Key{Kind: rec.Kind, Name: fmt.Sprint(rec.Name, i)}
		if !alike {
			text = own(key)
		}
		unique := canon.Digest([]byte(key.String())).String()
		content := strings.ReplaceAll(text, id, unique[len(unique)-36:])
		content = strings.Replace(content, `"name": "`+rec.Name+`"`, `"name": "`+key.Name+`"`, 1)
		in.keys = append(in.keys, Key{Workspace: testWorkspace, Key: key})
		in.file(gitRecordPath(in.keys[len(in.keys)-1]), []byte(content))
	}
}

// oldLedger makes a ledger in a bare repository by one import: the records of a
// tree of 10 sites a purge, whose keys it returns, and purges that are done for
// long.
func oldLedger(tb testing.TB, bare string, purges, old int) []Key {
	tb.Helper()
	genesis, err := encode(testGenesis())
	if err != nil {
		tb.Fatal(err)
	}
	id := func(b []byte) string {
		return fmt.Sprintf("%x", sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...)))
	}
	hints := gitHints{genesis: id(genesis), recent: id(nil), records: old + 11*purges}
	var in importer
	_, _ = fmt.Fprintf(&in, "feature done\ncommit %s\ncommitter a <a> now\ndata <<END\nimport\n\n%sEND\n", testRef, hints)
	in.file(gitGenesis, genesis)
	in.file(gitRecents, nil)
	spec := JSON(`{"hostname":"N-A-M-E.example","paths":["/css/","/js/N-A-M-E.js","/index.html"],"subdomains":["www","static"]}`)
	in.records(tb, 10*purges, Record{Key: kind.Key{Kind: "CDN", Name: "site-"}, Applied: JSON(benchSpec)}, false)
	in.records(tb, purges, Record{Key: kind.Key{Kind: "Purge", Name: "rel-"}, State: Posted, Spec: spec}, false)
	keys := in.keys
	in.records(tb, old, Record{Key: kind.Key{Kind: "Purge", Name: "old-"}, State: Posted, Spec: spec}, true)
	in.WriteString("done\n")
	cmd := exec.Command("git", "fast-import", "--quiet", "--date-format=now")
	cmd.Dir, cmd.Stdin = bare, strings.NewReader(in.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return keys
}

// benchSpec is of a small site.
const benchSpec = `{"firewall":{"rules":[{"action":{"type":"block"},"constraints":[[{"type":"ip","value":"192.0.2.0/24"}]],` +
	`"name":"no-scrapers"}]},"hostname":"N-A-M-E.example","locations":[{"cache":{"ttl":300},"path":"/","upstream":"app"},` +
	`{"cache":{"ttl":86400},"path":"/static/","upstream":"assets"}],"upstreams":[{"name":"app","servers":[{"host":"app.N-A-M-E.example",` +
	`"port":443}]},{"name":"assets","servers":[{"host":"assets.N-A-M-E.example","port":443}]}]}`

// BenchmarkGitView reads what a plan reads of a ledger, for a tree of 1000
// objects and 100 purges. It reports conversations and bytes too, which must not
// grow with what is old.
func BenchmarkGitView(b *testing.B) {
	for _, filter := range []string{"true", "false"} {
		for _, old := range []int{0, 100_000} {
			b.Run(fmt.Sprintf("filter=%s/old=%d", filter, old), func(b *testing.B) {
				bare := bareRemote(b)
				gitCmd(b, bare, "config", "uploadpack.allowFilter", filter)
				keys := oldLedger(b, bare, 100, old)
				var c toll
				dir := c.clone(b, bare)
				for b.Loop() {
					viewOnce(b, dir, keys)
				}
				for unit, n := range map[string]*atomic.Int64{"calls/op": &c.calls, "sent-B/op": &c.up, "got-B/op": &c.down} {
					b.ReportMetric(float64(n.Load())/float64(b.N), unit)
				}
			})
		}
	}
}

func viewOnce(b *testing.B, dir string, keys []Key) {
	s, err := newGitStore(testRef, dir)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ctx := context.Background()
	if _, err := s.ReadGenesis(ctx); err != nil {
		b.Fatal(err)
	}
	if _, err := s.Recent(ctx, testWorkspace, time.Unix(0, 0)); err != nil {
		b.Fatal(err)
	}
	if got, err := s.Read(ctx, keys); err != nil || len(got) != len(keys) {
		b.Fatalf("%d records, %v", len(got), err)
	}
}
