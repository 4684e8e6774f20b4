package cli

import (
	"strings"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/e2e/quirks"
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
	"error-message-object": {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"error-reason":         {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"error-string":         {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"error-details":        {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"error-problem":        {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"error-nil-cause":      {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	// The list was whole, so a 404 that is no JSON is absence as well.
	"error-html": {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"error-text": {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	// The corpus has only documented fields; what is dropped is tested below.
	"drop-unknown-fields":   {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"wrong-namespace-empty": {verdict{diag.ExitNeedsPerson, "not found", false}, verdict{diag.ExitNeedsPerson, "is this the right workspace?", true}},
	"list-incomplete":       {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"list-expired":          {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"terminating":           {verdict{diag.ExitPartial, "is being deleted", false}, verdict{diag.ExitNeedsPerson, "is being deleted", true}},
	"finalizers":            {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"wrong-address":         {verdict{diag.ExitError, "wrong base address", true}, verdict{diag.ExitError, "wrong base address", true}},
	"gateway-timeout-text":  {verdict{diag.ExitError, "504", true}, verdict{diag.ExitError, "504", true}},
	// Who is turned away comes again.
	"rate-limited-plain":           {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"rate-limited-status":          {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"conflict-on-resource-version": {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"normalises":                   {verdict{diag.ExitNotConverged, "locations[/*].cache.edgeTTL  sent", false}, verdict{diag.ExitNotConverged, "locations[/*].cache.edgeTTL  sent", false}},
	"sorts-locations":              {verdict{diag.ExitNotConverged, "locations  sent", false}, verdict{diag.ExitNotConverged, "locations  sent", false}},
	"forgets-writes":               {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitNotConverged, "did not keep", false}},
	"keeps-removed":                {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},    // it removes nothing
	"replaces-spec":                {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitPartial, "422 Unprocessable Entity", false}}, // the upstreams of locations are gone
	"renames":                      {verdict{diag.ExitNeedsPerson, "the platform answered that it made", false}, verdict{diag.ExitNeedsPerson, "the platform answered that it made", false}},
	"redirect":                     {verdict{diag.ExitError, "is not followed", true}, verdict{diag.ExitError, "is not followed", true}},
	"half-body":                    {verdict{diag.ExitError, "unreadable list", true}, verdict{diag.ExitError, "unreadable list", true}},
	"captive-portal":               {verdict{diag.ExitError, "an HTML page instead of JSON", true}, verdict{diag.ExitError, "an HTML page instead of JSON", true}},
	"other-workspace":              {verdict{diag.ExitNeedsPerson, "wrong workspace", false}, verdict{diag.ExitError, "wrong workspace", true}},
	"executes-duplicates":          {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"duplicate-is-existing":        {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"duplicate-400":                {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"duplicate-422":                {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"date-ahead":                   {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"date-behind":                  {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitOK, "16 changed, 1 purge posted", false}},
	"readonly-rejects":             {verdict{diag.ExitOK, "18 created, 1 purge posted", false}, verdict{diag.ExitPartial, "omit: true", false}},
}

// TestCorpusUnderAdverseQuirks applies the corpus, a purge and a snapshot on a
// platform that misbehaves, then a change to all of the CDNs; nothing is ever
// purged twice, and what ends well plans empty.
func TestCorpusUnderAdverseQuirks(t *testing.T) {
	sets := corpusCDNs(t)
	for _, q := range quirks.All() {
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
			s.must(diag.ExitOK, "apply", "--auto-approve")
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
	if code == diag.ExitError && strings.Count(stderr, "\n") != 1 {
		s.t.Errorf("the error is not one line:\n%s", stderr)
	}
	sent := s.writes()
	if want.quiet && len(sent) > 0 {
		s.t.Errorf("%d writes were sent: %v", len(sent), sent)
	}
	if code == diag.ExitOK {
		s.isEmpty()
	}
	executed, err := s.server.CountExecutedPurges()
	if err != nil {
		s.t.Fatal(err)
	}
	for name, times := range executed {
		if times != 1 {
			s.t.Errorf("purge %s was executed %d times", name, times)
		}
	}
}

// TestADroppedFieldIsReported: a field that the server drops is named, and ends as
// not converged.
func TestADroppedFieldIsReported(t *testing.T) {
	s := newStage(t, "drop-unknown-fields")
	s.write("manifests/cdn.yaml", "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\n"+
		"spec: {hostname: shop.example.com, note: x}\n")
	code, stdout, stderr := s.run("apply", "--auto-approve")
	if code != diag.ExitNotConverged || !strings.Contains(stdout, `note  sent "x", returned (absent)`) {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	if !strings.Contains(stdout, "{kind: CDN, path: spec.note") {
		t.Errorf("no override is named:\n%s", stdout)
	}
}
