package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// Planner plans the objects of one set of inputs. Its methods may run in parallel.
type Planner struct {
	in    Inputs
	rules map[string]*merge.Rules
	// partly are the kinds whose rules leave some fields to the server.
	partly map[string]bool
	// hosts maps the kind.HostKey of a hostname to the manifests that serve it.
	hosts map[string][]*manifest.Object
	// spelled are the hostnames of git and of live as they are written there.
	spelled map[string]bool
	areas   map[kind.Area]*areaPresence
	// renamed maps the server's keys of objects without a manifest to those of the
	// ledger, where they differ.
	renamed map[kind.Key]kind.Key
}

// NewPlanner prepares what is looked up for each object.
func NewPlanner(in Inputs) *Planner {
	p := &Planner{
		in: in, rules: map[string]*merge.Rules{}, partly: map[string]bool{}, hosts: map[string][]*manifest.Object{},
		spelled: map[string]bool{}, renamed: map[kind.Key]kind.Key{}, areas: newAreas(in),
	}
	for _, k := range kind.AllKinds() {
		p.rules[k.Name] = RulesFor(k, in.Project.Overrides)
		p.partly[k.Name] = p.rules[k.Name].HasExcluded()
	}
	for _, o := range in.Set.Objects {
		if o.Kind.CanPatch() && o.Host != "" {
			host := kind.HostKey(o.Host)
			p.hosts[host] = append(p.hosts[host], o)
			p.spelled[o.Host] = true
		}
	}
	for _, o := range slices.AppendSeq(slices.Clone(in.Live.Unmanaged), maps.Values(in.Live.Objects)) {
		if o.Kind.CanPatch() && !o.Terminating {
			p.spelled[o.Host] = true
		}
	}
	for key, rec := range in.Ledger.Records {
		if rec.RemoteName != "" && rec.RemoteName != key.Name && in.Set.Find(key) == nil {
			p.renamed[kind.Key{Kind: key.Kind, Name: rec.RemoteName}] = key
		}
	}
	return p
}

// MakePlan compares git, live and ledger, and plans every object. The findings are mistakes in manifests
// that only live or the ledger show; a plan with an error must not be applied (docs/design.md 0.6).
func (p *Planner) MakePlan() (*Plan, diag.List) {
	in := p.in
	out := &Plan{
		Format: Format, Tool: in.Tool, Sandbox: in.Sandbox, Target: in.Target,
		Ledger: in.Ledger.ID, LedgerStore: in.LedgerStore, LedgerProblem: in.Ledger.Problem,
	}
	all := p.planObjects((*objectPlanner).planObject)
	findings, ops, unsettled := all.findings, all.ops, map[kind.Key]bool{}
	for _, it := range all.items { // kept although git may have changed it, because there is no record
		if it.Op == Kept && slices.ContainsFunc(it.Changes, func(c Change) bool { return c.Class == merge.UnknownBase }) {
			unsettled[it.Key] = true // a request that depends on it must not be sent before it
		}
	}
	out.Items = slices.DeleteFunc(all.items, func(it Item) bool { return !p.isTargeted(it.Key) })
	for _, hold := range ledger.ActiveHolds(in.Ledger.Holds, in.At.Early) {
		out.addNote("%s", hold)
	}
	p.blockManyCreates(out, ops)
	p.noteLedgerProblem(out)
	p.doubtWorkspace(out)
	p.planRemovedFromGit(out, findings.HasErrors())
	p.addOpenWithoutManifest(out)
	p.arrangeItems(out, ops, unsettled)
	p.deferOverLimit(out.Items)
	p.blockOnDrift(out)
	if outdated := out.addRequests(all.requests, in.Options.ForDrift); !in.Options.ForDrift {
		p.adviseOnPlan(out, all, outdated)
	}
	out.WeighRisks()
	out.Summary = out.CountItems()
	p.fillAssertion(out)
	findings.Sort()
	return out, findings
}

// arrangeItems sorts the items, and makes send-once requests wait for their hosts.
func (p *Planner) arrangeItems(out *Plan, ops map[kind.Key]Op, unsettled map[kind.Key]bool) {
	slices.SortStableFunc(out.Items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	for i := range out.Items {
		p.addDependencies(&out.Items[i], ops, unsettled)
	}
}

// noLedger is the reason of items that need the ledger; a note of the plan has the problem.
const noLedger = "the ledger can't be used"

// UnseenLedger is the note of a plan if nothing on this machine remembers the ledger.
const UnseenLedger = "this machine has not seen the ledger before, so it would not notice if an older version of it was restored"

// noteLedgerProblem notes what is wrong with the ledger, and what to do, unless an item says that.
func (p *Planner) noteLedgerProblem(out *Plan) {
	view := p.in.Ledger
	switch {
	case view.NotKept != nil:
		out.addNote("this machine can't store what it sees of the ledger, so it would not notice if an older version of it was restored: %v", view.NotKept)
	case view.Unseen:
		out.addNote(UnseenLedger)
	}
	if view.Problem == "" {
		return
	}
	effect := "apply sends nothing"
	if p.in.LedgerStore == "" {
		effect = "apply sends no purges or snapshots"
	}
	note := noLedger + ": " + view.Problem + "; trueup can't detect removals, and " + effect
	if !slices.ContainsFunc(out.Items, func(it Item) bool { return it.Reason == noLedger }) {
		note += "; to fix it, " + view.Fix
	}
	out.addNote("%s", note)
}

// doubtWorkspace notes that none of the objects that git is about is in the workspace: its UUID may be wrong.
func (p *Planner) doubtWorkspace(out *Plan) {
	for _, k := range p.emptyKinds() {
		question, fix := p.in.Target.Workspace.EmptyListQuestion(k)
		out.addNote("%s If not, %s", question, fix)
	}
}

// emptyKinds returns the kinds that the workspace has no objects of, although most have.
func (p *Planner) emptyKinds() []*kind.Kind {
	return slices.DeleteFunc(slices.Clone(kind.AllKinds()), func(k *kind.Kind) bool {
		question, _ := p.in.Target.Workspace.EmptyListQuestion(k)
		list := p.in.Live.Lists[k.Name] // the zero value where it was not read
		return question == "" || !list.Complete || list.Items > 0 || p.in.Sandbox
	})
}

// IsWorkspaceUnproven reports whether the workspace is empty, and trueup never applied to it: its UUID may be wrong.
func (p *Planner) IsWorkspaceUnproven() bool {
	return slices.ContainsFunc(p.emptyKinds(), func(k *kind.Kind) bool { return !p.areas[k.Area].applied })
}

// ReplanItem plans one object again, as if live were the given object (nil: none).
func (p *Planner) ReplanItem(key kind.Key, obj *kind.LiveObject) (Item, diag.List) {
	d := &objectPlanner{Planner: p, manifest: p.in.Set.Find(key), rec: p.in.Ledger.Records[key]}
	if obj != nil {
		d.live = *obj
	}
	d.planObject()
	return d.item, d.findings
}

// RulesOf returns how the planner compares specs of the kind.
func (p *Planner) RulesOf(k *kind.Kind) *merge.Rules { return p.rules[k.Name] }

// ManagedSpec returns git's part of a manifest's spec, as canonical JSON. If an override's fields were
// recorded as applied, lifting the override would look like taking over.
func (p *Planner) ManagedSpec(o *manifest.Object) []byte {
	if o.Kind.IsSendOnce() || !p.partly[o.Kind.Name] {
		return o.Spec
	}
	return canon.Encode(merge.ManagedValue(p.rules[o.Kind.Name], canon.MustDecode(o.Spec)))
}

func (p *Planner) isTargeted(key kind.Key) bool {
	return p.in.Options.Targets == nil || p.in.Options.Targets(key)
}

// objectPlanner is the planning of one object.
type objectPlanner struct {
	*Planner
	item     Item
	manifest *manifest.Object
	live     kind.LiveObject // the zero value unless it exists
	rec      ledger.Record
	findings diag.List
	// git and was are the decoded specs of the manifest and of live, nil until they are needed; patch is of the second.
	git, was any
	patch    map[string]any
}

// beginItem begins the item of an object. It copies the digests, because a pointer would keep the whole object in memory.
func (d *objectPlanner) beginItem() {
	o := d.manifest
	d.item = Item{Key: o.Key(), Path: o.Path, Line: o.Line, Op: None, DesiredDigest: new(o.Digest)}
	if d.live.Kind != nil {
		d.item.Live = Fingerprint{Exists: true, UID: d.live.UID, Digest: new(d.live.Digest)}
	}
}

// planObject plans an object by the policy of its kind.
func (d *objectPlanner) planObject() {
	d.beginItem()
	if d.item.Live.Exists && d.live.Name != d.manifest.Name {
		d.item.RemoteName = d.live.Name
	}
	if d.item.Live.Exists && d.live.Spec == nil && !d.live.Terminating {
		d.item.blockForNow("the platform returns it without a spec", "trueup changes nothing that it can't compare: run trueup again")
		d.item.Failed = true
		return
	}
	switch d.manifest.Kind.Policy {
	case kind.Converge:
		d.planConverging()
	case kind.CreateOnly:
		d.planCreateOnly()
	case kind.RequestOnly:
		d.planSendOnce()
	}
	if d.item.Op.sendsRequest() || d.item.leavesChange() {
		d.blockOnWrongTarget()
	}
	d.item.Cause = d.objectCause()
}

// blockOnWrongTarget blocks an item if this may be the wrong place.
func (d *objectPlanner) blockOnWrongTarget() {
	if view := d.in.Ledger; view.Elsewhere {
		d.item.blockForPerson("this may be the wrong workspace or platform: "+view.Problem, view.Fix)
	} else if a := d.areas[d.manifest.Kind.Area]; a.known > 0 && !a.present && !d.in.Options.AllowEmptyLive {
		d.item.blockForPerson(fmt.Sprintf("none of the %d objects in the ledger is live: is this the right workspace?", a.known),
			"check the workspace in trueup.yaml and the addresses; if everything was really deleted, add --accept empty-live")
	}
}

// addMistake adds an error at a place of the manifest, and blocks the object.
func (d *objectPlanner) addMistake(rule, field, message, fix string) {
	found := newAdvice(d.manifest, rule, field, message, fix)
	found.Severity = diag.Error
	d.findings = append(d.findings, found)
	d.item.blockForNow("its manifest has an error: "+rule, "") // the finding has the fix
}

// addOpenWithoutManifest reports requests without an outcome whose manifest has left git: they are never sent, and
// never forgotten (docs/design.md 0.10).
func (p *Planner) addOpenWithoutManifest(out *Plan) {
	elsewhere := 0
	for key, rec := range p.in.Ledger.Records {
		k, ok := kind.FindKind(key.Kind)
		if !ok || !rec.IsOpen() || p.in.Set.Find(key) != nil || !p.isTargeted(key) {
			continue
		}
		if p.in.Options.PartOfTree {
			elsewhere++
			continue
		}
		item := Item{Key: key, Op: InFlight, Cause: FromRemoval}
		if rec.ClaimStatus(p.in.At, p.in.Ledger.Terms[k.Area]) == ledger.InFlight {
			item.Reason, item.Fix = ledger.ExplainInFlight(rec)
		} else {
			item.blockForPerson(ledger.ExplainOpenRemoved(rec))
		}
		out.Items = append(out.Items, item)
	}
	if elsewhere > 0 {
		out.addNote("trueup read only part of the project; requests outside it without an outcome: %d", elsewhere)
	}
}

// addDependencies makes a send-once request wait for the objects that serve its hostnames and that change.
func (p *Planner) addDependencies(item *Item, ops map[kind.Key]Op, unsettled map[kind.Key]bool) {
	if item.Op != Post {
		return
	}
	for _, key := range p.servingObjects(item.Purge) {
		op := ops[key]
		_, live := p.in.Live.Objects[key]
		switch {
		case op == Kept && !live:
			item.blockForNow(fmt.Sprintf("%s, which serves it, was deleted outside git and stays deleted", key), "decide about that object first")
			return
		case unsettled[key]:
			item.blockForNow(fmt.Sprintf("%s, which serves it, differs from git for an unknown reason and stays as it is", key), "decide about that object first")
			return
		case !op.sendsRequest() && op != Blocked:
		case !p.isTargeted(key):
			item.blockForNow(fmt.Sprintf("this waits for %s, whose changes --target leaves out", key), fmt.Sprintf("add --target %s", key))
			return
		default:
			item.After = append(item.After, key)
		}
	}
}

// servingObjects returns the objects that serve the hostnames of a request now, or will once in sync.
func (p *Planner) servingObjects(info *PurgeInfo) []kind.Key {
	var keys []kind.Key
	for host := range hostsOf(info.Hostname, info.Subdomains) {
		for _, o := range p.hosts[host] {
			keys = append(keys, o.Key())
		}
		if key, ok := p.in.Live.Hosts[host]; ok {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b kind.Key) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(keys)
}
