package plan

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/routing"
)

// MaxFile bounds the file of a plan, in bytes.
const MaxFile = 64 << 20

// planFile is the content of a plan's file.
type planFile struct {
	Plan
	Requests []routing.RequestChange `json:"requests"`
	Checksum string                  `json:"checksum"`
}

// EncodePlan writes the file of a plan, which must be one of Redact: canonical JSON with a checksum over all of it, and a
// newline. It makes the text twice, first for the checksum, because it holds only a few objects of it in memory.
func EncodePlan(w io.Writer, p *Plan, at time.Time) error {
	file := planFile{*p, []routing.RequestChange{}, canon.Sum{}.String()}
	file.CreatedAt = at.UTC().Truncate(time.Second)
	file.Items = []Item{}
	text, err := canon.Canonicalize([]byte(mustEncode(file)))
	if err != nil {
		return fmt.Errorf("write a plan: %w", err)
	}
	before, behind, _ := bytes.Cut(text, checksumMember(file.Checksum))
	h, size := sha256.New(), 0
	write := func(to io.Writer, checksum []byte) error {
		w := bufio.NewWriter(to)                                 // it keeps the first error
		head, tail, _ := bytes.Cut(behind, []byte(`"items":[]`)) // quotes in texts are escaped
		_, _ = w.Write(slices.Concat(before, checksum, head, []byte(`"items":[`)))
		err := writeElements(w, p.Items)
		between, tail, _ := bytes.Cut(tail, []byte(`"requests":[]`))
		_, _ = w.Write(slices.Concat([]byte("]"), between, []byte(`"requests":[`)))
		err = cmp.Or(err, writeElements(w, p.Requests))
		_, _ = w.Write(append([]byte("]"), tail...))
		return cmp.Or(err, w.Flush())
	}
	counted := writerFunc(func(b []byte) (int, error) {
		if size += len(b); size > MaxFile {
			return 0, fmt.Errorf("the plan is larger than %d MiB: narrow it with --target", MaxFile>>20)
		}
		return h.Write(b)
	})
	if err := write(counted, nil); err != nil {
		return err
	}
	if err := write(w, checksumMember(canon.Sum(h.Sum(nil)).String())); err != nil {
		return err
	}
	_, err = w.Write([]byte("\n"))
	return err
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// writeElements writes the elements of a list.
func writeElements[T any](w io.Writer, list []T) error {
	separator := ""
	return diag.RenderInOrder(len(list), func(b *bytes.Buffer, i int) error {
		text, err := canon.Canonicalize([]byte(mustEncode(&list[i])))
		_, _ = b.Write(text)
		return err
	}, func(text []byte) (more bool, err error) {
		_, err = w.Write(append([]byte(separator), text...))
		separator = ","
		return true, err
	})
}

// checksumMember is unlike any text before it, because quotes in texts are escaped.
func checksumMember(sum string) []byte { return []byte(`"checksum":"` + sum + `",`) }

// DecodePlan reads the file of a plan, and rejects any byte that EncodePlan did not write. That does
// not prove who wrote it: anybody can write a checksum. Apply never sends what DecodePlan returns.
func DecodePlan(text []byte) (*Plan, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	canonical, err := canon.Canonicalize(text)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON that trueup wrote: %w", err)
	}
	if canonical[0] != '{' {
		return nil, errors.New("it is not a plan: it is not a JSON object")
	}
	same := bytes.Equal(canonical, bytes.TrimSuffix(text, []byte("\n"))) && len(canonical) < len(text)
	if same {
		canonical = text[:len(canonical)] // one of both is enough
	}
	shell, items := splitItems(canonical)
	var file planFile
	err = decodeWhole(shell, &file)
	if err := file.checkFormat(); err != nil {
		return nil, err
	}
	if !same {
		return nil, errors.New("it was changed: its bytes are not in the canonical form")
	}
	before, behind, found := bytes.Cut(canonical, checksumMember(file.Checksum))
	h := sha256.New()
	h.Write(before)
	h.Write(behind)
	if !found || file.Checksum != canon.Sum(h.Sum(nil)).String() {
		return nil, errors.New("it was changed or damaged: its checksum does not match")
	}
	for element := range canon.Elements(items) {
		file.Items = append(file.Items, Item{})
		err = cmp.Or(err, decodeWhole(element, &file.Items[len(file.Items)-1]))
	}
	if err != nil {
		return nil, fmt.Errorf("it is not a plan: %w", err)
	}
	file.Plan.Requests = file.Requests
	file.WeighRisks() // the file does not decide that
	return &file.Plan, file.checkInvariants()
}

// splitItems returns a plan in canonical JSON with an empty list of items, and the list.
func splitItems(plan []byte) (shell, items []byte) {
	for key, value := range canon.Members(plan) {
		if string(key) == "items" && value[0] == '[' {
			at := cap(plan) - cap(value)
			return slices.Concat(plan[:at], []byte("[]"), plan[at+len(value):]), value
		}
	}
	return plan, []byte("[]")
}

// decodeWhole decodes JSON, with the text of its numbers.
func decodeWhole(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// checkFormat rejects what is not of this version of the form.
func (p *Plan) checkFormat() error {
	name, version, _ := strings.Cut(p.Format, "/")
	ours, _, _ := strings.Cut(Format, "/")
	switch {
	case p.Format == Format:
		return nil
	case name == ours && version != "":
		return fmt.Errorf("its format is %.60q, and this program reads %s: use the version that made it, %.60q", p.Format, Format, p.Tool)
	case name == "trueup.result":
		return errors.New("it is a result (-o json), not a plan: write one with plan --out FILE")
	}
	return fmt.Errorf("it is not a plan: its format is not %s", Format)
}

// checkInvariants holds what every plan that MakePlan returns has.
func (p *Plan) checkInvariants() error {
	for i := range p.Items {
		it := &p.Items[i]
		if it.Request != nil && string(it.Request.Body) == "null" {
			it.Request.Body = nil
		}
		switch {
		case !slices.Contains([]Op{None, Create, Patch, Post, Delete, Blocked, InFlight, Kept, Deferred}, it.Op):
			return fmt.Errorf("it is not a plan: the operation %.60q of %.300s is unknown", it.Op, it.Key)
		case it.Op.sendsRequest() != (it.Request != nil):
			return fmt.Errorf("it is not a plan: %.300s is to %s, and its request does not match", it.Key, it.Op)
		case (it.Op == Post || it.Op == Deferred) && it.Purge == nil:
			return fmt.Errorf("it is not a plan: it does not say what %.300s is", it.Key)
		}
	}
	if p.Digest != p.digestAssertion() {
		return fmt.Errorf("its digest does not match its content; it was made by %.60q", p.Tool)
	}
	return nil
}

// writeAssertion writes, to a writer that never fails, the canonical bytes of what the plan asserts: targets, choices, the state
// that it depends on, and every request. It leaves out what may differ without changing what is sent and why: the program, the
// time, files and places, causes, advice and sentences. An item is a tree only while it is written.
func (p *Plan) writeAssertion(w io.Writer) {
	origins := map[string]any{}
	for area, origin := range p.Target.Origins {
		origins[string(area)] = origin
	}
	text := canon.Encode(map[string]any{
		"format": p.Format, "sandbox": p.Sandbox, "origins": origins,
		"workspace": p.Target.Workspace.UUID, "namespace": p.Target.Workspace.Name,
		"ledger": p.Ledger, "manifests": sumText(p.Manifests), "options": encodedTree(p.Options), "items": []any{},
	})
	before, behind, _ := bytes.Cut(text, []byte("]")) // of the items: only the format is before them
	b := bytes.Clone(before)
	for i := range p.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.Append(b, p.Items[i].assertedFields())
		_, _ = w.Write(b)
		b = b[:0]
	}
	_, _ = w.Write(slices.Concat(b, []byte("]"), behind))
}

// digestAssertion is that of the assertion, or empty where there is none.
func (p *Plan) digestAssertion() string {
	if p.Offline {
		return ""
	}
	h := sha256.New()
	p.writeAssertion(h)
	return canon.Sum(h.Sum(nil)).String()
}

// assertedFields is what the plan asserts of one object, without empty values.
func (it *Item) assertedFields() map[string]any {
	values := func(list []merge.PathValue) []any {
		return diag.MapList(list, func(v merge.PathValue) any { return []any{v.Path, v.Value} })
	}
	o := make(map[string]any)
	for _, f := range []struct {
		name  string
		value any
	}{
		{"after", diag.MapList(it.After, func(key kind.Key) any { return key.String() })},
		{"lists", diag.MapList(it.Lists, func(l merge.SentList) any { return []any{l.Path, l.Elements} })},
		{"changes", diag.MapList(it.Changes, func(c Change) any { return c.assertedFields() })},
		{"preserved", values(it.Preserved)},
		{"collateral", values(it.Collateral)},
		{"firstContact", values(it.FirstContact)},
		{"uid", it.Live.UID},
		{"replaced", sumText(it.Live.Replaced)},
		{"remoteName", it.RemoteName},
		{"desired", sumText(it.DesiredDigest)},
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

func (c Change) assertedFields() map[string]any {
	o := map[string]any{"path": c.Path, "class": string(c.Class), "base": c.Base, "live": c.Live, "desired": c.Desired}
	if c.Moved {
		o["moved"] = true
	}
	if c.Left {
		o["left"] = true
	}
	return o
}

func sumText(s *canon.Sum) string {
	if s == nil {
		return ""
	}
	return s.String()
}

// encodedTree returns the JSON form of a value as a tree.
func encodedTree(v any) any { return canon.MustDecode([]byte(mustEncode(v))) }

// digestSet is the digest of the objects of a set, without their files, documents and commits.
func digestSet(set *manifest.Set) *canon.Sum {
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

// InputsDigest is the digest of everything that the requests of a plan depend on, except live objects and records: the
// inputs, and more settings.
func InputsDigest(in Inputs, more ...any) canon.Sum {
	return canon.Digest(canon.Encode(map[string]any{
		"tool": in.Tool, "sandbox": in.Sandbox, "target": encodedTree(in.Target), "ledger": in.Ledger.ID,
		"manifests": digestSet(in.Set).String(), "options": encodedTree(choicesOf(in)), "more": encodedTree(more),
	}))
}

// LeavesNothing reports whether nothing is left to do for git once the requests of the plan are sent.
func (p *Plan) LeavesNothing() bool {
	return !slices.ContainsFunc(p.Items, func(it Item) bool {
		return it.LeavesDifference() || !slices.Contains([]Op{None, Create, Patch, Post}, it.Op)
	})
}

// overwrittenPart is the part of a live spec that a merge patch replaces, with all below it.
func overwrittenPart(patch, live any) any {
	fields, isObject := patch.(map[string]any)
	have, ok := live.(map[string]any)
	if !isObject || !ok {
		return live
	}
	out := map[string]any{}
	for k, v := range fields {
		if was, there := have[k]; there {
			out[k] = overwrittenPart(v, was)
		}
	}
	return out
}

// fillAssertion fills in what only the assertion needs, and the digest of all.
func (p *Planner) fillAssertion(out *Plan) {
	out.Manifests, out.Options = digestSet(p.in.Set), choicesOf(p.in)
	for i := range out.Items {
		it := &out.Items[i]
		if rec := p.in.Ledger.Records[it.Key]; rec.Seq > 0 || rec.State != "" {
			it.Recorded = &RecordVersion{Seq: rec.Seq, State: rec.State}
		}
		if it.Op != Patch {
			it.Live.Replaced = nil // it was blocked since it was compared
		}
	}
	out.Digest = Redact(out).digestAssertion()
}
