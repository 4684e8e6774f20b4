package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"io"
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
	var b bytes.Buffer
	p.writeAssertion(&b)
	return b.Bytes()
}

func (p *Plan) writeAssertion(w io.Writer) {
	origins := object{}
	for area, origin := range p.Target.Origins {
		origins[string(area)] = origin
	}
	fields := map[string]any{
		"format": p.Format, "sandbox": p.Sandbox, "origins": map[string]any(origins),
		"workspace": p.Target.Workspace.UUID, "namespace": p.Target.Workspace.Name,
		"ledger": p.Ledger, "manifests": sum(p.Manifests), "options": encodedTree(p.Options), itemsField: []any{},
	}
	stream(w, fields, itemsField, len(p.Items), func(i int) any { return p.Items[i].asserted() })
}

// digest is that of the assertion, or empty where there is none.
func (p *Plan) digest() string {
	if p.Offline {
		return ""
	}
	h := sha256.New()
	p.writeAssertion(h)
	return canon.Sum(h.Sum(nil)).String()
}

// stream writes the canonical form of an object to what takes everything. The
// list in it has n elements, each of which is a tree only while it is written: all
// of them together are many times the text. Without any it is as the fields say.
func stream(w io.Writer, fields map[string]any, list string, n int, element func(int) any) {
	b := []byte("{")
	for i, name := range canon.SortedKeys(fields) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(canon.Append(b, name), ':')
		if name != list || n == 0 {
			b = canon.Append(b, fields[name])
			continue
		}
		for i := range n {
			b = append(b, "[,"[min(i, 1)])
			b = canon.Append(b, element(i))
			_, _ = w.Write(b)
			b = b[:0]
		}
		b = append(b, ']')
	}
	_, _ = w.Write(append(b, '}'))
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
	o.set("deleted", it.Deleted)
	o.set("recreate", it.Recreate)
	o.set("resend", it.Resend)
	o.set("lost", it.Lost)
	o.set("found", it.Found)
	o.set("record", it.Record)
	o.set("failed", it.Failed)
	o.set("needsPerson", it.NeedsPerson)
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
	list := []byte("[")
	for i, o := range objects {
		if i > 0 {
			list = append(list, ',')
		}
		list = canon.Append(list, []any{o.Kind.Name, o.Name, o.Keep, o.Digest.String()})
	}
	return new(canon.Digest(append(list, ']')))
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
		if it.Op != Patch {
			it.Live.Replaced = nil // it was blocked since it was compared
		}
	}
	out.Digest = Shown(out).digest()
}
