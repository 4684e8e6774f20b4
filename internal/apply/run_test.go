package apply_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/apply"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

func TestAnAuthenticationFailureStopsNewWork(t *testing.T) {
	documents := []string{purge("rel", relSpec), snapshot("db")}
	for i := range 5 {
		documents = append(documents, cdn(fmt.Sprintf("c%d", i), fmt.Sprintf(`{hostname: c%d.example.com}`, i)))
	}
	s := begin(t, append(documents, cdn("shop", plain))...).has(shop, plain).applied(shop, plain).
		on("POST CDN/c2", 1, denied(), false)
	res := s.run()
	s.ends(res, "CDN/c1", apply.Done, apply.OK)
	s.ends(res, "CDN/c2", apply.Failed, apply.Auth, "403")
	for _, name := range []string{"CDN/c3", "CDN/c4", db, rel} {
		s.ends(res, name, apply.Skipped, apply.Partial, "authentication")
	}
	if log := s.took(); strings.Contains(log, "c3") || strings.Contains(log, "db") || strings.Contains(log, rel) {
		t.Errorf("calls %s", log)
	}
}

// TestAWorkspaceThatDoesNotExist: its list is empty and every creation is a 404,
// so the first one ends the run.
func TestAWorkspaceThatDoesNotExist(t *testing.T) {
	lost := &said{"404 no such namespace", api.Error{Class: api.Rejected, Status: 404}}
	s := begin(t, cdn("a", `{hostname: a.example.com}`), cdn("b", `{hostname: b.example.com}`), snapshot("db")).
		on("POST CDN/a", 1, lost, false)
	res := s.run()
	s.ends(res, "CDN/a", apply.Failed, apply.Partial, "no such namespace")
	s.ends(res, "CDN/b", apply.Skipped, apply.Partial, "does not know this workspace")
	s.ends(res, db, apply.Skipped, apply.Partial, "does not know this workspace")

	s = begin(t, snapshot("a"), snapshot("b")).on("POST VolumeSnapshot/a", 1, lost, false)
	res = s.run()
	s.ends(res, "VolumeSnapshot/a", apply.Failed, apply.Partial, "no such namespace")
	s.ends(res, "VolumeSnapshot/b", apply.Skipped, apply.Partial, "does not know this workspace")
}

func TestAFailureStopsNothingElse(t *testing.T) {
	s := begin(t, cdn("a", `{hostname: a.example.com}`), cdn("b", `{hostname: b.example.com}`), snapshot("db")).
		on("POST CDN/a", 1, refused(), false)
	res := s.run()
	s.ends(res, "CDN/a", apply.Failed, apply.Partial)
	s.ends(res, "CDN/b", apply.Done, apply.OK)
	s.ends(res, db, apply.Done, apply.OK)
}

// TestInterruption: what was begun is finished and recorded, the rest is not
// begun.
func TestInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := begin(t, cdn("a", `{hostname: a.example.com}`), cdn("b", `{hostname: b.example.com}`), cdn("ok", plain), snapshot("db"), purge("rel", relSpec)).
		has("CDN/ok", plain).at("POST CDN/a", 1, cancel)
	res := s.apply(ctx, nil)
	s.ends(res, "CDN/a", apply.Done, apply.OK, "created")
	s.ends(res, "CDN/ok", apply.Skipped, apply.Interrupted, "before the ledger recorded")
	for _, name := range []string{"CDN/b", db, rel} {
		s.ends(res, name, apply.Skipped, apply.Interrupted, "interrupted")
	}
	s.wrote("GET CDN/a, pending CDN/a, POST CDN/a, GET CDN/a, applied CDN/a")
}

func TestInterruptionOfOnceOnlyRequests(t *testing.T) {
	for call, wrote := range map[string]string{
		"GET " + db:   "GET VolumeSnapshot/db",
		"clock":       "GET VolumeSnapshot/db, claim VolumeSnapshot/db, release VolumeSnapshot/db",
		"claim " + db: "GET VolumeSnapshot/db, claim VolumeSnapshot/db, release VolumeSnapshot/db",
		"POST " + db:  "GET VolumeSnapshot/db, claim VolumeSnapshot/db, POST VolumeSnapshot/db, posted VolumeSnapshot/db, GET VolumeSnapshot/db",
	} {
		n := 1
		if call == "clock" {
			n = 2 // the first look is the claim's
		}
		ctx, cancel := context.WithCancel(t.Context())
		s := begin(t, snapshot("db"), cdn("shop", plain), purge("rel", relSpec)).has(shop, plain).applied(shop, plain).at(call, n, cancel)
		res := s.apply(ctx, nil)
		if call == "POST "+db {
			s.ends(res, db, apply.Done, apply.OK, "ready")
		} else {
			s.ends(res, db, apply.Skipped, apply.Interrupted, "before it was sent")
		}
		s.ends(res, rel, apply.Skipped, apply.Interrupted)
		s.wrote(wrote)
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := begin(t, snapshot("db")).at("posted "+db, 1, cancel)
	s.options.Wait = time.Hour
	s.status = func(int) string { return `{}` }
	s.ends(s.apply(ctx, nil), db, apply.Failed, apply.Interrupted, "created", "interrupted")
	if s.records[key(db)].State != ledger.Posted {
		t.Error("it is not recorded")
	}
}

// TestSideBySide is for the race detector: many items at once, and their ends
// in the plan's order.
func TestSideBySide(t *testing.T) {
	var documents []string
	for i := range 50 {
		host := fmt.Sprintf(`{hostname: c%02d.example.com, tls: {forced: "true"}}`, i)
		documents = append(documents, cdn(fmt.Sprintf("c%02d", i), host), snapshot(fmt.Sprintf("s%02d", i)),
			purge(fmt.Sprintf("p%02d", i), fmt.Sprintf(`{hostname: c%02d.example.com, paths: [/a]}`, i)))
	}
	s := begin(t, documents...)
	for i := range 25 {
		s.has(fmt.Sprintf("CDN/c%02d", 2*i), fmt.Sprintf(`{hostname: c%02d.example.com, tls: {forced: "false"}}`, 2*i))
	}
	s.options.Parallelism = 8
	res := s.run()
	_, p := s.ready()
	for i, o := range res.Outcomes {
		if o.Key != p.Items[i].Key || o.Verdict != apply.OK || !o.Sent {
			t.Errorf("%d: %+v", i, o)
		}
	}
	if p.HasDifferences() {
		t.Errorf("pending: %+v", p.Summary)
	}
	var purges []string
	for i, call := range s.log {
		if strings.HasPrefix(call, "POST Purge/") {
			purges = append(purges, call)
		}
		if strings.HasSuffix(call, " Purge/p00") && slices.ContainsFunc(s.log[i:], func(c string) bool { return strings.Contains(c, "CDN/") }) {
			t.Error("a purge was begun before the last CDN was done")
		}
	}
	if len(purges) != 50 || !slices.IsSorted(purges) {
		t.Errorf("purges %v", purges)
	}
	// Without a number of workers there is one.
	s = due(t)
	s.options.Parallelism = 0
	s.ends(s.run(), rel, apply.Done, apply.OK)
}

// everything is a set of which each kind of write is due.
func everything(t *testing.T) *manifest.Set {
	return load(t, cdn("new", `{hostname: new.example.com}`), cdn("shop", group), snapshot("db"), purge("rel", relSpec))
}

func dueAll(t *testing.T, set *manifest.Set) *stage {
	return with(t, set).has(shop, lately).applied(shop, group)
}

// TestAnyCallMayFail is the model: whichever call fails, and however, there is
// no write without a durable intent before it, and no purge twice.
func TestAnyCallMayFail(t *testing.T) {
	set := everything(t)
	clean := dueAll(t, set)
	clean.run()
	calls := len(clean.log)
	if calls < 15 {
		t.Fatalf("only %d calls: %s", calls, clean.took())
	}
	for _, f := range []errorOutcome{
		{unclear(), true},
		{unclear(), false},
		{refused(), false},
		{unsent(), false},
		{denied(), false},
		{isNameTaken(), false},
		{answered(429), false},
		{answered(503), true},
		{answered(503), false},
		{mistake("boom"), true},
		{mistake("boom"), false},
	} {
		for k := 1; k <= calls; k++ {
			for _, times := range []int{1, 2} {
				s := dueAll(t, set)
				total := 0
				s.hook = func(call string, _ int) *errorOutcome {
					total++
					if total < k || total >= k+times {
						return nil
					}
					return s.fate(call, f)
				}
				name := fmt.Sprintf("call %d of %d, %d times: %v, did %v", k, calls, times, f.err, f.did)
				s.check(name, s.run())
				s.hook = nil
				s.check(name, s.run())
				if n := strings.Count(strings.Join(s.sent, "\n"), `"kind":"Purge"`); n > 1 {
					t.Errorf("%s: %d purges were executed: %s", name, n, s.took())
				}
				s.settled(name)
			}
		}
	}
}

// fate is what a fault means for a call: a ledger's failure says nothing of
// itself, and what is done by a read does not matter.
func (s *stage) fate(call string, f errorOutcome) *errorOutcome {
	verb, _, _ := strings.Cut(call, " ")
	if !slices.Contains([]string{"GET", "POST", "PATCH"}, verb) {
		if m := mistake(""); errors.As(f.err, &m) {
			return &f
		}
		return &errorOutcome{fmt.Errorf("disk full"), f.did}
	}
	if verb == "GET" {
		return &errorOutcome{f.err, false}
	}
	s.log[len(s.log)-1] += fmt.Sprintf("!%v", f.err)
	return &f
}

// check demands what must hold of every log of calls.
func (s *stage) check(name string, res apply.Result) {
	s.t.Helper()
	unclearOnce := map[string]int{}
	certain := []string{refused().Error(), unsent().Error(), denied().Error(), isNameTaken().Error(), answered(429).Error()}
	for i, call := range s.log {
		verb, object, _ := strings.Cut(call, " ")
		object, failure, _ := strings.Cut(object, "!")
		intent := map[bool]string{true: "pending ", false: "claim "}[strings.HasPrefix(object, "CDN/")]
		if verb != "POST" && verb != "PATCH" {
			continue
		}
		if !slices.Contains(s.log[:i], intent+object) {
			s.t.Errorf("%s: %s without an intent", name, call)
		}
		if verb == "POST" && intent == "claim " && !slices.Contains(certain, failure) {
			unclearOnce[object]++
		}
	}
	for object, n := range unclearOnce {
		if n > 1 {
			s.t.Errorf("%s: %s may have been executed %d times: %s", name, object, n, strings.Join(s.log, ", "))
		}
	}
	for _, o := range res.Outcomes {
		if o.Status == "" || o.Verdict == "" || o.Verdict != apply.OK && o.Message == "" {
			s.t.Errorf("%s: an outcome says too little: %+v", name, o)
		}
	}
}

// settled demands that after the second run only a person's questions are left.
func (s *stage) settled(name string) {
	s.t.Helper()
	_, p := s.ready()
	for _, it := range p.Items {
		if it.Request != nil {
			s.t.Errorf("%s: %s is still to be sent: %s", name, it.Key, strings.Join(s.log, ", "))
		}
	}
}
