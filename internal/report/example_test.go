package report

import (
	"encoding/json"
	"strings"
	"time"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
	"trueup/internal/routing"
)

// examplePlan has every operation and every class.
func examplePlan() *plan.Plan {
	return weighed(&plan.Plan{
		Format: plan.Format,
		Tool:   "trueup 0.1.0",
		Target: plan.Destination{
			Origins:   map[kind.Area]string{kind.Delivery: "https://delivery.example.com", kind.Compute: "https://compute.example.com"},
			Workspace: kind.Workspace{Name: "acme", UUID: "5a1d0000-0000-4000-8000-000000000000"},
		},
		Ledger:    "7c0e0000-0000-4000-8000-000000000000",
		Items:     []plan.Item{blockedItem(), createdItem(), changedItem(), keptItem(), unchangedItem(), vanishedItem(), purgeItem(), deferredItem(), flightItem(), resentItem(), foundItem(), snapshotItem(), recreatedItem(), failedSnapshotItem(), goneItem(), deletedItem()},
		Requests:  exampleRequests(),
		Unmanaged: []kind.Key{key("CDN", "blog"), key("CDN", "old"), key("VolumeSnapshot", "manual")},
		Notes:     []string{"the ledger has no record of CDN/legacy: trueup can't detect its removals"},
		Summary:   plan.Summary{Create: 4, Change: 1, Purge: 2, Delete: 1, Deferred: 1, InFlight: 1, Removed: 4, Blocked: 2, Kept: 1, Unchanged: 3, Drifted: 5, Unmanaged: 3},
	})
}

// exampleRequests has a line of each form.
func exampleRequests() []routing.RequestChange {
	shop, all := []kind.Key{key("CDN", "shop")}, []routing.HostSet{{Name: "shop.example.com"}}
	changed := func(what, before, after string) routing.ConditionalAnswer {
		return routing.ConditionalAnswer{Differences: []routing.PropertyDifference{{What: what, Before: before, After: after}}}
	}
	return []routing.RequestChange{
		{Effect: routing.Dark, Hosts: all, Objects: shop, RequestPart: routing.RequestPart{Paths: []routing.PathSet{{Pattern: "/old/*"}}, Answers: []routing.ConditionalAnswer{{Before: "a:443 over https, edge TTL 1 h", After: "nothing"}}}},
		{
			Effect: routing.OtherOrigin, Hosts: []routing.HostSet{{Name: "new.example.com"}}, As: "old.example.com", Still: true, StillBy: []string{"location /y of CDN/shop"}, Objects: []kind.Key{key("CDN", "shop"), key("CDN", "legacy")},
			Exceptions: []routing.RequestPart{{Paths: []routing.PathSet{{Pattern: "/s/*"}}, Answers: []routing.ConditionalAnswer{changed("origin", "o2.net:443", "o1.net:443")}}},
		},
		{Effect: routing.OtherRules, Hosts: all, Objects: shop, RequestPart: routing.RequestPart{Answers: []routing.ConditionalAnswer{changed("TLS forced", "false", "true")}}},
		{
			Effect: routing.OtherCaching, Hosts: []routing.HostSet{{Name: "*.shop.example.com", Except: []string{"img.shop.example.com"}}, {Name: "b.example.com"}}, Objects: shop,
			RequestPart: routing.RequestPart{Paths: []routing.PathSet{{Pattern: "/a/b/*"}, {Pattern: "/a*", Outside: []string{"/a/*"}}}, Answers: []routing.ConditionalAnswer{{Before: "a:443", After: "a:443"}, {When: []string{"the longest path wins", "the longest host wins"}, Differences: []routing.PropertyDifference{{What: "edge TTL", Before: "1 min", After: "1 h"}, {What: "headers X", Before: "not set", After: strings.Repeat("long ", 30)}}}}},
		},
		{Effect: routing.First, Hosts: all, Objects: shop, RequestPart: routing.RequestPart{Paths: []routing.PathSet{{Pattern: "/new/*", Outside: []string{"/new/a", "/new/b", "/new/c/*", "/new/d", "/new/e", "/new/f", "/new/g"}}}, Answers: []routing.ConditionalAnswer{{Before: "nothing", After: "b1.example.com:443, b2.example.com:443 over https"}}, Unless: []string{"/n*w"}}},
		{Effect: routing.Unclear, Hosts: all, RequestPart: routing.RequestPart{Paths: []routing.PathSet{{Pattern: "/a*b"}}}, Objects: shop},
	}
}

// weighed is the plan with what is at stake, as one that is made or read has it.
func weighed(pl *plan.Plan) *plan.Plan {
	pl.WeighRisks()
	for _, item := range pl.Items {
		pl.Summary.Serves += item.CountWithRisk(kind.RiskServes)
		pl.Summary.Security += item.CountWithRisk(kind.RiskSecurity)
		pl.Summary.Availability += item.CountWithRisk(kind.RiskAvailability)
		pl.Summary.Cost += item.CountWithRisk(kind.RiskCost)
	}
	return pl
}

func changedItem() plan.Item {
	return plan.Item{
		Key: key("CDN", "shop"), Path: "manifests/shop.yaml", Line: 1, Op: plan.Patch,
		Changes: changes([]merge.Difference{
			{Path: "tls.forced", Class: merge.Changed, Base: "false", Live: "false", Desired: "true"},
			{Path: "locations[/static/*].cache.edgeTTL", Class: merge.DriftOverwrite, Base: "3600", Live: "60", Desired: "3600"},
			{Path: "firewall.rules[block-bots]", Class: merge.Changed, Desired: map[string]any{
				"name": "block-bots", "enabled": true,
				"action": map[string]any{"type": "ratelimit", "ratelimit": map[string]any{
					"rate": json.Number("100"), "period": json.Number("60"), "penalty_period": json.Number("-1"), "algorithm": "sliding_window",
					"identifier": map[string]any{"type": "ip"}, "statusCode": "429",
				}},
				"constraints": []any{[]any{map[string]any{"type": "known_bots", "known_bots": map[string]any{"operator": "equals", "expected": "false"}}}},
			}},
			{Path: "firewall.rules[other]", Class: merge.Changed, Desired: map[string]any{
				"name": "other", "action": map[string]any{"type": "challenge", "challenge": map[string]any{"kind": "captcha, or so", "seconds": json.Number("30")}},
			}},
			{Path: "upstreams[b]", Class: merge.Changed, Desired: map[string]any{"name": "b", "scheme": "https", "servers": []any{
				map[string]any{"host": "b1.example.com", "port": "443"}, map[string]any{"host": "b2.example.com", "port": "443"},
			}}},
			{Path: "upstreams[origin].servers[c:80]", Class: merge.Removed, Live: map[string]any{"host": "c", "port": "80", "weight": "1"}},
			{Path: "locations[/api/*].cors", Class: merge.Removed, Base: map[string]any{"enabled": "true"}, Live: map[string]any{"enabled": "true"}},
			{Path: "locations[/old/*]", Class: merge.DriftOverwrite, Live: map[string]any{"path": "/old/*", "upstream": "origin"}},
			{Path: "locations[/api/*]", Class: merge.Changed, Live: map[string]any{"path": "/api/*"}, Desired: map[string]any{"path": "/api/*"}, Moved: true},
			{
				Path: "locations[/].headers.Content-Security-Policy", Class: merge.Changed,
				Live:    "default-src 'self'; img-src https://img.example.com; script-src 'self'",
				Desired: "default-src 'self'; img-src https://images.example.com; script-src 'self' 'unsafe-inline'",
			},
			{Path: "locations[/].cache.browserTTL", Class: merge.TakeOver, Live: "10", Desired: "300"},
			{Path: "secureLink.tokenName", Class: merge.Conflict, Base: "tok", Live: "t", Desired: "token"},
			{Path: "upstreams[origin].hc2.protocol", Class: merge.RemovedConflict, Base: "tcp", Live: "http"},
			{Path: "upstreams[origin].servers[a:443].weight", Class: merge.UnknownBase, Live: json.Number("1"), Desired: "10"},
			{Path: "tls.auto", Class: merge.DriftOverwrite, Base: "true", Desired: "true"},
		}),
		Notes: changes([]merge.Difference{
			{Path: "tls.enabled", Class: merge.Converged, Live: "true", Desired: "true"},
			{Path: "imgsvc", Class: merge.Unmanaged, Live: map[string]any{}},
		}),
		Preserved:  []merge.PathValue{{Path: "upstreams[origin].servers[a:443].passive", Value: map[string]any{"fails": "3"}}},
		Collateral: []merge.PathValue{{Path: "locations[/api/*].cors.maxAge", Value: "600"}},
		Lists:      []merge.SentList{{Path: "locations", Elements: 6}, {Path: "firewall.rules", Elements: 2}},
		Request: &plan.Request{Method: "PATCH", Path: "/cdns/shop", ContentType: "application/merge-patch+json", Body: json.RawMessage(
			`{"spec":{"tls":{"forced":"true"},"locations":[{},{},{},{},{},{}],"firewall":{"rules":[{},{}]},"secureLink":{"expireName":null},"headers":{}}}`)},
		Stops: []routing.UnansweredRequests{{Name: "shop.example.com/old/*", Host: "shop.example.com", PathSet: routing.PathSet{Pattern: "/old/*"}}},
		Hints: []string{"purge /static/* after this: its edge TTL changes"},
		Live:  plan.Fingerprint{Exists: true, UID: "u-1", Digest: digest("live")}, DesiredDigest: digest("desired"),
	}
}

func deletedItem() plan.Item {
	return plan.Item{
		Key: key("VolumeSnapshot", "db-2026-10-01"), Op: plan.Delete, Disk: "db-data", Made: "2026-10-01T03:00:00Z",
		Request: &plan.Request{Method: "DELETE", Path: "/volumesnapshots/db-2026-10-01"},
		Live:    plan.Fingerprint{Exists: true, UID: "u-9"},
	}
}

func flightItem() plan.Item {
	return plan.Item{
		Key: key("Purge", "rel-44"), Path: "manifests/purges/rel-44.yaml", Line: 1, Op: plan.InFlight,
		Reason:        "claimed by run https://ci.example.com/runs/7 at 2026-11-21T09:00:00Z",
		DesiredDigest: digest("rel-44"),
	}
}

func resentItem() plan.Item {
	return plan.Item{
		Key: key("Purge", "rel-45"), Path: "manifests/purges/rel-45.yaml", Line: 1, Op: plan.Post, Resend: true,
		Request: &plan.Request{Method: "POST", Path: "/purges", ContentType: "application/json", Body: json.RawMessage(`{"spec":{}}`)},
		After:   []kind.Key{key("CDN", "shop")},
		Purge: &plan.PurgeInfo{
			Hostname: "shop.example.com", Paths: 1, Sample: []string{"/offers"},
			Active: plan.HostBudget{Requests: 1, Paths: 1}, Budget: plan.HostBudget{Requests: 1, Paths: 1},
			Limits: plan.HostBudget{Requests: 100, Paths: 20000, Prefixes: 1000},
		},
		Hints:         []string{"Purge/rel-45 was about to be sent by run https://ci.example.com/runs/6 at 2026-11-21T08:00:00Z and no outcome was recorded: it may have been executed"},
		DesiredDigest: digest("rel-45"),
	}
}

func foundItem() plan.Item {
	return plan.Item{
		Key: key("VolumeSnapshot", "db-2026-11-19"), Path: "manifests/db.yaml", Line: 30, Op: plan.None, Found: true, RemoteName: "content-7",
		Hints: []string{"its request got no answer, and it is live as content-7: apply records that it was executed"},
		Live:  plan.Fingerprint{Exists: true, UID: "u-7"}, DesiredDigest: digest("db-2026-11-19"),
	}
}

func createdItem() plan.Item {
	return plan.Item{
		Key: key("CDN", "news"), Path: "manifests/news.yaml", Line: 3, Op: plan.Create,
		Request: &plan.Request{Method: "POST", Path: "/cdns", ContentType: "application/json", Body: json.RawMessage(
			`{"apiVersion":"delivery/v2.1","kind":"CDN","metadata":{"name":"news"},"spec":{"hostname":"news.example.com","locations":[{},{},{}],"upstreams":[{}],"tls":{"enabled":"true","auto":"true"}}}`)},
		DesiredDigest: digest("news"),
	}
}

func blockedItem() plan.Item {
	return plan.Item{
		Key: key("CDN", "legacy"), Path: "manifests/legacy.yaml", Line: 1, Op: plan.Blocked,
		Changes: changes([]merge.Difference{{Path: "tls.forced", Class: merge.UnknownBase, Live: "false", Desired: "true"}}),
		FirstContact: []merge.PathValue{
			{Path: "locations[/download/*]", Value: map[string]any{"path": "/download/*", "action": "proxy_http", "upstream": "files", "cache": map[string]any{"level": "standard", "edgeTTL": "86400"}}},
			{Path: "upstreams[files]", Value: map[string]any{"name": "files"}},
		},
		Reason:      "git does not have 2 live list elements, and git does not own this object's lists yet",
		NeedsPerson: true,
		Live:        plan.Fingerprint{Exists: true, Digest: digest("legacy")}, DesiredDigest: digest("legacy git"),
	}
}

func keptItem() plan.Item {
	return plan.Item{
		Key: key("CDN", "summer"), Op: plan.Kept, Cause: plan.FromRemoval, Reason: "the platform documents no deletion, so it stays live",
		Fix: "delete it in the web console if you don't need it", Live: plan.Fingerprint{Exists: true},
	}
}

func unchangedItem() plan.Item {
	return plan.Item{
		Key: key("CDN", "docs"), Path: "manifests/docs.yaml", Line: 1, Op: plan.None,
		Notes: changes([]merge.Difference{{Path: "hostname", Class: merge.Converged, Live: "docs.example.com", Desired: "docs.example.com"}}),
		Live:  plan.Fingerprint{Exists: true, Digest: digest("docs")}, DesiredDigest: digest("docs"),
	}
}

func purgeItem() plan.Item {
	return plan.Item{
		Key: key("Purge", "rel-42"), Path: "manifests/purges/rel-42.yaml", Line: 1, Op: plan.Post,
		Request: &plan.Request{Method: "POST", Path: "/purges", ContentType: "application/json", Body: json.RawMessage(`{"spec":{}}`)},
		After:   []kind.Key{key("CDN", "shop")},
		Purge: &plan.PurgeInfo{
			Hostname: "shop.example.com", Subdomains: []string{"www", "img"}, Paths: 12, Prefixes: 1,
			Sample: []string{"/index.html", "/app.js", "/static/*"},
			Active: plan.HostBudget{Requests: 2, Paths: 128},
			Budget: plan.HostBudget{Requests: 3, Paths: 140, Prefixes: 1}, Limits: plan.HostBudget{Requests: 100, Paths: 20000, Prefixes: 1000},
		},
		DesiredDigest: digest("purge"),
	}
}

func deferredItem() plan.Item {
	return plan.Item{
		Key: key("Purge", "rel-43"), Path: "manifests/purges/rel-43.yaml", Line: 1, Op: plan.Deferred,
		Reason: "docs.example.com has 100 of 100 purge requests in use; it fits from 2026-11-22T09:13Z", Fix: "run apply again from then on",
		Purge: &plan.PurgeInfo{
			Hostname: "docs.example.com", Paths: 12, Sample: []string{"/index.html"},
			Active: plan.HostBudget{Requests: 100, Paths: 128}, Budget: plan.HostBudget{Requests: 100, Paths: 128},
			Limits:   plan.HostBudget{Requests: 100, Paths: 20000, Prefixes: 1000},
			Earliest: time.Date(2026, 11, 22, 9, 12, 30, 0, time.UTC),
		},
		Hints:         []string{"3 of 12 paths are covered by /static/* of the active Purge/rel-42, accepted at 2026-11-21T08:12Z"},
		DesiredDigest: digest("later"),
	}
}

func snapshotItem() plan.Item {
	return plan.Item{
		Key: key("VolumeSnapshot", "db-2026-11-21"), Path: "manifests/db.yaml", Line: 1, Op: plan.Create, Disk: "db-data",
		Request:       &plan.Request{Method: "POST", Path: "/volumesnapshots", ContentType: "application/json", Body: json.RawMessage(`{"spec":{}}`)},
		DesiredDigest: digest("snapshot"),
	}
}

func failedSnapshotItem() plan.Item {
	return plan.Item{
		Key: key("VolumeSnapshot", "db-2026-11-20"), Path: "manifests/db.yaml", Line: 12, Op: plan.None,
		Hints: []string{"the server says that it failed: no space left"}, Live: plan.Fingerprint{Exists: true},
	}
}

func goneItem() plan.Item {
	return plan.Item{
		Key: key("VolumeSnapshot", "db-2026-10-01"), Path: "manifests/db.yaml", Line: 23, Op: plan.Blocked,
		Reason: "it was created and no longer exists; a new one would have other data", Deleted: true, NeedsPerson: true,
		Fix: "remove the manifest from git, or create a new one with apply --accept recreate=VolumeSnapshot/db-2026-10-01",
	}
}

func vanishedItem() plan.Item {
	return plan.Item{
		Key: key("CDN", "wiki"), Path: "manifests/wiki.yaml", Line: 1, Op: plan.Create, Deleted: true, Record: true,
		Request: &plan.Request{Method: "POST", Path: "/cdns", ContentType: "application/json", Body: json.RawMessage(`{"spec":{"hostname":"wiki.example.com"}}`)},
	}
}

func recreatedItem() plan.Item {
	return plan.Item{
		Key: key("VolumeSnapshot", "db-2026-10-02"), Path: "manifests/db.yaml", Line: 34, Op: plan.Create, Disk: "db-data", Recreate: true,
		Request: &plan.Request{Method: "POST", Path: "/volumesnapshots", ContentType: "application/json", Body: json.RawMessage(`{"spec":{}}`)},
	}
}

func exampleFindings() diag.List {
	return diag.List{
		{
			Path: "manifests/shop.yaml", Line: 14, Column: 16, Field: "spec.locations[0].cache.edgeTTL", Rule: "type", Severity: diag.Error,
			Message: "edgeTTL is text in the platform's document, and this is a number", Fix: `quote it: edgeTTL: "3600"`, Source: "      edgeTTL: 3600",
		},
		{
			Path: "manifests/広告.yaml", Line: 3, Column: 9, Rule: "unknown-field", Severity: diag.Warning,
			Message: "unknown field hostnam", Fix: "did you mean hostname?", Source: "\t広告\t: hostnam",
		},
		{Path: "-", Rule: "read", Severity: diag.Error, Message: "the file could not be read"},
	}
}

func exampleResult() *apply.Result {
	r := apply.NewResult([]apply.ItemOutcome{
		{Key: key("CDN", "news"), Status: apply.Done, Did: apply.Created, Sent: true, Verdict: apply.OK},
		{Key: key("CDN", "wiki"), Status: apply.Done, Did: apply.Changed, Sent: true, Message: "2 fields", Verdict: apply.OK},
		{Key: key("Purge", "rel-41"), Status: apply.Done, Did: apply.Posted, Sent: true, Message: "the platform executes it later", Verdict: apply.OK},
		{Key: key("VolumeSnapshot", "db-3"), Status: apply.Done, Did: apply.Created, Sent: true, Message: "not ready yet (--wait waits)", Verdict: apply.OK},
		{Key: key("VolumeSnapshot", "db-4"), Status: apply.Done, Did: apply.Deleting, Sent: true, Message: "accepted (--wait waits until it is gone)", Verdict: apply.OK},
		{Key: key("CDN", "docs"), Status: apply.Done, Did: apply.Unchanged, Verdict: apply.OK},
		{Key: key("CDN", "summer"), Status: apply.Done, Did: apply.Kept, Verdict: apply.OK},
		{Key: key("Purge", "rel-45"), Status: apply.InFlight, Message: "claimed by run 7", Verdict: apply.Partial},
		{
			Key: key("CDN", "shop"), Status: apply.Failed, Sent: true, Message: "the server did not keep what was sent", Verdict: apply.NotConverged,
			Mismatches: []merge.Mismatch{
				{Path: "count", Fault: merge.NotKept, Sent: "1.0", Returned: json.Number("1"), Hint: "{kind: CDN, path: spec.count, type: number}"},
				{Path: "secureLink.tokenName", Fault: merge.NotRemoved, Returned: "token"},
				{Path: "locations", Fault: merge.Altered, Sent: []any{"a"}},
			},
		},
		{Key: key("CDN", "legacy"), Status: apply.Blocked, Message: "nobody took this object over yet", Fix: "apply --accept take-over=CDN/legacy", Verdict: apply.NeedsPerson},
		{Key: key("VolumeSnapshot", "db-2026-11-21"), Status: apply.Failed, Sent: true, Message: "403 Forbidden", Fix: "the token needs compute-admin", Verdict: apply.Auth},
		{Key: key("VolumeSnapshot", "db-2"), Status: apply.Failed, Message: "503 Service Unavailable", Verdict: apply.Partial},
		{Key: key("CDN", "raced"), Status: apply.Failed, Message: "live changed since the plan", Verdict: apply.Stale},
		{Key: key("Purge", "rel-42"), Status: apply.Skipped, Message: "waits for CDN/shop", Verdict: apply.Partial},
		{Key: key("Purge", "rel-43"), Status: apply.Skipped, Message: "interrupted", Verdict: apply.Interrupted},
		{
			Key: key("Purge", "rel-44"), Status: apply.Deferred, Verdict: apply.Partial, Fix: "run apply again from then on",
			Message: "docs.example.com has 100 of 100 purge requests in use; it fits from 2026-11-22T09:13Z",
		},
	})
	return &r
}

// exampleTests has each result.
func exampleTests() *requesttest.TestResults {
	first := requesttest.ObservedAnswer{Readings: []string{"first in the list"}, When: "first in the list", Value: "1 h", Location: "/*", File: "manifests/shop.yaml", Line: 8}
	longest := requesttest.ObservedAnswer{Readings: []string{"longest path", "longest host"}, When: "longest path or longest host", Value: "5 min", Location: "/static/*", File: "manifests/shop.yaml", Line: 12}
	return &requesttest.TestResults{Passed: 1, Failed: 2, Cases: []requesttest.Case{
		{Name: "home", URL: "https://shop.example.com/", File: "manifests/shop.test.yaml", Line: 5, Column: 12, Result: requesttest.Passed},
		{
			Name: "static files", URL: "https://shop.example.com/static/a", File: "manifests/shop.test.yaml", Line: 8, Column: 12, Result: requesttest.Failed,
			Failures: []requesttest.Failure{
				{Field: "spec.tests[1].expect.cached", Line: 10, Column: 17, What: "cached", Expected: "1h", Got: []requesttest.ObservedAnswer{first, longest}},
				{Field: "spec.tests[1].expect.level", Line: 11, Column: 16, What: "level", Expected: "standard", Got: []requesttest.ObservedAnswer{{Readings: []string{"first in the list", "longest path", "longest host"}, Value: "not set", Location: "/*", File: "manifests/shop.yaml", Line: 8}}},
			},
		},
		{
			Name: "https://shp.example.com/", URL: "https://shp.example.com/", File: "manifests/shop.test.yaml", Line: 12, Column: 12, Result: requesttest.Failed,
			Failures: []requesttest.Failure{{Field: "spec.tests[2]", Line: 12, Column: 12, Problem: "no CDN in git has the host shp.example.com: did you mean shop.example.com?"}},
		},
	}, Coverage: &requesttest.Coverage{
		Locations: requesttest.ReachedCount{Reached: 2, Of: 3}, Upstreams: requesttest.ReachedCount{Reached: 1, Of: 1},
		Missing: []requesttest.UncoveredPart{{Object: "CDN/shop", What: "location", Name: "/img/*", File: "manifests/shop.yaml", Line: 20}},
	}}
}
