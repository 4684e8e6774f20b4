package plan

import (
	"bytes"
	"fmt"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/rules"
)

// planConverging plans an object that is created and patched until live equals git.
func (d *objectPlanner) planConverging() {
	if d.rejectTakenHost() {
		return
	}
	switch {
	case !d.item.Live.Exists:
		d.markDeleted()
		if !d.keepDeleted() {
			d.planCreate()
		}
	case d.live.Terminating:
		d.item.blockForNow("live is being deleted", "run trueup again when it is gone")
		d.item.Deleted = true
	case d.live.Digest != d.manifest.Digest:
		d.planPatch()
	}
	if d.item.Op == None {
		d.finishInSync()
	}
}

// finishInSync ends an object that needs no request: the ledger may have to record that, or a person to decide about what
// the last write changed besides.
func (d *objectPlanner) finishInSync() {
	isApplied := d.isLastApplied() && !d.isReplaced()
	if isApplied && len(d.rec.Altered) > 0 {
		d.item.blockForPerson(fmt.Sprintf("the last write of the object also changed %s, which was not sent, and git does not say what must be there", diag.JoinFirst(d.rec.Altered, 5)),
			fmt.Sprintf("write in git what must be there; or, if live is right, run trueup ledger adopt %s --reason TEXT", d.item.Key))
		return
	}
	inSync := isApplied && d.rec.Owed == nil && (!d.rec.NotConverged || d.item.LeavesServerValues())
	d.item.Record = d.in.Ledger.Problem == "" && !inSync
}

// markDeleted says that live lacks an object that the ledger knows, and which hostname nothing serves since.
func (d *objectPlanner) markDeleted() {
	if d.rec.Applied == nil {
		return
	}
	d.item.Deleted = true
	host := canon.TextAt(canon.MustDecode(d.rec.Applied), d.manifest.Kind.HostField)
	if _, taken := d.in.Live.Hosts[kind.HostKey(host)]; !taken {
		d.item.Unserved = host
	}
}

// rejectTakenHost rejects a hostname that another object has, unless the live object has it already.
func (d *objectPlanner) rejectTakenHost() bool {
	o := d.manifest
	host, field := kind.HostKey(o.Host), "spec."+o.Kind.HostField
	if d.item.Live.Exists && kind.HostKey(d.live.Host) == host {
		return false
	}
	if other, ok := d.in.Live.Hosts[host]; ok && other != o.Key() {
		d.addMistake(rules.HostnameTaken, field,
			fmt.Sprintf("the live %s already serves the hostname %s", other, o.Host),
			fmt.Sprintf("give this object the name %s, or another hostname", other.Name))
		return true
	}
	first := d.hosts[host]
	if len(first) == 0 || first[0] == o {
		return false
	}
	d.addMistake(rules.HostnameTaken, field,
		fmt.Sprintf("%s has the hostname %s too, and neither is live", first[0].Key(), o.Host), anotherHostname)
	return true
}

// anotherHostname is what to do about a hostname that two objects of git have.
const anotherHostname = "give one of them another hostname"

// isLastApplied reports whether the manifest was applied last, and no write was begun since.
func (d *objectPlanner) isLastApplied() bool {
	return d.rec.Applied != nil && bytes.Equal(d.rec.Applied, d.ManagedSpec(d.manifest)) && d.rec.Pending == nil
}

// isReplaced reports whether live is another object than the one in the ledger.
func (d *objectPlanner) isReplaced() bool { return isAnotherObject(d.rec, d.live) }

func isAnotherObject(rec ledger.Record, live kind.LiveObject) bool {
	return rec.UID != "" && live.UID != "" && rec.UID != live.UID
}

// planCreate plans the POST of the whole object.
func (d *objectPlanner) planCreate() {
	d.item.Op, d.item.Request, d.item.Before = Create, d.createRequest(), &ledger.LiveBefore{Absent: true}
	if path := d.manifest.Kind.DiskField; path != nil {
		d.item.Disk = canon.TextAt(d.item.BodySpec(), path...)
	}
}

// createRequest is the request that makes the object.
func (d *objectPlanner) createRequest() *Request {
	o := d.manifest
	return &Request{
		Method:      "POST",
		Path:        o.Kind.ShortCollectionPath(),
		ContentType: "application/json",
		Body:        o.Kind.MakeEnvelope(d.in.Target.Workspace, o.Name, d.specToSend(o)),
	}
}

// specToSend is the spec of an object that is made; what must be absent is left out.
func (p *Planner) specToSend(o *manifest.Object) []byte {
	if !p.partly[o.Kind.Name] && !bytes.Contains(o.Spec, []byte("null")) {
		return o.Spec // there is nothing to leave out
	}
	return canon.Encode(merge.SendableValue(p.rules[o.Kind.Name], canon.MustDecode(o.Spec)))
}

// planPatch plans the PATCH that brings live to the manifest.
func (d *objectPlanner) planPatch() {
	in, back := d.mergeInput()
	in.LeaveDrift = d.in.Options.Drift == ReportDrift
	res := merge.Compare(in)
	d.patch = res.Patch
	d.item.Changes, d.item.Notes = d.explainChanges(res.Changes, in.Live), d.explainChanges(res.Notes, in.Live)
	d.noteRefilled(back)
	d.item.Preserved, d.item.Collateral, d.item.Lists = res.Preserved, res.Collateral, res.Lists
	d.noteLiveOnly(in)
	if res.Patch == nil && len(res.Changes) == 0 {
		return
	}
	d.reclassifyServerValues(in)
	if res.Patch == nil {
		d.keepDrifted()
	} else {
		d.item.Op = Patch
		d.item.Request = &Request{
			Method:      "PATCH",
			Path:        d.manifest.Kind.ShortObjectPath(d.manifest.Name),
			ContentType: "application/merge-patch+json",                               // docs/platform.md 4
			Body:        bytes.Clone(canon.Encode(map[string]any{"spec": res.Patch})), // it waits, without spare room
		}
		if !d.in.ReadOnly {
			d.item.Before = d.liveBefore(res.Patch, in.Live)
		}
		d.item.Live.Replaced = new(canon.Digest(canon.Encode(overwrittenPart(res.Patch, in.Live))))
	}
	d.checkComparison(res)
	if d.item.Op == Patch {
		if why := d.item.FindUnshownChange(d.item.Request.Body, in.Live); why != "" {
			d.item.blockForPerson(why, UnshownFix)
		}
	}
}

// reclassifyServerValues reclassifies what the server made of what trueup last sent: values that it did not keep, and removals
// that it did not carry out.
func (d *objectPlanner) reclassifyServerValues(in merge.Input) {
	if d.isReplaced() {
		return
	}
	if d.rec.NotConverged {
		d.reclassify(func(c Change) bool { return c.Class == merge.DriftOverwrite }, nil, hintRefused)
	}
	if d.rec.Owed != nil {
		in.Applied = canon.MustDecode(d.rec.Applied)
		isNew := map[string]bool{}
		for _, c := range merge.Compare(in).Changes {
			isNew[c.Path] = isNew[c.Path] || c.Class == merge.Removed
		}
		d.reclassify(func(c Change) bool { return c.Class == merge.Removed && !isNew[c.Path] }, d.rec.OwedAt, hintKept)
	}
}

// reclassify gives changes the class ServerNormalised, and the item a hint if there are any. keptAt is when the server kept a
// value that git removed.
func (d *objectPlanner) reclassify(isServers func(Change) bool, keptAt *time.Time, hint string) {
	isAny := false
	for i := range d.item.Changes {
		if c := &d.item.Changes[i]; isServers(*c) {
			c.Class, c.Cause, c.KeptAt, isAny = ServerNormalised, causeOf(ServerNormalised), keptAt, true
		}
	}
	if isAny {
		d.item.addHint(hint)
	}
}

// The hints that say what happened. All others are about what apply does.
const (
	hintRefused  = "the server did not keep this when trueup last sent it: take its value into git (trueup pull --replace), or ask the platform why"
	hintKept     = "the server kept this when trueup last removed it: if it is the server's default, write in git the value that you want"
	hintReplaced = "another client deleted and created it again after the last apply, so trueup ignores what git had before"
)

// checkComparison adds hints about unusual differences, and blocks those that a person must decide about.
func (d *objectPlanner) checkComparison(res merge.Comparison) {
	if d.isReplaced() {
		d.item.addHint(hintReplaced)
	}
	for _, c := range res.Changes {
		if c.Path == d.manifest.Kind.HostField {
			d.item.addHint("the platform does not document that a hostname can be changed: try it with a test CDN, and point DNS to the CDN first")
		}
	}
	if len(res.Mixed) > 0 {
		d.item.blockForPerson(fmt.Sprintf("git and another client both changed %s: --drift report keeps the other change, but trueup sends lists in full", res.Mixed[0]), d.item.undoOrKeepFix())
	}
	if len(res.Unplaced) > 0 {
		lost := res.Unplaced[0]
		d.item.blockForPerson(fmt.Sprintf("this request would drop %s, which an override excludes from the comparison: no key shows its list element in git", lost.Path),
			fmt.Sprintf("add a key for the list to overrides: in trueup.yaml, or stop excluding %s there", "spec."+merge.FieldPath(lost.At)))
	}
	if n := len(res.FirstContact); n > 0 {
		d.item.FirstContact = res.FirstContact
		d.item.blockForPerson(fmt.Sprintf("git lacks %s, and git does not own this object's lists yet", countNoun(n, "live list element")),
			fmt.Sprintf("add them to the manifest, or drop them with apply --accept take-over=%s", d.item.Key))
	}
}

// mergeInput returns the input of merge, and the server's values where git has null.
func (d *objectPlanner) mergeInput() (in merge.Input, back []merge.PathValue) {
	in, back = mergeInputOf(d.rules[d.manifest.Kind.Name], d.rec, d.manifest.Spec, d.live)
	if d.was = in.Live; !d.rec.NotConverged {
		d.git = in.Desired
	}
	in.TakeOver = d.in.Options.TakeOver[d.item.Key]
	return in, back
}

// noteRefilled notes the server's values where git has null, which stay.
func (d *objectPlanner) noteRefilled(back []merge.PathValue) {
	if len(back) == 0 {
		return
	}
	left := make([]merge.Difference, len(back))
	for i, v := range back {
		left[i] = merge.Difference{Path: v.Path, At: v.At, Class: merge.Unmanaged, Live: v.Value, Left: true}
	}
	d.item.Notes = append(d.item.Notes, d.explainChanges(left, nil)...)
	text := "git has null for " + back[0].Path
	if more := len(back) - 1; more > 0 {
		text += " and " + countNoun(more, "more field")
	}
	d.item.addHint(text + ": the server replaced it with its own value, so trueup does not send the null again")
}

// mergeInputOf returns the input of merge, without a record of another object. It leaves out the nulls
// that the server replaced when they were last sent, and returns its values. The trees share equal
// parts, because merge changes none.
func mergeInputOf(rules *merge.Rules, rec ledger.Record, spec []byte, live kind.LiveObject) (in merge.Input, back []merge.PathValue) {
	in = merge.Input{Rules: rules, Desired: canon.DecodeTrusted(spec)}
	in.Live = canon.DecodeSharing(live.Spec, spec, in.Desired)
	tree := func(record ledger.CanonicalJSON) any {
		if bytes.Equal(record, live.Spec) {
			return in.Live
		}
		return canon.DecodeSharing(record, spec, in.Desired)
	}
	if !isAnotherObject(rec, live) {
		if rec.Applied != nil {
			in.Applied = tree(rec.Applied)
		}
		if rec.Owed != nil {
			in.Applied = tree(rec.Owed)
		}
		for _, p := range rec.Pending {
			in.Pending = append(in.Pending, tree(p))
		}
	}
	if rec.NotConverged {
		in.Desired, back = merge.WithoutRefilledNulls(in)
	}
	return in, back
}
