package report

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"trueup/internal/apply"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/plan"
)

// simulated is a platform on which several tries of an apply create objects.
type simulated struct {
	live    map[kind.Key]bool
	created map[kind.Key]bool
}

// try applies what is missing. A request may fail, and the process may be killed, which leaves the plan, or nothing if
// it has not sent anything.
func (s *simulated) try(t *rapid.T, keys []kind.Key, last bool) *Document {
	pl := &plan.Plan{Format: plan.Format}
	for _, k := range keys {
		op := plan.Create
		if s.live[k] {
			op = plan.None
		}
		pl.Items = append(pl.Items, plan.Item{Key: k, Path: "a.yaml", Op: op})
	}
	pl.Summary = pl.CountItems()
	ends := "whole"
	if !last {
		ends = rapid.SampledFrom([]string{"whole", "whole", "killed", "not started", "no plan"}).Draw(t, "ends")
	}
	doc := &Document{Command: "apply", Plan: pl}
	switch ends {
	case "not started":
		return nil
	case "no plan":
		return &Document{Command: "apply", ExitCode: exit.Error, Errors: []string{"the ledger does not answer"}}
	}
	outcomes := []apply.ItemOutcome{}
	for _, it := range pl.Items {
		o := apply.ItemOutcome{Key: it.Key, Status: apply.Done, Did: apply.Unchanged, Verdict: apply.OK}
		switch {
		case it.Op == plan.None:
		case !last && rapid.Bool().Draw(t, "fails"):
			o = apply.ItemOutcome{Key: it.Key, Status: apply.Failed, Sent: rapid.Bool().Draw(t, "sent"), Verdict: apply.Partial, Message: "503"}
		default:
			o.Did, o.Sent, s.live[it.Key], s.created[it.Key] = apply.Created, true, true, true
		}
		outcomes = append(outcomes, o)
	}
	if ends == "killed" {
		if !pl.SendsAnything() {
			return nil
		}
		killed := Unended(ResultOf("p", "", *doc))
		return &killed
	}
	result := apply.NewResult(outcomes)
	doc.Apply = &result
	return doc
}

// TestTriesShowWhatWasSent: whichever tries are killed or fail, the merged result has what all of them created as created,
// with its item, and all else as unchanged.
func TestTriesShowWhatWasSent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &simulated{map[kind.Key]bool{}, map[kind.Key]bool{}}
		var keys []kind.Key
		for i := range rapid.IntRange(1, 5).Draw(rt, "objects") {
			keys = append(keys, key("CDN", fmt.Sprintf("c-%d", i)))
			s.live[keys[i]] = rapid.Bool().Draw(rt, "live")
		}
		file := &fstest.MapFile{}
		shard := ShardHead{Format: ShardFormat, Shard: 1, FleetRun: FleetRun{Command: "apply", Tool: testTool, Shards: 1}, Projects: []string{"p"}}
		tries := rapid.IntRange(1, 4).Draw(rt, "tries")
		for n := range tries {
			shard.Started = time.Unix(int64(n), 0).UTC()
			var docs []Document
			if doc := s.try(rt, keys, n == tries-1); doc != nil {
				doc.Project = &ProjectResult{Path: "p", Running: doc.Project != nil}
				docs = append(docs, *doc)
			}
			file.Data = append(file.Data, fileOf(rt, shard, docs...).Data...)
		}
		fsys := fstest.MapFS{shard.Name(): file}
		doc, err := Collect(fsys, testTool)
		if err != nil {
			rt.Fatal(err)
		}
		if want := len(s.created); doc.Apply.Summary["created"] != want || doc.Apply.Summary["unchanged"] != len(keys)-want || doc.Plan.Summary.Create != want {
			rt.Fatalf("%v and %+v, and %d of %d were created", doc.Apply.Summary, doc.Plan.Summary, want, len(keys))
		}
		for _, o := range doc.Apply.Outcomes {
			o.Project = ""
			if o.Did == apply.Created != s.created[o.Key] {
				rt.Fatalf("%+v", o)
			}
		}
	})
}
