package plan_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/e2e/long"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

// shopPast is the history of one CDN: what live is, what the ledger has, and what live was before each write.
type shopPast struct {
	t      *rapid.T
	live   []byte
	rec    ledger.Record
	writes []ledger.LogEntry // the newest first
	before [][]byte          // of each write
	// foreign counts the changes outside git after each write.
	foreign []int
}

// drawShop draws what git or another client says.
func drawShop(t *rapid.T, label string) map[string]any {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label+" "+name) }
	spec := map[string]any{"hostname": "shop.example.com"}
	tls := map[string]any{}
	for _, field := range []string{"forced", "auto"} {
		if v := pick(field, "", "true", "false"); v != "" {
			tls[field] = v
		}
	}
	if len(tls) > 0 {
		spec["tls"] = tls
	}
	var locations []any
	for _, path := range []string{"/a/*", "/b/*", "/*"} {
		ttl := pick(path, "none", "", "60", "300")
		if path != "/*" && ttl == "none" {
			continue
		}
		location := map[string]any{"path": path, "action": "proxy_http", "upstream": "o"}
		if ttl == "60" || ttl == "300" {
			location["cache"] = map[string]any{"level": "standard", "edgeTTL": ttl, "ttlTimeUnit": "second"}
		}
		locations = append(locations, location)
	}
	spec["locations"] = locations
	spec["upstreams"] = []any{map[string]any{"name": "o", "scheme": "https", "servers": []any{
		map[string]any{"host": pick("host", "a", "b") + ".example.net", "port": "443", "weight": "1"},
	}}}
	return spec
}

// plan plans git's spec against what is live.
func (p *shopPast) plan(spec []byte) (plan.Item, []byte) {
	w := git(p.t, cdn("shop", string(spec)))
	shop := key(p.t, "CDN/shop")
	if p.live != nil {
		w.in.Live.Objects[shop] = object(p.t, "CDN/shop", string(p.live))
	}
	if p.rec.Applied != nil {
		w.in.Ledger.Records[shop] = p.rec
	}
	planner := plan.NewPlanner(w.in)
	made, findings := planner.MakePlan()
	if findings.HasErrors() || made.Items[0].Op == plan.Blocked {
		p.t.Fatalf("%v %s: %s", findings, made.Items[0].Op, made.Items[0].Reason)
	}
	return made.Items[0], planner.ManagedSpec(w.in.Set.Find(shop))
}

// apply does what a plan of git's spec says, and records it.
func (p *shopPast) apply(spec []byte) {
	item, managed := p.plan(spec)
	p.rec.Applied, p.rec.UID = managed, "uid-shop"
	if item.Request == nil {
		return
	}
	e := ledger.LogEntry{Entry: len(p.writes) + 1, Key: item.Key, Did: ledger.DidChange, Sent: managed, Live: item.Before}
	if item.Op == plan.Create {
		e.Did = ledger.DidCreate
	}
	if len(p.writes) > 0 {
		e.Applied = p.writes[0].Sent
	}
	p.writes, p.before, p.foreign = slices.Insert(p.writes, 0, e), append(p.before, p.live), append(p.foreign, 0)
	var was any
	if p.live != nil {
		was = canon.MustDecode(p.live)
	}
	p.live = canon.Encode(effect.ApplyPatch(any(item.BodySpec()), was))
}

// meddle changes live outside git: all of it, or one field.
func (p *shopPast) meddle() {
	change := drawShop(p.t, "console")
	if rapid.Bool().Draw(p.t, "one field") {
		change = map[string]any{"extra": rapid.SampledFrom([]any{nil, "x", "y"}).Draw(p.t, "extra")}
	}
	now := canon.Encode(effect.ApplyPatch(change, canon.MustDecode(p.live)))
	if !bytes.Equal(now, p.live) {
		p.foreign[len(p.foreign)-1]++
	}
	p.live = now
}

// TestUndoOfAnyEntry: of a random history of applies and changes outside git, any write can be undone. Then live is what it was
// before that write, except where something else changed it since: and exactly then that is said.
func TestUndoOfAnyEntry(t *testing.T) {
	k, _ := kind.FindKind("cdn")
	long.SetChecks(t, 40)
	rapid.Check(t, func(t *rapid.T) {
		p := &shopPast{t: t}
		p.apply(canon.Encode(drawShop(t, "git")))
		for range 20 {
			if rapid.IntRange(0, 2).Draw(t, "who") == 0 {
				p.meddle()
			} else {
				p.apply(canon.Encode(drawShop(t, "git")))
			}
		}
		if len(p.writes) < 2 {
			t.Skip("nothing was changed")
		}
		n := rapid.IntRange(1, len(p.writes)-1).Draw(t, "entry") // of the oldest there was nothing before
		since := p.writes[:len(p.writes)-n]
		spec, err := plan.SpecBefore(k, nil, since)
		if err != nil || spec == nil {
			t.Fatalf("%s: %v", spec, err)
		}
		taken, _ := plan.ManageableSpec(k, nil, spec, false)
		said := plan.FingerprintAfter(k, nil, p.rec, taken, kind.LiveObject{Spec: p.live}) != since[len(since)-1].Live.Sum
		foreign := 0
		for _, count := range p.foreign[n-1:] {
			foreign += count
		}
		p.apply(taken)
		is, _ := plan.ManageableSpec(k, nil, p.live, true)
		was, _ := plan.ManageableSpec(k, nil, p.before[n], true)
		if same := bytes.Equal(is, was); same == said {
			t.Fatalf("said %t\nis  %s\nwas %s", said, is, was)
		}
		if said && foreign == 0 {
			t.Fatalf("nothing else changed live, and it is\n%s, was\n%s", is, was)
		}
	})
}

// TestOlderEntriesAreNotGuessed: a ledger that an older version wrote does not have what live was.
func TestOlderEntriesAreNotGuessed(t *testing.T) {
	k, _ := kind.FindKind("cdn")
	spec, err := plan.SpecBefore(k, nil, []ledger.LogEntry{{Entry: 3, Did: ledger.DidChange, Sent: []byte(`{}`)}})
	if spec != nil || err == nil {
		t.Errorf("%s, %v", spec, err)
	}
}
