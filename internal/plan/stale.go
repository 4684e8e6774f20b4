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
	"trueup/internal/kind"
)

// Differences returns a sentence for each difference between two plans: of targets, choices, then
// objects. It is empty if both assert the same.
func Differences(expected, now *Plan) []string {
	if bytes.Equal(expected.Assertion(), now.Assertion()) {
		return nil
	}
	var d deviations
	d.target(expected, now)
	d.options(expected.Options, now.Options)
	then, current := byKey(expected), byKey(now)
	for _, name := range keysOfBoth(then, current) {
		for _, text := range objectDeviations(then[name], current[name]) {
			d.add("%s: %s", name, text)
		}
	}
	if len(d) == 0 && sum(expected.Manifests) != sum(now.Manifests) {
		d.add("git: manifests outside this plan changed")
	}
	if len(d) == 0 {
		d.add("its content differs: it was made by %s, and this is %s", expected.Tool, now.Tool)
	}
	return d
}

func byKey(p *Plan) map[string]*Item {
	items := make(map[string]*Item, len(p.Items))
	for i := range p.Items {
		items[p.Items[i].String()] = &p.Items[i]
	}
	return items
}

// keysOfBoth returns the sorted keys of two maps, each once.
func keysOfBoth[V any](a, b map[string]V) []string {
	all := map[string]V{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// deviations are sentences that begin with what they are about.
type deviations []string

func (d *deviations) add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

// was adds that something has another value, if it has.
func (d *deviations) was(what, then, now string) {
	if then != now {
		d.add("%s is now %s; the plan was made for %s", what, cmp.Or(now, "none"), cmp.Or(then, "none"))
	}
}

func (d *deviations) target(expected, now *Plan) {
	platform := map[bool]string{true: "the sandbox", false: "the real one"}
	d.was("target: the platform", platform[expected.Sandbox], platform[now.Sandbox])
	for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
		d.was("target: the address of the "+string(area)+" area", expected.Target.Origins[area], now.Target.Origins[area])
	}
	workspace := func(p *Plan) string { return p.Target.Workspace.Name + " (" + p.Target.Workspace.UUID + ")" }
	d.was("target: the workspace", workspace(expected), workspace(now))
	if expected.Ledger != now.Ledger {
		d.was("ledger: the one that is used", cmp.Or(expected.Ledger, expected.LedgerProblem), cmp.Or(now.Ledger, now.LedgerProblem))
	}
}

// options names each option that has another value.
func (d *deviations) options(expected, now *Choices) {
	a, _ := encodedTree(expected).(map[string]any)
	b, _ := encodedTree(now).(map[string]any)
	for _, o := range []struct{ field, name string }{
		{"drift", "--drift"},
		{"targets", "--target"},
		{"takeOver", "--take-over"},
		{"allowRecreate", "--allow-recreate"},
		{"allowEmptyLive", "--allow-empty-live"},
		{"maxCreates", "--max-creates"},
		{"prune", "--prune"},
		{"maxDeletes", "--max-deletes"},
		{"partOfTree", "reading only a part of the project"},
		{"overrides", "overrides of trueup.yaml"},
		{"window", "purge.window of trueup.yaml"},
	} {
		d.was("options: "+o.name, said(a[o.field]), said(b[o.field]))
	}
}

// maxSaid bounds a value in a sentence, in bytes, and maxPaths how many paths of
// an object are listed.
const (
	maxSaid  = 100
	maxPaths = 5
)

// said returns the short text of a value for a sentence, empty for nil.
func said(v any) string {
	if v == nil {
		return ""
	}
	text := string(canon.Bytes(v))
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + "..."
	}
	return text
}

// objectDeviations returns what differs in one object: in git, live or the ledger.
func objectDeviations(then, now *Item) (d deviations) {
	switch {
	case then == nil && now.DesiredDigest != nil:
		d.add("git: its manifest was added")
	case then == nil:
		d.add("now it is to %s; the plan did not have it", doing(now))
	case now == nil && then.DesiredDigest != nil:
		d.add("git: its manifest is gone, or outside what is read; it was to %s", doing(then))
	case now == nil:
		d.add("it was to %s; now the plan does not have it", doing(then))
	default:
		d.both(then, now)
	}
	return d
}

// both adds what differs in an object that both plans have.
func (d *deviations) both(then, now *Item) {
	a, b := then.asserted(), now.asserted()
	fields := slices.DeleteFunc(keysOfBoth(a, b), func(name string) bool {
		return bytes.Equal(canon.Bytes(a[name]), canon.Bytes(b[name]))
	})
	if len(fields) == 0 {
		return
	}
	manifest := sum(then.DesiredDigest) != sum(now.DesiredDigest)
	switch {
	case then.Live.Exists && !now.Live.Exists:
		d.add("live: it is gone")
	case !then.Live.Exists && now.Live.Exists:
		d.add("live: it was created")
	case then.Live.UID != now.Live.UID:
		d.add("live: it is another object of that name (uid %s, was %s)", cmp.Or(now.Live.UID, "none"), cmp.Or(then.Live.UID, "none"))
	}
	if then.Live.Exists == now.Live.Exists {
		d.paths(then, now, manifest)
	}
	if manifest && len(*d) == 0 {
		d.add("git: its manifest changed")
	}
	d.was("ledger: its record", recordOf(then), recordOf(now))
	if then.Op != now.Op {
		d.add("now it is to %s; before, to %s", doing(now), doing(then))
	}
	if len(*d) == 0 {
		d.add("the planned changes differ (%s)", strings.Join(fields, ", "))
	}
}

// sides are the values of one path, as a sentence shows them.
type sides struct {
	base, live, desired string
	// beside says that git does not mention it: the request keeps or loses it.
	beside bool
}

func sidesOf(it *Item) map[string]sides {
	all := map[string]sides{}
	for _, v := range slices.Concat(it.Preserved, it.Collateral, it.FirstContact) {
		all[v.Path] = sides{live: said(v.Value), beside: true}
	}
	for _, c := range it.Changes {
		all[c.Path] = sides{base: said(c.Base), live: said(c.Live), desired: said(c.Desired)}
	}
	return all
}

// paths adds which values changed; manifest says that git has another manifest.
func (d *deviations) paths(then, now *Item, manifest bool) {
	before, after := sidesOf(then), sidesOf(now)
	var found deviations
	for _, path := range keysOfBoth(before, after) {
		was, had := before[path]
		is, has := after[path]
		switch {
		case had && has:
			found.was("git: "+path, was.desired, is.desired)
			found.was("live: "+path, was.live, is.live)
			found.was("ledger: "+path+", as it was last applied,", was.base, is.base)
		case has:
			found.appeared(path, is, manifest)
		case now.Op == None && !was.beside || now.Op != None && len(after) > 0:
			found.vanished(path, was, manifest)
		}
	}
	if len(found) == 0 && sum(then.Live.Replaced) != sum(now.Live.Replaced) {
		found.add("live: a list that the request sends as a whole changed")
	}
	if more := len(found) - maxPaths; more > 0 {
		found = append(found[:maxPaths], fmt.Sprintf("and %d more of its values", more))
	}
	*d = append(*d, found...)
}

// appeared adds why there is something to do at a path now.
func (d *deviations) appeared(path string, is sides, manifest bool) {
	live, desired := cmp.Or(is.live, "none"), cmp.Or(is.desired, "none")
	switch {
	case is.beside:
		d.add("live: %s is now %s; the plan did not have it", path, is.live)
	case manifest:
		d.add("git: %s is now %s; the plan changed nothing there (live: %s)", path, desired, live)
	default:
		d.add("live: %s is now %s; it was equal to git (%s)", path, live, desired)
	}
}

// vanished adds why there is nothing to do at a path any more.
func (d *deviations) vanished(path string, was sides, manifest bool) {
	switch {
	case was.beside:
		d.add("live: %s was %s; now the plan does not have it", path, was.live)
	case manifest:
		d.add("git: %s needs no change now; the plan was made for %s", path, cmp.Or(was.desired, "none"))
	default:
		d.add("live: %s was %s; now it equals git", path, cmp.Or(was.live, "none"))
	}
}

// recordOf names the last transition of a record.
func recordOf(it *Item) string {
	if it.Recorded == nil {
		return ""
	}
	text := "transition " + strconv.Itoa(it.Recorded.Seq)
	if it.Recorded.State != "" {
		text += " (" + string(it.Recorded.State) + ")"
	}
	return text
}

// doing is what an operation does, after "is to".
func doing(it *Item) string {
	text := map[Op]string{
		Create: "be created", Patch: "be changed", Post: "be posted", Delete: "be deleted", Deferred: "be posted later",
	}[it.Op]
	switch {
	case text != "":
		return text
	case it.Reason != "":
		return "stay as it is (" + it.Reason + ")"
	}
	return "stay as it is"
}
