package crash

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// costEnv switches on the table of costs: quick, full, or what differs from full,
// such as "store=s3 purges=1,100 old=0,1000 recent=0".
const costEnv = "TRUEUP_COST"

// costHosts is the number of hostnames that recent purges are of, costEach how many
// of the measured purges are of one: the platform takes 100 a day.
const (
	costHosts = 25
	costEach  = 50
)

// costDelay is how much slower the server of a ledger answers in a second run, which shows how many requests wait for
// others.
const costDelay = 300 * time.Millisecond

// costSizes reads costEnv.
func costSizes(t *testing.T) (chosen []string, sizes map[string][]int) {
	t.Helper()
	text := os.Getenv(costEnv)
	if text == "" {
		t.Skip(costEnv + " names no sizes")
	}
	text = strings.NewReplacer("quick", "purges=1,10 old=0,1000 recent=0", "full", "").Replace(text)
	chosen = stores(t)
	sizes = map[string][]int{"purges": {1, 10, 100, 1000}, "old": {0, 1000, 100_000}, "recent": {0, 1000}}
	for field := range strings.FieldsSeq(text) {
		name, values, _ := strings.Cut(field, "=")
		if name == "store" {
			chosen = strings.Split(values, ",")
			continue
		}
		sizes[name] = nil
		for value := range strings.SplitSeq(values, ",") {
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatalf("%s: %v", costEnv, err)
			}
			sizes[name] = append(sizes[name], n)
		}
	}
	return chosen, sizes
}

// TestCost counts the requests, bytes and seconds of plan and apply on each store: of new purges, or of a changed CDN if
// there are none. On a server it counts steps, too: requests that are sent one after another.
// The records that are there already are copies of a real one, which the program
// imported itself, so that the table can be compared whatever a store's layout is.
func TestCost(t *testing.T) {
	chosen, sizes := costSizes(t)
	program := buildProgram(t)
	templates := costTemplates(t, program)
	for _, store := range chosen {
		t.Logf("\n| %s: old | recent | purges | plan: requests | steps | bytes | s | apply: requests | steps | bytes | s |\n|--:|--:|--:|---|--:|--:|--:|---|--:|--:|--:|", store)
		for _, old := range sizes["old"] {
			w := newAttackWorld(t, program, store, 1, false)
			c := &costs{attackWorld: w, templates: templates, hosts: costHosts}
			c.fillAndMeasure(old, sizes)
			w.close()
		}
	}
}

// costTemplates are the records of real purges of all hostnames.
func costTemplates(t *testing.T, program string) (records []string) {
	t.Helper()
	w := newAttackWorld(t, program, "file", 1, false)
	defer w.close()
	c := &costs{attackWorld: w, hosts: costHosts, names: costHosts}
	w.manifests = c.write
	w.ready("")
	for line := range strings.Lines(c.mustRun("ledger", "export")) {
		if strings.Contains(line, `"kind":"Purge"`) {
			records = append(records, line)
		}
	}
	if len(records) != costHosts {
		t.Fatalf("the export has %d purges", len(records))
	}
	return records
}

// fillAndMeasure measures one ledger, which is put back after each apply of purges.
func (c *costs) fillAndMeasure(old int, sizes map[string][]int) {
	c.manifests = c.write
	c.ready("")
	began, have := time.Now(), 0
	c.fill("old", old, 30*24*time.Hour)
	for _, recent := range sizes["recent"] {
		c.fill(fmt.Sprintf("recent-%d", recent), recent-have, time.Hour)
		have = recent
		c.t.Logf("%s: %d old and %d recent records were made %s after the start", c.store, old, recent, time.Since(began).Round(time.Second))
		c.watch()
		c.keep()
		for _, n := range sizes["purges"] {
			c.hosts, c.names = max(1, (n-1)/costEach+1), n
			if n > 0 {
				c.commit("")
			}
			plan := c.measure("plan", "-q")
			c.limit = "20m"
			apply := c.measure(attackApply()...)
			c.t.Logf("\n| %d | %d | %d | %s | %s |", old, recent, n, plan, apply)
			executed, _ := c.platform.log()
			if key := fmt.Sprintf("Purge/new-%04d", n-1); n > 0 && executed[key] == 0 {
				c.t.Errorf("%s was not sent", key)
			}
			if n == 0 {
				c.keep()
			}
		}
		c.prepare = nil
	}
}

// costs is a world whose store is watched.
type costs struct {
	*attackWorld
	// templates are records of purges; hosts and names are how many CDNs and purges
	// git has.
	templates    []string
	hosts, names int
	// The ledger to go back to: a commit, or the number of a copy.
	keptRef  string
	keptCopy int
}

// write gives the manifests.
func (c *costs) write() string {
	var text strings.Builder
	for i := range c.hosts {
		text.WriteString(strings.ReplaceAll(c.cdn(), "shop", fmt.Sprintf("shop-%02d", i)) + "---\n")
	}
	for i := range c.names {
		fmt.Fprintf(&text, "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: new-%04d}\nspec: {hostname: shop-%02d.example.com, paths: [/%d]}\n---\n", i, i%c.hosts, i)
	}
	return text.String()
}

// fill imports n copies of records of purges that were sent some time ago.
func (c *costs) fill(prefix string, n int, ago time.Duration) {
	c.t.Helper()
	if n <= 0 {
		return
	}
	first, _, _ := strings.Cut(c.mustRun("ledger", "export"), "\n")
	var head map[string]any
	if err := json.Unmarshal([]byte(first), &head); err != nil {
		c.t.Fatal(err)
	}
	var text strings.Builder
	head["records"] = n
	c.line(&text, head)
	for i := range n {
		c.line(&text, c.copied(c.templates[i%len(c.templates)], fmt.Sprintf("%s-%06d", prefix, i), ago))
	}
	file := c.path(prefix + ".jsonl")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.mustRun("ledger", "import", file)
}

func (c *costs) mustRun(args ...string) string {
	c.t.Helper()
	r := c.run(args...)
	c.must(r)
	return r.out
}

func (c *costs) line(to *strings.Builder, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	to.WriteString(string(b) + "\n")
}

// copied is a record under another name, with nonces of its own, at an earlier time.
func (c *costs) copied(line, name string, ago time.Duration) any {
	var rec map[string]any
	if err := json.Unmarshal([]byte(line), &rec); err != nil {
		c.t.Fatal(err)
	}
	var change func(field string, v any) any
	change = func(field string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				v[key] = change(key, value)
			}
		case []any:
			for i := range v {
				v[i] = change(field, v[i])
			}
		case string:
			if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
				return at.Add(-ago).Format(time.RFC3339Nano)
			}
			if field == "nonce" {
				return fmt.Sprintf("%s-%s", v[:8], name)
			}
		}
		return v
	}
	change("", rec)
	rec["name"] = name
	delete(rec, "remoteName")
	return rec
}

// watch counts what goes to the store: for git by programs that stand before those
// of the remote.
func (c *costs) watch() {
	if c.store != "git" {
		return
	}
	for _, pack := range []string{"upload-pack", "receive-pack"} {
		text := fmt.Sprintf("#!/bin/sh\nlog=$(mktemp %s/%s.XXXXXX)\ntee \"$log.in\" | git-%s \"$@\" | tee \"$log.out\"\n", c.path("log"), pack, pack)
		if err := os.WriteFile(c.path(pack), []byte(text), 0o700); err != nil {
			c.t.Fatal(err)
		}
	}
	c.prepare = func(clone string) {
		c.git(clone, "config", "remote.origin.uploadpack", c.path("upload-pack"))
		c.git(clone, "config", "remote.origin.receivepack", c.path("receive-pack"))
	}
}

// keep keeps the ledger for putBack.
func (c *costs) keep() {
	if c.ledger != nil {
		c.keptCopy = c.ledger.copies
	} else {
		c.keptRef = c.git(c.path("remote.git"), "rev-parse", attackRef)
	}
	c.putBack()
}

// putBack makes the ledger what it was, on machines that have not seen more.
func (c *costs) putBack() {
	c.keepsState = false
	if c.ledger != nil {
		c.ledger.copyOf(c.keptCopy)
	} else {
		c.git(c.path("remote.git"), "update-ref", attackRef, c.keptRef)
	}
}

// measure runs the program and says what it cost.
func (c *costs) measure(args ...string) string {
	c.t.Helper()
	requests, bytes, took := c.runOnce(args...)
	steps := "-"
	if c.ledger != nil && c.ledger.wire != nil {
		c.ledger.wire.delay = costDelay
		_, _, slow := c.runOnce(args...)
		c.ledger.wire.delay = 0
		steps = fmt.Sprint(int(math.Round((slow - took).Seconds() / costDelay.Seconds())))
	}
	var said []string
	total := 0
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		said, total = append(said, fmt.Sprintf("%d %s", requests[name], name)), total+requests[name]
	}
	return fmt.Sprintf("%d (%s) | %s | %d | %.2f", total, strings.Join(said, ", "), steps, bytes, took.Seconds())
}

// runOnce runs the program on the ledger that was kept, or with another change of the CDN.
func (c *costs) runOnce(args ...string) (requests map[string]int, bytes int, took time.Duration) {
	c.t.Helper()
	if c.names == 0 {
		c.ttl++
		c.commit("")
	} else {
		c.putBack()
	}
	_ = os.RemoveAll(c.path("log"))
	if err := os.MkdirAll(c.path("log"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	dir, before := c.runner(), c.files()
	if c.ledger != nil && c.ledger.wire != nil {
		c.ledger.wire.take()
	}
	r := c.end(c.begin(dir, args...))
	if r.code != 0 {
		c.t.Errorf("trueup %s: exit %d\n%s", args[0], r.code, r.said())
	}
	switch {
	case c.ledger == nil:
		requests, bytes = c.conversations()
	case c.ledger.wire != nil:
		passed := c.ledger.wire.take()
		requests, bytes = map[string]int{"requests": passed.requests}, passed.bytes
	default:
		after := c.files()
		requests, bytes = map[string]int{"new files": after[0] - before[0]}, after[1]-before[1]
	}
	return requests, bytes, r.took
}

// conversations are those with the remote, and the bytes in them.
func (c *costs) conversations() (count map[string]int, bytes int) {
	count = map[string]int{}
	logs, err := filepath.Glob(c.path("log/*-pack.*"))
	for _, name := range logs {
		info, statErr := os.Stat(name)
		if err != nil || statErr != nil {
			c.t.Fatal(err, statErr)
		}
		if bytes += int(info.Size()); strings.HasSuffix(name, ".in") {
			pack, _, _ := strings.Cut(filepath.Base(name), ".")
			count[pack]++
		}
	}
	return count, bytes
}

// files counts those of a ledger in files, and their bytes.
func (c *costs) files() (n [2]int) {
	if c.store != "file" {
		return n
	}
	_ = filepath.WalkDir(c.ledger.folder(), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n[0], n[1] = n[0]+1, n[1]+int(info.Size())
			}
		}
		return nil
	})
	return n
}
