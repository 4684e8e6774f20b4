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
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// deviations are sentences that begin with what they are about.
type deviations []string

func (d *deviations) add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

// changed adds that something has another value, if it has.
func (d *deviations) changed(what, then, now string) {
	if then != now {
		d.add("%s changed from %s to %s", what, cmp.Or(then, "none"), cmp.Or(now, "none"))
	}
}

func (d *deviations) target(expected, now *Plan) {
	platform := map[bool]string{true: "the sandbox", false: "the real one"}
	d.changed("target: the platform", platform[expected.Sandbox], platform[now.Sandbox])
	for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
		d.changed("target: the address of the "+string(area)+" area", expected.Target.Origins[area], now.Target.Origins[area])
	}
	workspace := func(p *Plan) string { return p.Target.Workspace.Name + " (" + p.Target.Workspace.UUID + ")" }
	d.changed("target: the workspace", workspace(expected), workspace(now))
	if expected.Ledger != now.Ledger {
		d.changed("ledger: its id", cmp.Or(expected.Ledger, expected.LedgerProblem), cmp.Or(now.Ledger, now.LedgerProblem))
	}
}

// options names each option that has another value.
func (d *deviations) options(expected, now *Choices) {
	a, _ := encodedTree(expected).(map[string]any)
	b, _ := encodedTree(now).(map[string]any)
	for _, o := range [][2]string{
		{"drift", "--drift"},
		{"targets", "--target"},
		{"takeOver", "--take-over"},
		{"allowRecreate", "--allow-recreate"},
		{"allowEmptyLive", "--allow-empty-live"},
		{"maxCreates", "--max-creates"},
		{"prune", "--prune"},
		{"maxDeletes", "--max-deletes"},
		{"partOfTree", "reading only a part of the project"},
		{"overrides", "overrides in trueup.yaml"},
		{"window", "purge.window in trueup.yaml"},
	} {
		d.changed("options: "+o[1], said(a[o[0]]), said(b[o[0]]))
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
		d.add("apply would now %s; the plan does not list it", now.doing())
	case now == nil && then.DesiredDigest != nil:
		d.add("git: its manifest is gone, or trueup did not read it; the plan would %s", then.doing())
	case now == nil:
		d.add("the plan would %s; now there is nothing to do", then.doing())
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
		d.add("live: it was deleted")
	case !then.Live.Exists && now.Live.Exists:
		d.add("live: it was created")
	default:
		d.changed("live: it is another object with this name: its uid", then.Live.UID, now.Live.UID)
		d.paths(then, now, manifest)
	}
	if len(*d) == 0 && sum(then.Live.Replaced) != sum(now.Live.Replaced) {
		d.add("live: a list changed that the request sends in full")
	}
	if manifest && len(*d) == 0 {
		d.add("git: its manifest changed")
	}
	d.changed("ledger: its record", recordOf(then), recordOf(now))
	if then.Op != now.Op {
		d.add("apply would now %s; the plan would %s", now.doing(), then.doing())
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

// paths adds which values changed; manifest says that git has another manifest. Without one, a path
// that only one plan has was, or is, equal in git and live.
func (d *deviations) paths(then, now *Item, manifest bool) {
	before, after := sidesOf(then), sidesOf(now)
	if now.Op == None || len(after) == 0 { // the operation says why they need nothing
		maps.DeleteFunc(before, func(_ string, was sides) bool { return was.beside || now.Op != None })
	}
	var found deviations
	for _, path := range keysOfBoth(before, after) {
		was, had := before[path]
		is, has := after[path]
		only, format := is, "%s: %s is now %s; the plan does not list it"
		if had {
			only, format = was, "%s: %s was %s; now it needs no change"
		}
		switch {
		case had && has:
			found.changed("git: "+path, was.desired, is.desired)
			found.changed("live: "+path, was.live, is.live)
			found.changed("ledger: "+path+", as last applied,", was.base, is.base)
		case only.beside:
			found.add(format, "live", path, only.live)
		case manifest:
			found.add(format, "git", path, cmp.Or(only.desired, "none"))
		default:
			found.changed("live: "+path, cmp.Or(was.live, is.desired), cmp.Or(was.desired, is.live))
		}
	}
	if more := len(found) - maxPaths; more > 0 {
		found = append(found[:maxPaths], fmt.Sprintf("and %d more of its values", more))
	}
	*d = append(*d, found...)
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

// doing is what apply would do with an item.
func (it *Item) doing() string {
	does := map[Op]string{
		Create: "create it", Patch: "change it", Post: "send it", Delete: "delete it", Deferred: "send it later",
	}[it.Op]
	if does == "" && it.Reason != "" {
		return "leave it as it is (" + it.Reason + ")"
	}
	return cmp.Or(does, "leave it as it is")
}
