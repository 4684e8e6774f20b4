package plan

import (
	"cmp"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// Assertion returns the canonical bytes of what the plan asserts: where requests
// would go, by which choices, what was read of git, live and ledger as far as
// the plan depends on it, and every request. It leaves out whatever may differ
// although the same would be sent for the same reason: the program, the time,
// files and places, causes, advice, sentences, and what only the clock moves.
func (p *Plan) Assertion() []byte {
	items := make([]any, len(p.Items))
	for i := range p.Items {
		items[i] = p.Items[i].asserted()
	}
	origins := object{}
	for area, origin := range p.Target.Origins {
		origins[string(area)] = origin
	}
	return canon.Bytes(map[string]any{
		"format": p.Format, "sandbox": p.Sandbox, "origins": map[string]any(origins),
		"workspace": p.Target.Workspace.UUID, "namespace": p.Target.Workspace.Name,
		"ledger": p.Ledger, "manifests": sum(p.Manifests), "options": encodedTree(p.Options), "items": items,
	})
}

// digest is that of the assertion, or empty where there is none.
func (p *Plan) digest() string {
	if p.Offline {
		return ""
	}
	return canon.Digest(p.Assertion()).String()
}

// object is a JSON object in the making.
type object map[string]any

// set adds a field, unless it has the value that says nothing.
func (o object) set(name string, value any) {
	switch v := value.(type) {
	case bool:
		if !v {
			return
		}
	case string:
		if v == "" {
			return
		}
	case []any:
		if len(v) == 0 {
			return
		}
	}
	o[name] = value
}

// asserted is what the plan asserts of one object.
func (it *Item) asserted() map[string]any {
	o := object{"kind": it.Kind, "name": it.Name, "op": string(it.Op), "exists": it.Live.Exists}
	if r := it.Request; r != nil {
		o["request"] = []any{r.Method, r.Path, r.ContentType, canon.Digest(r.Body).String()}
	}
	after := make([]any, len(it.After))
	for i, key := range it.After {
		after[i] = key.String()
	}
	lists := make([]any, len(it.Lists))
	for i, l := range it.Lists {
		lists[i] = []any{l.Path, l.Elements}
	}
	o.set("after", after)
	o.set("lists", lists)
	o.set("changes", assertedChanges(it.Changes))
	o.set("preserved", assertedValues(it.Preserved))
	o.set("collateral", assertedValues(it.Collateral))
	o.set("firstContact", assertedValues(it.FirstContact))
	o.set("uid", it.Live.UID)
	o.set("replaced", sum(it.Live.Replaced))
	o.set("remoteName", it.RemoteName)
	o.set("desired", sum(it.DesiredDigest))
	if it.Recorded != nil {
		o["recorded"] = []any{it.Recorded.Seq, string(it.Recorded.State)}
	}
	for name, is := range map[string]bool{
		"deleted": it.Deleted, "recreate": it.Recreate, "resend": it.Resend, "lost": it.Lost, "found": it.Found,
		"record": it.Record, "needsPerson": it.NeedsPerson,
	} {
		o.set(name, is)
	}
	return o
}

func assertedChanges(changes []Change) []any {
	list := make([]any, len(changes))
	for i, c := range changes {
		o := object{"path": c.Path, "class": string(c.Class), "base": c.Base, "live": c.Live, "desired": c.Desired}
		o.set("moved", c.Moved)
		o.set("left", c.Left)
		list[i] = map[string]any(o)
	}
	return list
}

func assertedValues(values []merge.Value) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = []any{v.Path, v.Value}
	}
	return list
}

func sum(s *canon.Sum) string {
	if s == nil {
		return ""
	}
	return s.String()
}

// encodedTree is a value as its JSON says it.
func encodedTree(v any) any { return canon.MustDecode([]byte(mustEncode(v))) }

// setDigest is the digest of the objects of a set: of what they are, and not of
// the files, documents and commits that hold them.
func setDigest(set *manifest.Set) *canon.Sum {
	objects := slices.SortedFunc(slices.Values(set.Objects), func(a, b *manifest.Object) int {
		return cmp.Or(cmp.Compare(a.Kind.Name, b.Kind.Name), cmp.Compare(a.Name, b.Name))
	})
	list := make([]any, len(objects))
	for i, o := range objects {
		list[i] = []any{o.Kind.Name, o.Name, o.Keep, o.Digest.String()}
	}
	digest := canon.Digest(canon.Bytes(list))
	return &digest
}

// overwritten is the part of a live spec that a merge patch of it replaces:
// whatever a value of the patch stands in for, with all that is below.
func overwritten(patch, live any) any {
	fields, isObject := patch.(map[string]any)
	have, ok := live.(map[string]any)
	if !isObject || !ok {
		return live
	}
	out := map[string]any{}
	for k, v := range fields {
		if was, there := have[k]; there {
			out[k] = overwritten(v, was)
		}
	}
	return out
}

// assert fills in what only the assertion needs, and the digest of all.
func (p *Planner) assert(out *Plan) {
	out.Manifests, out.Options = setDigest(p.in.Set), choices(p.in)
	for i := range out.Items {
		it := &out.Items[i]
		if rec := p.in.Ledger.Records[it.Key]; rec.Seq > 0 || rec.State != "" {
			it.Recorded = &Recorded{Seq: rec.Seq, State: rec.State}
		}
		if it.Op == Patch {
			it.Live.Replaced = p.replaced(it)
		}
	}
	out.Digest = Shown(out).digest()
}

func (p *Planner) replaced(it *Item) *canon.Sum {
	patch, _ := canon.MustDecode(it.Request.Body).(map[string]any)
	digest := canon.Digest(canon.Bytes(overwritten(patch["spec"], canon.MustDecode(p.in.Live.Objects[it.Key].Spec))))
	return &digest
}
