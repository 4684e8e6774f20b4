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

// Differences returns a sentence for each difference between a plan and the expected
// one, and nothing if both assert the same. It begins with where requests go, then
// has the choices, then the objects by their key.
func Differences(expected, now *Plan) []string {
	if bytes.Equal(expected.Assertion(), now.Assertion()) {
		return nil
	}
	var d deviations
	d.target(expected, now)
	d.options(expected.Options, now.Options)
	then, current := byKey(expected), byKey(now)
	for _, name := range keysOfBoth(then, current) {
		d.object(name, then[name], current[name])
	}
	if len(d) == 0 && sum(expected.Manifests) != sum(now.Manifests) {
		d.add("git: manifests outside this plan changed")
	}
	if len(d) == 0 {
		d.add("its content differs: it was made by %s, and this is %s", expected.Tool, now.Tool)
	}
	return d
}

// byKey returns the items by the texts of their keys.
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

// was says that something is not what it was.
func (d *deviations) was(what, then, now string) {
	if then != now {
		d.add("%s is now %s; the plan was made for %s", what, cmp.Or(now, "none"), cmp.Or(then, "none"))
	}
}

func (d *deviations) target(expected, now *Plan) {
	d.was("target: the platform", platformOf(expected), platformOf(now))
	for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
		d.was("target: the address of the "+string(area)+" area", expected.Target.Origins[area], now.Target.Origins[area])
	}
	d.was("target: the workspace", placeOf(expected), placeOf(now))
	if expected.Ledger != now.Ledger {
		d.was("ledger: the one that is used", cmp.Or(expected.Ledger, expected.LedgerProblem), cmp.Or(now.Ledger, now.LedgerProblem))
	}
}

func platformOf(p *Plan) string {
	if p.Sandbox {
		return "the sandbox"
	}
	return "the real one"
}

func placeOf(p *Plan) string { return p.Target.Workspace.Name + " (" + p.Target.Workspace.UUID + ")" }

// options names each option that was chosen otherwise.
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

// maxSaid bounds a value in a sentence, in bytes, and maxPaths how many paths of
// an object are told apart.
const (
	maxSaid  = 100
	maxPaths = 5
)

// object adds what differs in one object: in git, live or the ledger.
func (d *deviations) object(key string, then, now *Item) {
	of := deviations{}
	switch {
	case then == nil && now.DesiredDigest != nil:
		of.add("git: its manifest was added")
	case then == nil:
		of.add("now it is to %s; the plan did not have it", doing(now))
	case now == nil && then.DesiredDigest != nil:
		of.add("git: its manifest is gone, or outside what is read; it was to %s", doing(then))
	case now == nil:
		of.add("it was to %s; now the plan does not have it", doing(then))
	default:
		of.both(then, now)
	}
	for _, text := range of {
		d.add("%s: %s", key, text)
	}
}

// both adds what differs in an object that both plans have.
func (d *deviations) both(then, now *Item) {
	a, b := then.asserted(), now.asserted()
	if bytes.Equal(canon.Bytes(a), canon.Bytes(b)) {
		return
	}
	manifest := sum(then.DesiredDigest) != sum(now.DesiredDigest)
	d.live(then, now)
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
	if len(*d) > 0 {
		return
	}
	fields := slices.DeleteFunc(keysOfBoth(a, b), func(name string) bool {
		return bytes.Equal(canon.Bytes(a[name]), canon.Bytes(b[name]))
	})
	d.add("the planned changes differ (%s)", strings.Join(fields, ", "))
}

// live adds whether the live object was created, deleted or replaced.
func (d *deviations) live(then, now *Item) {
	switch {
	case then.Live.Exists && !now.Live.Exists:
		d.add("live: it is gone")
	case !then.Live.Exists && now.Live.Exists:
		d.add("live: it was created")
	case then.Live.UID != now.Live.UID:
		d.add("live: it is another object of that name (uid %s, was %s)", cmp.Or(now.Live.UID, "none"), cmp.Or(then.Live.UID, "none"))
	}
}

// sides are the values of one path, as a sentence shows them.
type sides struct {
	base, live, desired string
	// beside says that git does not speak of it: it is kept, or goes, with what is
	// sent.
	beside bool
}

// sidesOf are those of every path that an item speaks of.
func sidesOf(it *Item) map[string]sides {
	all := map[string]sides{}
	for _, list := range [][]Value{it.Preserved, it.Collateral, it.FirstContact} {
		for _, v := range list {
			all[v.Path] = sides{live: said(v.Value), beside: true}
		}
	}
	for _, c := range it.Changes {
		all[c.Path] = sides{base: said(c.Base), live: said(c.Live), desired: said(c.Desired)}
	}
	return all
}

// paths says which values of git and of live are others; manifest says that git
// has another manifest.
func (d *deviations) paths(then, now *Item, manifest bool) {
	before, after := sidesOf(then), sidesOf(now)
	told := deviations{}
	for _, path := range keysOfBoth(before, after) {
		was, had := before[path]
		is, has := after[path]
		switch {
		case had && has:
			told.was("git: "+path, was.desired, is.desired)
			told.was("live: "+path, was.live, is.live)
			told.was("ledger: "+path+", as it was last applied,", was.base, is.base)
		case has:
			told.appeared(path, is, manifest)
		case was.beside && now.Op == None: // nothing is sent
		case now.Op == None || len(after) > 0:
			told.vanished(path, was, manifest)
		}
	}
	if len(told) == 0 && sum(then.Live.Replaced) != sum(now.Live.Replaced) {
		told.add("live: a list that the request sends as a whole changed")
	}
	if more := len(told) - maxPaths; more > 0 {
		told = append(told[:maxPaths], fmt.Sprintf("and %d more of its values", more))
	}
	*d = append(*d, told...)
}

// appeared says of a path why there is something to do now.
func (d *deviations) appeared(path string, is sides, manifest bool) {
	switch {
	case is.beside:
		d.add("live: %s is now %s; the plan did not have it", path, is.live)
	case manifest:
		d.add("git: %s is now %s; the plan changed nothing there (live: %s)", path, cmp.Or(is.desired, "none"), cmp.Or(is.live, "none"))
	default:
		d.add("live: %s is now %s; it was equal to git (%s)", path, cmp.Or(is.live, "none"), cmp.Or(is.desired, "none"))
	}
}

// vanished says of a path why there is nothing to do any more.
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

// recordOf is how far a record was.
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
