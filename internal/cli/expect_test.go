package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/sandbox"
)

// shopOf is a CDN with a time to live, whether TLS is forced, and more fields of
// its one server.
func shopOf(ttl, forced, server string) string {
	return `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: shop, namespace: web-platform}
spec:
  hostname: archweb.example.org
  tls: {forced: "` + forced + `"}
  locations: [{path: /*, action: proxy_http, upstream: origin, cache: {level: standard, edgeTTL: "` + ttl + `", ttlTimeUnit: second}}]
  upstreams: [{name: origin, scheme: https, servers: [{host: a.example.net, port: "443", weight: "1"` + server + `}]}]
`
}

// planned is a stage on which git changed a list of an applied object and asks
// for a purge, and of which the plan is kept.
func planned(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.write("manifests/shop.yaml", shopOf("60", "true", ""))
	s.must(diag.ExitOK, "apply", "--auto-approve")
	s.write("manifests/shop.yaml", shopOf("3600", "true", ""))
	s.write("manifests/rel-42.yaml", onePurge("rel-42"))
	s.must(diag.ExitOK, "plan", "--out", "plan.json")
	s.writes()
	return s
}

// refuses applies what is expected, and holds that nothing is sent and why.
func (s *stage) refuses(why string, args ...string) {
	s.t.Helper()
	code, stdout, stderr := s.run(append([]string{"apply", "--auto-approve", "--expect", "plan.json"}, args...)...)
	if code != diag.ExitStale || !strings.Contains(stdout+stderr, why) || !strings.Contains(stdout+stderr, "nothing was sent") {
		s.t.Errorf("exit %d, and %q is not in\n%s%s", code, why, stdout, stderr)
	}
	if sent := s.writes(); len(sent) > 0 {
		s.t.Errorf("sent were %v", sent)
	}
	_, out, _ := s.run(append([]string{"apply", "--auto-approve", "--expect", "plan.json", "-o", "json"}, args...)...)
	if doc := decoded(s.t, out); doc["result"] != "stale" || doc["exitCode"] != 3.0 || doc["apply"] != nil || len(doc["errors"].([]any)) == 0 {
		s.t.Errorf("the result says %v", doc)
	}
}

// digest is that of the plan as it would be now.
func (s *stage) digest(args ...string) string {
	s.t.Helper()
	doc := decoded(s.t, s.must(diag.ExitOK, append([]string{"plan", "-o", "json"}, args...)...))
	return doc["plan"].(map[string]any)["digest"].(string)
}

// TestApplyRefusesWhatIsNotExpected: after the plan was made, any of its inputs
// changes, and nothing is sent.
func TestApplyRefusesWhatIsNotExpected(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *stage)
		why    string
	}{
		"a manifest": {why: `CDN/shop: git: locations[/*].cache.edgeTTL changed from "3600" to "7200"`, change: func(s *stage) {
			s.write("manifests/shop.yaml", shopOf("7200", "true", ""))
		}},
		"a manifest more": {why: "Purge/rel-43: git: its manifest was added", change: func(s *stage) {
			s.write("manifests/rel-43.yaml", onePurge("rel-43"))
		}},
		"a manifest less": {why: "Purge/rel-42: git: its manifest is gone", change: func(s *stage) {
			if err := os.Remove(filepath.Join(s.dir, "manifests", "rel-42.yaml")); err != nil {
				t.Fatal(err)
			}
		}},
		"the value in the console": {why: `CDN/shop: live: locations[/*].cache.edgeTTL changed from "60" to "5"`, change: func(s *stage) {
			s.put(shopOf("5", "true", ""))
		}},
		"another value in the console": {why: `CDN/shop: live: tls.forced is now "false"; the plan does not list it`, change: func(s *stage) {
			s.put(shopOf("60", "false", ""))
		}},
		"somebody was faster": {why: `CDN/shop: live: locations[/*].cache.edgeTTL was "60"; now it needs no change`, change: func(s *stage) {
			s.put(shopOf("3600", "true", ""))
		}},
		"gone": {why: "CDN/shop: live: it was deleted", change: func(s *stage) { s.remove("CDN", "shop") }},
		"another object of the name": {why: "CDN/shop: live: another object has this name", change: func(s *stage) {
			s.remove("CDN", "shop")
			s.put(shopOf("60", "true", ""))
		}},
		"another run": {why: "Purge/rel-42: ledger: its record changed from none to transition 2 (posted)", change: func(s *stage) {
			s.write("manifests/shop.yaml", shopOf("60", "true", ""))
			s.must(diag.ExitOK, "apply", "--auto-approve")
			s.write("manifests/shop.yaml", shopOf("3600", "true", ""))
		}},
		"a word of a person": {why: "Purge/rel-42: ledger: its record changed from none to transition 1 (adopted)", change: func(s *stage) {
			s.must(diag.ExitOK, "ledger", "adopt", "purge/rel-42", "--reason", "x")
		}},
		"another ledger": {why: "ledger: its id changed from", change: func(s *stage) {
			s.moveTo("file:other", func() {})
		}},
		"another address": {why: "target: the address of the delivery area changed from http://", change: func(s *stage) {
			web := httptest.NewServer(http.HandlerFunc(s.serve))
			t.Cleanup(web.Close)
			before := s.vars["TRUEUP_DELIVERY_URL"]
			s.vars["TRUEUP_DELIVERY_URL"] = web.URL + sandbox.DeliveryBase
			folder := filepath.Join(s.dir, "ledger/log/9999999")
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				file := filepath.Join(folder, e.Name())
				text, err := os.ReadFile(file)
				if strings.HasSuffix(file, ".gz") { // readers do without it
					err = os.Remove(file)
				} else if bytes.Contains(text, []byte(before)) {
					moved := strings.Replace(string(text), before, s.vars["TRUEUP_DELIVERY_URL"], 1)
					s.write("ledger/log/9999999/"+e.Name(), regexp.MustCompile(`,"sum":"\w+"}\n`).ReplaceAllString(moved, "}\n"))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}},
		"an override":        {why: "options: overrides in trueup.yaml", change: func(s *stage) { s.more("overrides: [{kind: CDN, path: spec.x, ignore: true}]\n") }},
		"more creations":     {why: "options: maxCreates in trueup.yaml", change: func(s *stage) { s.more("maxCreates: 9\n") }},
		"more deletions":     {why: "options: maxDeletes in trueup.yaml", change: func(s *stage) { s.more("maxDeletes: 9\n") }},
		"another window":     {why: "options: purge.window in trueup.yaml", change: func(s *stage) { s.more("purge: {window: 2h}\n") }},
		"a byte of the file": {why: "expect plan.json", change: func(s *stage) { s.corrupt("plan.json") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := planned(t)
			c.change(s)
			s.writes()
			s.refuses(c.why)
		})
	}
}

// TestApplyRefusesOtherOptions: they are part of what a plan asserts.
func TestApplyRefusesOtherOptions(t *testing.T) {
	t.Parallel()
	s := planned(t)
	for why, args := range map[string][]string{
		"target: the platform changed from the real one to the sandbox": {"--sandbox"},
		`options: --target changed from none to ["CDN/*"]`:              {"--target", "CDN/*"},
		`options: --drift changed from "overwrite" to "report"`:         {"--drift", "report"},
		"options: --accept take-over":                                   {"--accept", "take-over=CDN/shop"},
		"options: --accept recreate":                                    {"--accept", "recreate=CDN/shop"},
		"options: --accept empty-live":                                  {"--accept", "empty-live"},
		"options: --prune":                                              {"--prune"},
		"options: reading only a part of the project":                   {"manifests"},
	} {
		s.refuses(why, args...)
	}
}

func (s *stage) remove(kindName, name string) {
	s.t.Helper()
	if err := s.server.Remove(kindName, workspace.Name, name); err != nil {
		s.t.Fatal(err)
	}
}

// corrupt changes one sign of a file.
func (s *stage) corrupt(name string) {
	s.t.Helper()
	text := s.content(name)
	s.write(name, strings.Replace(text, "shop", "chop", 1))
}

// TestApplyTakesWhatIsExpected: by file and by digest, wherever the manifests
// stand, whatever else live has, and without a second look at the file's content.
func TestApplyTakesWhatIsExpected(t *testing.T) {
	t.Parallel()
	s := planned(t)
	digest := s.digest()
	if text := s.content("plan.json"); !strings.Contains(text, `"digest":"`+digest+`"`) {
		t.Fatalf("%s is not in %s", digest, text)
	}
	for from, to := range map[string]string{"shop.yaml": "below/all.yaml", "rel-42.yaml": "below/a.yml"} {
		content := s.content("manifests/" + from)
		s.write("manifests/"+to, "# moved\n\n"+content)
		if err := os.Remove(filepath.Join(s.dir, "manifests", from)); err != nil {
			t.Fatal(err)
		}
	}
	s.put(strings.Replace(shopOf("60", "true", ""), "  tls:", "  unmanaged: {a: b}\n  tls:", 1))
	if now := s.digest(); now != digest {
		t.Errorf("the digest is %s, and was %s", now, digest)
	}
	for _, wrong := range []string{"sha256:" + strings.Repeat("0", 64), canon.Digest(nil).String()} {
		code, stdout, _ := s.run("apply", "--auto-approve", "--expect", wrong)
		if code != diag.ExitStale || !strings.Contains(stdout, digest) || !strings.Contains(stdout, wrong) || !strings.Contains(stdout, "apply --expect FILE") {
			t.Errorf("exit %d, %s", code, stdout)
		}
	}
	if sent := s.writes(); len(sent) > 0 {
		t.Errorf("sent were %v", sent)
	}
	for i, expect := range []string{"plan.json", digest} {
		_, _, stderr := s.run("apply", "--expect", expect)
		if !strings.Contains(stderr, "this is the expected plan, "+digest) || !strings.Contains(stderr, "--auto-approve") {
			t.Errorf("%d: %s", i, stderr)
		}
	}
	s.must(diag.ExitOK, "apply", "--auto-approve", "--expect", digest)
	if sent := s.writes(); len(sent) != 2 {
		t.Errorf("sent were %v", sent)
	}
	s.refuses(`edgeTTL was "60"; now it needs no change`)
}

// TestAFlagThatSaysNothingIsRefused: a variable of a script that is not set must
// not let apply send whatever there is to send.
func TestAFlagThatSaysNothingIsRefused(t *testing.T) {
	t.Parallel()
	s := planned(t)
	for flag, args := range map[string][]string{
		"--expect": {"apply", "--auto-approve", "--expect", ""}, "--drift": {"apply", "--auto-approve", "--drift="}, "--out": {"plan", "--out", ""},
		"--base-ref": {"plan", "--base-ref="}, "--issue": {"comment", "--issue", "", "shop.md"}, "--key": {"comment", "--key=", "shop.md"},
		"--result": {"comment", "--issue", "drift", "--result", "", "shop.md"}, "--repository": {"comment", "--repository=", "shop.md"},
	} {
		code, stdout, stderr := s.run(args...)
		if code != diag.ExitError || !strings.Contains(stderr, flag+" is empty") {
			t.Errorf("%v: exit %d, %s%s", args, code, stdout, stderr)
		}
	}
	if sent := s.writes(); len(sent) > 0 {
		t.Errorf("sent were %v", sent)
	}
}

// TestNothingOfAPlanFileIsSent: whoever writes a whole plan of their own, with a
// checksum and a digest that fit, has it refused.
func TestNothingOfAPlanFileIsSent(t *testing.T) {
	t.Parallel()
	s := planned(t)
	other := newStage(t)
	other.write("manifests/evil.yaml", strings.ReplaceAll(shopOf("1", "false", ""), "shop", "evil"))
	other.must(diag.ExitOK, "plan", "--out", "plan.json")
	s.write("plan.json", other.content("plan.json"))
	s.refuses("CDN/evil: git: its manifest is gone")
}

// TestWhatIsNoPlanFile: each has its reason and its code; what is missing is a
// slip, what is not as it was written is not the expected plan.
func TestWhatIsNoPlanFile(t *testing.T) {
	t.Parallel()
	s := planned(t)
	s.write("empty.json", "")
	s.write("text.json", "no plan")
	s.write("result.json", s.must(diag.ExitOK, "plan", "-o", "json"))
	s.write("newer.json", strings.Replace(s.content("plan.json"), "trueup.plan/v1", "trueup.plan/v2", 1))
	s.write("twice.json", strings.Replace(s.content("plan.json"), "{", `{"tool":"x",`, 1))
	s.write("cut.json", s.content("plan.json")[:1000])
	if err := os.Truncate(filepath.Join(s.dir, "text.json"), 0); err != nil {
		t.Fatal(err)
	}
	s.write("text.json", "no plan")
	long, err := os.Create(filepath.Join(s.dir, "long.json"))
	if err == nil {
		err = long.Truncate(200 << 20) // it takes no room on the disk
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = long.Close()
	for name, c := range map[string]struct {
		code int
		why  string
	}{
		"missing.json": {diag.ExitError, "no such file"}, "empty.json": {diag.ExitStale, "it is empty"}, "text.json": {diag.ExitStale, "not JSON"},
		"result.json": {diag.ExitStale, "it is a result (-o json)"}, "newer.json": {diag.ExitStale, `"trueup.plan/v2"`}, "twice.json": {diag.ExitStale, "twice"},
		"cut.json": {diag.ExitStale, "not JSON"}, "long.json": {diag.ExitStale, "longer than 64 MiB"}, "manifests": {diag.ExitStale, "not a regular file"},
		os.DevNull: {diag.ExitStale, "not a regular file"}, "sha256:abc": {diag.ExitError, "64 hexadecimal digits"},
	} {
		code, _, stderr := s.run("apply", "--auto-approve", "--expect", name)
		if code != c.code || !strings.Contains(stderr, c.why) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
		if strings.HasPrefix(name, "sha256:") || name == "manifests" {
			continue // show merges the results in a folder
		}
		if code, _, stderr := s.run("show", name); code != diag.ExitError || !strings.Contains(stderr, c.why) {
			t.Errorf("show %s: exit %d, %s", name, code, stderr)
		}
	}
	if sent := s.writes(); len(sent) > 0 {
		t.Errorf("sent were %v", sent)
	}
}

// TestPlanOut: a file is never that of an earlier run, is written through no link,
// and is only for the user.
func TestPlanOut(t *testing.T) {
	t.Parallel()
	s := planned(t)
	info, err := os.Stat(filepath.Join(s.dir, "plan.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Symlink("plan.json", filepath.Join(s.dir, "link.json")); err != nil {
		t.Skipf("this machine makes no symbolic links: %v", err)
	}
	for name, why := range map[string]string{"link.json": "symbolic link", "nowhere/plan.json": "no such file", "manifests": "is a directory", "-": "is no file"} {
		if code, _, stderr := s.run("plan", "--out", name); code != diag.ExitError || !strings.Contains(stderr, why) || !strings.Contains(stderr, "--out") {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
	}
	if code, _, stderr := s.run("plan", "--out", "plan.json", "--report", "json=./plan.json"); code != diag.ExitError || !strings.Contains(stderr, "both --out and --report") {
		t.Errorf("one file for both: exit %d, %s", code, stderr)
	}
	s.must(diag.ExitChanges, "plan", "--detailed-exitcode", "--out", "plan.json")
	s.must(diag.ExitOK, "show", "plan.json")
	if code, _, stderr := s.run("plan", "--out", "/dev/full"); code != diag.ExitError {
		t.Errorf("a full disk: exit %d, %s", code, stderr)
	}
	s.write("manifests/broken.yaml", strings.Replace(onePurge("rel-44"), "/a", "a", 1))
	s.must(diag.ExitInvalid, "plan", "--out", "plan.json")
	if text := s.content("plan.json"); text != "" {
		t.Errorf("the plan of an earlier run is left: %s", text)
	}
	s.must(diag.ExitInvalid, "apply", "--auto-approve", "--expect", canon.Digest(nil).String())
}
