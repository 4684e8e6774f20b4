package cli

import (
	"strings"
	"testing"

	"trueup/internal/sandbox"
)

// verdict is how an apply ends on an adverse platform: with which code, saying
// what. quiet says that no write reached the platform.
type verdict struct {
	code  int
	says  string
	quiet bool
}

// adverseVerdicts names, for each adverse quirk, how a first apply ends and how
// the apply of a change to what stands there.
var adverseVerdicts = map[string]struct{ first, change verdict }{
	"error-message-object": {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"error-reason":         {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"error-string":         {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"error-details":        {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"error-problem":        {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"error-nil-cause":      {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	// The list was whole, so a 404 that is no JSON is absence as well.
	"error-html": {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"error-text": {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	// The corpus has only documented fields; what is dropped is tested below.
	"drop-unknown-fields":   {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"wrong-namespace-empty": {verdict{exitPartial, "not found", false}, verdict{exitNeedsPerson, "is this the right workspace?", true}},
	"list-incomplete":       {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"list-expired":          {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"terminating":           {verdict{exitPartial, "is being deleted", false}, verdict{exitNeedsPerson, "is being deleted", true}},
	"finalizers":            {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"wrong-address":         {verdict{exitError, "wrong base address", true}, verdict{exitError, "wrong base address", true}},
	"gateway-timeout-text":  {verdict{exitError, "504", true}, verdict{exitError, "504", true}},
	// Who is turned away comes again.
	"rate-limited-plain":           {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"rate-limited-status":          {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"conflict-on-resource-version": {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"normalises":                   {verdict{exitNotConverged, "path: spec.locations.cache.edgeTTL", false}, verdict{exitNotConverged, "path: spec.locations.cache.edgeTTL", false}},
	"sorts-locations":              {verdict{exitNotConverged, "path: spec.locations, order: set", false}, verdict{exitNotConverged, "path: spec.locations, order: set", false}},
	"forgets-writes":               {verdict{exitOK, "19 requests sent", false}, verdict{exitNotConverged, "did not keep", false}},
	"redirect":                     {verdict{exitError, "is not followed", true}, verdict{exitError, "is not followed", true}},
	"half-body":                    {verdict{exitError, "unreadable list", true}, verdict{exitError, "unreadable list", true}},
	"captive-portal":               {verdict{exitError, "an HTML page instead of JSON", true}, verdict{exitError, "an HTML page instead of JSON", true}},
	"other-workspace":              {verdict{exitNeedsPerson, "wrong workspace", false}, verdict{exitError, "wrong workspace", true}},
	"executes-duplicates":          {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"duplicate-is-existing":        {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"duplicate-400":                {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"duplicate-422":                {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"date-ahead":                   {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"date-behind":                  {verdict{exitOK, "19 requests sent", false}, verdict{exitOK, "17 requests sent", false}},
	"readonly-rejects":             {verdict{exitOK, "19 requests sent", false}, verdict{exitPartial, "omit: true", false}},
}

// TestCorpusUnderAdverseQuirks applies the corpus, a purge and a snapshot on a
// platform that misbehaves, then a change to all of the CDNs; nothing is ever
// purged twice, and what ends well plans empty.
func TestCorpusUnderAdverseQuirks(t *testing.T) {
	sets := corpusCDNs(t)
	for _, q := range sandbox.Quirks() {
		if q.Group == "benign" {
			continue
		}
		want, ok := adverseVerdicts[q.Name]
		if !ok {
			t.Errorf("no verdict is named for the quirk %s", q.Name)
			continue
		}
		t.Run(q.Name+"/first", func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.fill(copyTree(sets))
			s.quirky(q.Name)
			s.endsAs(want.first)
		})
		t.Run(q.Name+"/change", func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			changed := copyTree(sets)
			s.fill(changed)
			s.must(exitOK, "apply", "--auto-approve")
			s.writes()
			for name, doc := range changed {
				changeLocations(doc)
				s.writeManifest(name, doc)
			}
			s.write("manifests/purge-2.yaml", onePurge("rel-43"))
			s.quirky(q.Name)
			s.endsAs(want.change)
		})
	}
}

// fill writes the sets, a purge and two snapshots: 19 objects.
func (s *stage) fill(sets map[string]map[string]any) {
	for name, doc := range sets {
		s.writeManifest(name, doc)
	}
	s.write("manifests/purge.yaml", onePurge("rel-42"))
	for _, name := range []string{"db-1", "db-2"} {
		s.write("manifests/"+name+".yaml", "apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: "+name+
			"}\nspec: {volumeSnapshotClassName: general-purpose, source: {persistentVolumeClaimName: db}}\n")
	}
}

func onePurge(name string) string {
	return "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: " + name +
		"}\nspec: {hostname: archweb.example.org, paths: [/a]}\n"
}

func (s *stage) quirky(names ...string) {
	s.t.Helper()
	if err := s.server.SetQuirks(names...); err != nil {
		s.t.Fatal(err)
	}
}

// endsAs applies and holds the end against the verdict; after a good end a
// second apply sends nothing.
func (s *stage) endsAs(want verdict) {
	s.t.Helper()
	code, stdout, stderr := s.run("apply", "--auto-approve")
	if code != want.code || !strings.Contains(stdout+stderr, want.says) {
		s.t.Fatalf("exit %d, want %d and %q\n%s%s", code, want.code, want.says, stdout, stderr)
	}
	if code == exitError && strings.Count(stderr, "\n") != 1 {
		s.t.Errorf("the error is not one line:\n%s", stderr)
	}
	sent := s.writes()
	if want.quiet && len(sent) > 0 {
		s.t.Errorf("%d writes were sent: %v", len(sent), sent)
	}
	if code == exitOK {
		s.isEmpty()
	}
	executed, err := s.server.Executed()
	if err != nil {
		s.t.Fatal(err)
	}
	for name, times := range executed {
		if times != 1 {
			s.t.Errorf("purge %s was executed %d times", name, times)
		}
	}
}

// TestDroppedFieldIsSaid: a field that the server drops is warned of as the
// server says it, and ends as not converged.
func TestDroppedFieldIsSaid(t *testing.T) {
	s := newStage(t, "drop-unknown-fields")
	s.write("manifests/cdn.yaml", "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\n"+
		"spec: {hostname: shop.example.com, note: x}\n")
	code, stdout, stderr := s.run("apply", "--auto-approve")
	if code != exitNotConverged || !strings.Contains(stderr, `unknown field \"spec.note\"`) && !strings.Contains(stderr, `unknown field "spec.note"`) {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	if !strings.Contains(stdout, "{kind: CDN, path: spec.note") {
		t.Errorf("no override is named:\n%s", stdout)
	}
}
