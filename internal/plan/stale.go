package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
)

// Differences returns a sentence for each difference between two plans: of ledgers, options and
// targets, then of objects. It is empty if both assert the same.
func Differences(expected, now *Plan) []string {
	if expected.Digest == now.Digest {
		return nil
	}
	var d []string
	then, current := expected.planFacts(), now.planFacts()
	for _, what := range keysOfBoth(then, current) {
		if then[what] != current[what] {
			d = append(d, changedSentence(what, then[what], current[what]))
		}
	}
	before, after := itemsByKey(expected), itemsByKey(now)
	for _, name := range keysOfBoth(before, after) {
		for _, text := range itemDifferences(before[name], after[name]) {
			d = append(d, name+": "+text)
		}
	}
	if len(d) == 0 && sumText(expected.Manifests) != sumText(now.Manifests) {
		d = append(d, "git: manifests outside this plan changed")
	}
	if len(d) == 0 {
		d = append(d, fmt.Sprintf("its content differs: it was made by %s, and this is %s", expected.Tool, now.Tool))
	}
	return d
}

func changedSentence(what, then, now string) string {
	return fmt.Sprintf("%s changed from %s to %s", what, cmp.Or(then, "none"), cmp.Or(now, "none"))
}

func itemsByKey(p *Plan) map[string]*Item {
	items := make(map[string]*Item, len(p.Items))
	for i := range p.Items {
		items[p.Items[i].String()] = &p.Items[i]
	}
	return items
}

// keysOfBoth returns the sorted keys of two maps, each once.
func keysOfBoth[V any](a, b map[string]V) []string {
	return slices.Compact(slices.Sorted(func(yield func(string) bool) {
		maps.Keys(a)(yield)
		maps.Keys(b)(yield)
	}))
}

// planFacts returns what a plan was made for, by sentences' subjects.
func (p *Plan) planFacts() map[string]string {
	facts := map[string]string{
		"target: the platform":  map[bool]string{true: "the sandbox", false: "the real one"}[p.Sandbox],
		"target: the workspace": p.Target.Workspace.Name + " (" + p.Target.Workspace.UUID + ")",
		"ledger: its id":        cmp.Or(p.Ledger, p.LedgerProblem),
	}
	for area, origin := range p.Target.Origins {
		facts["target: the address of the "+string(area)+" area"] = origin
	}
	chosen := canon.Object(encodedTree(p.Options))
	for field, name := range map[string]string{
		"drift": "--drift", "targets": "--target", "takeOver": "--accept take-over", "allowRecreate": "--accept recreate",
		"allowEmptyLive": "--accept empty-live", "maxCreates": "maxCreates in trueup.yaml", "prune": "--prune",
		"maxDeletes": "maxDeletes in trueup.yaml", "partOfTree": "reading only a part of the project",
		"overrides": "overrides in trueup.yaml", "window": "purge.window in trueup.yaml", "duplicate": "purge.duplicate in trueup.yaml",
	} {
		facts["options: "+name] = shortText(chosen[field])
	}
	return facts
}

// maxSaid bounds a value in a sentence, in bytes, and maxPaths how many values of
// an object are listed.
const (
	maxSaid  = 100
	maxPaths = 5
)

// shortText returns the short text of a value for a sentence, empty for nil.
func shortText(v any) string {
	if v == nil {
		return ""
	}
	return diag.Truncate(string(canon.Encode(v)), maxSaid)
}

// itemDifferences returns what differs in one object, which one of the plans may not list: in git, live or the ledger.
func itemDifferences(then, now *Item) []string {
	switch {
	case then == nil && now.DesiredDigest != nil:
		return []string{"git: its manifest was added"}
	case then == nil:
		return []string{"apply would now " + now.describeOp() + "; the plan does not list it"}
	case now == nil && then.DesiredDigest != nil:
		return []string{"git: its manifest is gone, or trueup did not read it; the plan would " + then.describeOp()}
	case now == nil:
		return []string{"the plan would " + then.describeOp() + "; now there is nothing to do"}
	}
	a, b := then.assertedFields(), now.assertedFields()
	fields := slices.DeleteFunc(keysOfBoth(a, b), func(name string) bool {
		return bytes.Equal(canon.Encode(a[name]), canon.Encode(b[name]))
	})
	if len(fields) == 0 {
		return nil
	}
	return listedDifferences(then, now, fields)
}

// listedDifferences returns what differs in an object that both plans list; fields name what they assert otherwise.
func listedDifferences(then, now *Item, fields []string) (d []string) {
	source := "live: "
	if sumText(then.DesiredDigest) != sumText(now.DesiredDigest) {
		source = "git: "
	}
	if then.Live.Exists == now.Live.Exists {
		if d = valueDifferences(then, now, source); len(d) > maxPaths {
			d = append(d[:maxPaths], fmt.Sprintf("and %d more of its values", len(d)-maxPaths))
		}
	} else {
		d = append(d, "live: it was "+map[bool]string{true: "created", false: "deleted"}[now.Live.Exists])
	}
	if len(d) == 0 && sumText(then.Live.Replaced) != sumText(now.Live.Replaced) {
		d = append(d, "live: a list changed that the request sends in full")
	}
	if len(d) == 0 && source == "git: " {
		d = append(d, "git: its manifest changed")
	}
	if was, is := describeRecord(then), describeRecord(now); was != is {
		d = append(d, changedSentence("ledger: its record", was, is))
	}
	if then.Op != now.Op {
		d = append(d, "apply would now "+now.describeOp()+"; the plan would "+then.describeOp())
	}
	if len(d) == 0 {
		d = append(d, "the planned changes differ ("+strings.Join(fields, ", ")+")")
	}
	return d
}

// notInGit marks a value that git does not mention: the request keeps or loses it.
const notInGit = ", which git does not mention,"

// itemValues returns the values of an item, by sentences' subjects.
func (it *Item) itemValues() map[string]string {
	values := map[string]string{}
	for _, v := range slices.Concat(it.Preserved, it.Collateral, it.FirstContact) {
		values["live: "+v.Path+notInGit] = shortText(v.Value)
	}
	for _, c := range it.Changes {
		values["git: "+c.Path], values["live: "+c.Path] = shortText(c.Desired), shortText(c.Live)
		values["ledger: "+c.Path+", as last applied,"] = shortText(c.Base)
	}
	return values
}

// valueDifferences returns which values changed. A path that only one plan lists needs no change in
// the other one because of source: git if the manifest changed, else live.
func valueDifferences(then, now *Item, source string) (d []string) {
	before, after := then.itemValues(), now.itemValues()
	if now.Op == None || len(after) == 0 { // the operation says why it needs nothing
		maps.DeleteFunc(before, func(what, _ string) bool { return now.Op != None || strings.HasSuffix(what, notInGit) })
	}
	const uid = "live: another object has this name: its uid"
	before[uid], after[uid] = then.Live.UID, now.Live.UID
	for _, what := range keysOfBoth(before, after) {
		was, had := before[what]
		is, has := after[what]
		switch {
		case had && has && was != is:
			d = append(d, changedSentence(what, was, is))
		case !had && strings.HasPrefix(what, source):
			d = append(d, fmt.Sprintf("%s is now %s; the plan does not list it", what, cmp.Or(is, "none")))
		case !has && strings.HasPrefix(what, source):
			d = append(d, fmt.Sprintf("%s was %s; now it needs no change", what, cmp.Or(was, "none")))
		}
	}
	return d
}

// describeRecord names the last transition of a record.
func describeRecord(it *Item) string {
	if it.Recorded == nil {
		return ""
	}
	text := "transition " + strconv.Itoa(it.Recorded.Seq)
	if it.Recorded.State != "" {
		text += " (" + string(it.Recorded.State) + ")"
	}
	return text
}

// describeOp is what apply would do with an item.
func (it *Item) describeOp() string {
	does := map[Op]string{
		Create: "create it", Patch: "change it", Post: "send it", Delete: "delete it", Deferred: "send it later",
	}[it.Op]
	if does == "" && it.Reason != "" {
		return "leave it as it is (" + it.Reason + ")"
	}
	return cmp.Or(does, "leave it as it is")
}
