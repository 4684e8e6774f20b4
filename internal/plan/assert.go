package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"io"
	"reflect"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// Assertion returns the canonical bytes of what the plan asserts: targets, choices, the state that it
// depends on, and every request. It leaves out what may differ without changing what is sent and
// why: the program, the time, files and places, causes, advice and sentences.
func (p *Plan) Assertion() []byte {
	var b bytes.Buffer
	p.writeAssertion(&b)
	return b.Bytes()
}

// writeAssertion writes to a writer that never fails. An item is a tree only while it is written.
func (p *Plan) writeAssertion(w io.Writer) {
	origins := map[string]any{}
	for area, origin := range p.Target.Origins {
		origins[string(area)] = origin
	}
	text := canon.Bytes(map[string]any{
		"format": p.Format, "sandbox": p.Sandbox, "origins": origins,
		"workspace": p.Target.Workspace.UUID, "namespace": p.Target.Workspace.Name,
		"ledger": p.Ledger, "manifests": sum(p.Manifests), "options": encodedTree(p.Options), "items": []any{},
	})
	before, behind, _ := bytes.Cut(text, []byte("]")) // of the items: only the format is before them
	b := bytes.Clone(before)
	for i := range p.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.Append(b, p.Items[i].asserted())
		_, _ = w.Write(b)
		b = b[:0]
	}
	_, _ = w.Write(slices.Concat(b, []byte("]"), behind))
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

// asserted is what the plan asserts of one object, without empty values.
func (it *Item) asserted() map[string]any {
	values := func(list []merge.Value) []any {
		return each(list, func(v merge.Value) any { return []any{v.Path, v.Value} })
	}
	o := make(map[string]any)
	for _, f := range []struct {
		name  string
		value any
	}{
		{"after", each(it.After, func(key kind.Key) any { return key.String() })},
		{"lists", each(it.Lists, func(l merge.SentList) any { return []any{l.Path, l.Elements} })},
		{"changes", each(it.Changes, func(c Change) any { return c.asserted() })},
		{"preserved", values(it.Preserved)},
		{"collateral", values(it.Collateral)},
		{"firstContact", values(it.FirstContact)},
		{"uid", it.Live.UID},
		{"replaced", sum(it.Live.Replaced)},
		{"remoteName", it.RemoteName},
		{"desired", sum(it.DesiredDigest)},
		{"deleted", it.Deleted},
		{"recreate", it.Recreate},
		{"resend", it.Resend},
		{"lost", it.Lost},
		{"found", it.Found},
		{"record", it.Record},
		{"failed", it.Failed},
		{"needsPerson", it.NeedsPerson},
	} {
		if !reflect.ValueOf(f.value).IsZero() {
			o[f.name] = f.value
		}
	}
	o["kind"], o["name"], o["op"], o["exists"] = it.Kind, it.Name, string(it.Op), it.Live.Exists
	if r := it.Request; r != nil {
		o["request"] = []any{r.Method, r.Path, r.ContentType, canon.Digest(r.Body).String()}
	}
	if it.Recorded != nil {
		o["recorded"] = []any{it.Recorded.Seq, string(it.Recorded.State)}
	}
	return o
}

func (c Change) asserted() map[string]any {
	o := map[string]any{"path": c.Path, "class": string(c.Class), "base": c.Base, "live": c.Live, "desired": c.Desired}
	if c.Moved {
		o["moved"] = true
	}
	if c.Left {
		o["left"] = true
	}
	return o
}

// each maps a list; it is nil for an empty one.
func each[T, R any](list []T, of func(T) R) (out []R) {
	out = slices.Grow(out, len(list))
	for _, e := range list {
		out = append(out, of(e))
	}
	return out
}

func sum(s *canon.Sum) string {
	if s == nil {
		return ""
	}
	return s.String()
}

// encodedTree returns the JSON form of a value as a tree.
func encodedTree(v any) any { return canon.MustDecode([]byte(mustEncode(v))) }

// setDigest is the digest of the objects of a set, without their files, documents and commits.
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

// TreeDigest is the digest of everything that the requests of a plan depend on, except live objects and records.
func TreeDigest(in Inputs, project []byte) canon.Sum {
	return canon.Digest(canon.Bytes(map[string]any{
		"tool": in.Tool, "sandbox": in.Sandbox, "target": encodedTree(in.Target), "ledger": in.Ledger.ID, "project": string(project),
		"manifests": setDigest(in.Set).String(), "options": encodedTree(choices(in)),
	}))
}

// Completes reports whether nothing is left to do for git once the requests of the plan are sent.
func (p *Plan) Completes() bool {
	return !slices.ContainsFunc(p.Items, func(it Item) bool {
		return it.Leaves() || !slices.Contains([]Op{None, Create, Patch, Post}, it.Op)
	})
}

// overwritten is the part of a live spec that a merge patch replaces, with all below it.
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
