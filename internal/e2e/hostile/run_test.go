//go:build linux

package hostile

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"trueup/internal/e2e/harness"
)

func hostileRuns() []hostileCase {
	return []hostileCase{
		{"changed-after-plan", "Read again before each write; then nothing is sent, exit code 3.", changedAfterPlan},
		{"merge-patch-limits", "Removed fields are sent as null; lists sent in full keep what git does not mention. Properties of the comparison hold both.", mergePatchLimits},
		{"perpetual-diff", "Only fields in git are compared. A value that the server rewrites is exit code 7, with what to do.", perpetualDiff},
		{"concurrent-applies", "One claim wins: 'TestCrowd', 'TestRefRace'.", concurrentApplies},
		{"dropped-run", "Apply works from the whole tree, not from a commit's changes.", droppedRun},
		{"order-and-partial-failure", "A purge waits for its CDN; the next run does the rest.", partialFailure},
		{"unclear-post", "A question. A request that was certainly refused is tried again by the next run.", unclearPost},
		{"replayed-post", "No header that makes a POST repeatable; one request, however the connection breaks.", replayedPost},
		{"spent-name", "Other content needs another name.", spentName},
		{"clock-skew", "No clock error makes a request go again: 'TestTheWindowByTheLaterClock'.", clockSkew},
		{"purge-quota", "A purge that does not fit is deferred, with numbers.", purgeQuota},
		{"ledger-lost", "Missing, damaged or rolled back: nothing is sent.", ledgerLost},
		{"disk-full", "Without a stored claim no request; without a stored outcome a rescue record: 'TestCrashDiskBeforeASend', 'TestCrashDiskBeforeAnOutcome'.", diskFull},
		{"power-loss", "The claim is on the disk before the request; 'TestCrashPoints' checks the order of syncs.", powerLoss},
	}
}

var applied = []string{"apply", "--auto-approve"}

// begin has a CDN, a purge and a snapshot in git, and the CDN live.
func begin(p *place) {
	p.Helper()
	p.write("manifests/shop.yaml", cdnOf("shop", ""))
	p.must(0, applied...)
	p.write("manifests/purge.yaml", purgeNamed("rel-42", "/a"))
	p.write("manifests/db.yaml", snapshotNamed("db-1"))
	p.sent()
}

// atWrite does something when the first write arrives, before the platform has
// acted on it.
func atWrite(p *place, do func()) {
	var once sync.Once
	p.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			once.Do(do)
		}
		return false
	})
}

func changedAfterPlan(p *place) {
	begin(p)
	p.write("manifests/shop.yaml", cdnOf("shop", "  tls: {forced: \"true\"}\n"))
	var reads atomic.Int64
	p.server.OnRequest(func(method, path string) {
		if method == http.MethodGet && strings.HasSuffix(path, "/cdns/shop") && reads.Add(1) == 1 {
			p.live(cdnOf("shop", "  tls: {forced: maybe}\n"))
		}
	})
	out := p.must(3, append(applied, "--target", "cdn/shop")...)
	if !strings.Contains(out, "run plan again") {
		p.Error(out)
	}
	p.nothingSent()
}

func mergePatchLimits(p *place) {
	p.write("manifests/shop.yaml", cdnOf("shop", "  tls: {forced: \"true\", enabled: \"true\"}\n"))
	p.must(0, applied...)
	// Somebody adds fields that git does not know, one of them in a list element.
	p.live(strings.Replace(cdnOf("shop", "  tls: {forced: \"true\", enabled: \"true\", auto: \"true\"}\n"), `weight: "1"`, `weight: "1", passive: true`, 1))
	p.write("manifests/shop.yaml", strings.Replace(cdnOf("shop", "  tls: {enabled: \"true\"}\n"), `weight: "1"`, `weight: "2"`, 1))
	p.sent()
	p.must(0, applied...)
	live, err := p.server.Object("CDN", "acme", "shop")
	if err != nil {
		p.Fatal(err)
	}
	for path, want := range map[string]string{
		"tls": `{"auto":"true","enabled":"true"}`, "upstreams[name=origin].servers[host=a.example.net].passive": "true",
		"upstreams[name=origin].servers[host=a.example.net].weight": "2",
	} {
		if got, _ := harness.At(live["spec"], path); got != want {
			p.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	// A null that no patch can express is refused.
	p.write("manifests/shop.yaml", cdnOf("shop", "  hostname: null\n"))
	p.must(4, "validate")
}

func perpetualDiff(p *place) {
	if err := p.server.SetQuirks("defaults", "typed-scalars", "set-order"); err != nil {
		p.Fatal(err)
	}
	p.write("manifests/shop.yaml", cdnOf("shop", ""))
	p.must(0, applied...)
	p.sent()
	p.must(0, applied...)
	p.nothingSent()
	if err := p.server.SetQuirks("normalises"); err != nil {
		p.Fatal(err)
	}
	p.write("manifests/shop.yaml", strings.Replace(cdnOf("shop", ""), "upstream: origin}", "upstream: origin, cache: {edgeTTL: \"60\"}}", 1))
	p.says(7, applied, "trueup pull CDN/shop --replace")
}

func concurrentApplies(p *place) {
	begin(p)
	var group sync.WaitGroup
	codes := make([]int, 4)
	for i := range codes {
		group.Go(func() { codes[i], _ = p.run(applied...) })
	}
	group.Wait()
	p.must(0, applied...)
	p.executed("rel-42", 1)
	snapshots := 0
	for _, sent := range p.sent() {
		if sent == "POST volumesnapshots" {
			snapshots++
		}
	}
	if snapshots != 1 {
		p.Errorf("%d snapshots were asked for, exit codes %v", snapshots, codes)
	}
}

func droppedRun(p *place) {
	// What three merges brought is applied by one run, from what is there now.
	begin(p)
	p.write("manifests/shop.yaml", cdnOf("shop", "  tls: {forced: \"true\"}\n"))
	p.write("manifests/purge-2.yaml", purgeNamed("rel-43", "/b"))
	p.must(0, applied...)
	p.executed("rel-42", 1)
	p.executed("rel-43", 1)
	// What was done and has left git is not done again when it comes back.
	if err := os.Remove(p.path("manifests/purge.yaml")); err != nil {
		p.Fatal(err)
	}
	p.must(0, applied...)
	p.write("manifests/purge.yaml", purgeNamed("rel-42", "/a"))
	p.sent()
	p.must(0, applied...)
	p.nothingSent()
}

func partialFailure(p *place) {
	begin(p)
	p.write("manifests/shop.yaml", cdnOf("shop", "  tls: {forced: \"true\"}\n"))
	p.fault("PATCH /cdns: 400 x*")
	p.says(5, applied, "failed     CDN/shop", "created    VolumeSnapshot/db-1", "Purge/rel-42")
	p.executed("rel-42", 0)
	p.server.ClearFaults()
	p.must(0, applied...)
	p.executed("rel-42", 1)
	p.sent()
	p.must(0, applied...)
	p.nothingSent()
}

func unclearPost(p *place) {
	begin(p)
	for i, rule := range []string{
		"POST /purges: drop after-commit", "POST /purges: reset after-commit", "POST /purges: 503 after-commit", "POST /purges: 504 after-commit",
		"POST /purges: truncate", "POST /purges: html", "POST /purges: 500",
		// No document has these as refusals, or a proxy answers in its own form.
		"POST /purges: 424 after-commit", "POST /purges: 425 after-commit", "POST /purges: 440 after-commit", "POST /purges: 444 after-commit",
		"POST /purges: 449 after-commit", "POST /purges: 460 after-commit", "POST /purges: 400 plain after-commit message=<html>Bad", "POST /purges: 403 plain after-commit message=<html>No",
	} {
		name := fmt.Sprintf("unclear-%d", i)
		p.write("manifests/purge.yaml", purgeNamed(name, "/a"))
		p.server.ClearFaults()
		p.fault(rule)
		p.must(6, append(applied, "--target", "purge/"+name)...)
		p.must(6, append(applied, "--target", "purge/"+name)...)
		if all, err := p.server.CountExecutedPurges(); err != nil || all[name] > 1 {
			p.Errorf("%s: executed %d times, %v", rule, all[name], err)
		}
		p.must(0, "ledger", "resolve", "purge/"+name, "--posted", "--reason", "looked")
	}
	// What certainly was not done is tried again by the next run.
	p.write("manifests/purge.yaml", purgeNamed("refused", "/a"))
	p.fault("POST /purges: 400")
	p.must(5, applied...)
	p.must(0, applied...)
	p.executed("refused", 1)
}

func replayedPost(p *place) {
	begin(p)
	var posts atomic.Int64
	p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
			if _, there := r.Header[name]; there {
				p.Errorf("%s makes net/http send a POST again", name)
			}
		}
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/purges") {
			return false
		}
		posts.Add(1)
		// The connection, which was used before, breaks after the request was read.
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			p.Error(err)
			return true
		}
		_ = conn.Close()
		return true
	})
	p.must(6, append(applied, "--target", "purge/rel-42")...)
	if posts.Load() != 1 {
		p.Errorf("%d requests were sent", posts.Load())
	}
}

func spentName(p *place) {
	begin(p)
	p.must(0, applied...)
	p.sent()
	p.write("manifests/purge.yaml", purgeNamed("rel-42", "/other"))
	p.says(4, applied, "manifests/purge.yaml:", "purge-spent")
	p.nothingSent()
	// The same content under the same name, in another order and file, is no change.
	if err := os.Rename(p.path("manifests/purge.yaml"), p.path("manifests/z.yaml")); err != nil {
		p.Fatal(err)
	}
	p.write("manifests/z.yaml", "kind: Purge\napiVersion: delivery/v2.1\nspec: {paths: [\"/a\"], hostname: shop.example.com}\nmetadata: {name: rel-42}\n")
	p.must(0, applied...)
	p.nothingSent()
}

func clockSkew(p *place) {
	begin(p)
	p.must(0, applied...)
	p.sent()
	for _, skew := range []time.Duration{-48 * time.Hour, 48 * time.Hour, 10 * 365 * 24 * time.Hour} {
		p.passed = skew
		p.run(applied...)
	}
	p.passed = 0
	if err := p.server.Advance(48 * time.Hour); err != nil {
		p.Fatal(err)
	}
	p.run(applied...)
	p.executed("rel-42", 1)
	p.nothingSent()
}

func purgeQuota(p *place) {
	begin(p)
	for _, name := range []string{"many-1", "many-2"} {
		var paths strings.Builder
		for i := range 12_000 {
			fmt.Fprintf(&paths, "/%s/%d, ", name, i)
		}
		p.write("manifests/"+name+".yaml", purgeNamed(name, paths.String()))
	}
	p.says(5, applied, "budget of shop.example.com", "of 20000 paths", "deferred")
	p.executed("many-1", 1)
	p.executed("many-2", 0)
	var paths strings.Builder
	for i := range 20_001 {
		fmt.Fprintf(&paths, "/x/%d, ", i)
	}
	p.write("manifests/many-2.yaml", purgeNamed("many-3", paths.String()))
	p.says(4, []string{"validate"}, "purge-limits")
}

func ledgerLost(p *place) {
	begin(p)
	p.must(0, applied...)
	p.sent()
	if err := os.Rename(p.path("ledger"), p.path("elsewhere")); err != nil {
		p.Fatal(err)
	}
	p.says(6, applied, "is missing at file:ledger, so trueup does not know what was sent")
	p.write("ledger/log/9999999/9999999998-1.jsonl", "{}")
	p.must(6, applied...)
	p.nothingSent()
	if err := os.RemoveAll(p.path("ledger")); err != nil {
		p.Fatal(err)
	}
	// A ledger that was rolled back is noticed where more was seen.
	if err := os.Rename(p.path("elsewhere"), p.path("ledger")); err != nil {
		p.Fatal(err)
	}
	newest, err := filepath.Glob(p.path("ledger/log/*/*-[3-9]*"))
	if err != nil || len(newest) == 0 {
		p.Fatal(newest, err)
	}
	for _, name := range newest {
		if err := os.Remove(name); err != nil {
			p.Fatal(err)
		}
	}
	p.must(6, applied...)
	p.nothingSent()
}

// spoil puts a file in the place of the folder that entries are written in, so
// that no write succeeds, and returns what mends it.
func spoil(p *place) (mend func()) {
	tmp := p.path("ledger/tmp")
	if err := os.RemoveAll(tmp); err != nil {
		p.Error(err)
	}
	if err := os.WriteFile(tmp, nil, 0o600); err != nil {
		p.Error(err)
	}
	return func() {
		if err := os.Remove(tmp); err != nil {
			p.Error(err)
		}
	}
}

// diskFull: the tests of the real program fill a real disk.
func diskFull(p *place) {
	begin(p)
	mend := spoil(p)
	p.run(applied...)
	p.executed("rel-42", 0)
	p.nothingSent()
	mend()
	atWrite(p, func() { mend = spoil(p) })
	_, out := p.run(append(applied, "--target", "purge/rel-42")...)
	if !strings.Contains(out, "trueup: rescue record:") {
		p.Fatalf("no rescue record:\n%s", out)
	}
	p.executed("rel-42", 1)
	mend()
	p.write("output.txt", out)
	p.must(0, "ledger", "import", "output.txt")
	p.sent()
	p.must(0, append(applied, "--target", "purge/rel-42")...)
	p.nothingSent()
}

// powerLoss: what the platform is asked for stands on the disk before; that it
// is synced as well is shown by the tests of the real program's calls.
func powerLoss(p *place) {
	begin(p)
	found := false
	atWrite(p, func() {
		err := filepath.WalkDir(p.path("ledger/log"), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				record := harness.ReadText(p.T, path)
				found = found || strings.Contains(record, `"rel-42"`) && strings.Contains(record, `"claimed"`)
			}
			return err
		})
		if err != nil {
			p.Error(err)
		}
	})
	p.must(0, append(applied, "--target", "purge/rel-42")...)
	if !found {
		p.Error("the intent was not on the disk when the request was sent")
	}
}
