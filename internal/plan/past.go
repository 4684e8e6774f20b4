package plan

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/merge"
)

// liveBefore returns what the ledger keeps of live with a patch.
func (d *objectPlanner) liveBefore(patch map[string]any, have any) *ledger.LiveBefore {
	diff := differenceBefore(d.decodeSpec(d.rec.Applied), d.decodeSpec(d.ManagedSpec(d.manifest)), canon.Object(have), patch)
	return &ledger.LiveBefore{Diff: canon.Encode(diff), Sum: liveFingerprint(d.rules[d.manifest.Kind.Name], have)}
}

// decodeSpec decodes a spec, unless it is that of the manifest, which is decoded once.
func (d *objectPlanner) decodeSpec(spec []byte) map[string]any {
	if bytes.Equal(spec, d.manifest.Spec) {
		return d.manifestSpec()
	}
	return decodedObject(spec)
}

// liveFingerprint identifies a live spec, without what the server owns.
func liveFingerprint(rules *merge.Rules, have any) string {
	sum := canon.Digest(canon.Encode(merge.NormalizeLive(rules, have)))
	return fmt.Sprintf("%x", sum[:8])
}

// differenceBefore returns the merge patch that turns base, which was applied, into what live has of all that base, want
// or the request has. A value that is neither sent nor changed in git is as in base: otherwise it would be sent.
func differenceBefore(base, want, have, request map[string]any) map[string]any {
	out := map[string]any{}
	for name := range withNulls(base, want, request) {
		was, is := base[name], have[name]
		sent, isSent := request[name]
		if !isSent && reflect.DeepEqual(was, want[name]) {
			continue
		}
		fields, isObject := is.(map[string]any)
		if _, wasObject := was.(map[string]any); !isObject || was != nil && !wasObject {
			if !reflect.DeepEqual(was, is) {
				out[name] = is
			}
			continue
		}
		wanted, part := canon.Object(want[name]), canon.Object(sent)
		if isSent && part == nil {
			wanted = fields // the request replaces all of it
		}
		if below := differenceBefore(canon.Object(was), wanted, fields, part); len(below) > 0 || was == nil {
			out[name] = below
		}
	}
	return out
}

// SpecBefore returns what live had of an object before the oldest of writes, which are all since then, the newest first: of
// what git said, and of what trueup has written since. It is nil if there was no object.
func SpecBefore(k *kind.Kind, overrides []Override, writes []ledger.LogEntry) (spec []byte, err error) {
	var past any
	rules := RulesFor(k, overrides)
	for _, w := range writes {
		switch {
		case w.Did == ledger.DidCreate:
			past = nil
		case w.Live == nil:
			return nil, fmt.Errorf("the ledger does not have what live was before entry %d: an older version of trueup wrote it", w.Entry)
		default:
			patch := patchToPast(w)
			keepUntouched(patch, decodedObject(w.Applied), decodedObject(w.Sent), decodedObject(w.Live.Diff), func(value map[string]any) bool {
				return merge.LiveCovers(rules, value, past)
			})
			past = effect.ApplyPatch(patch, past)
		}
	}
	if past == nil {
		return nil, nil
	}
	return canon.Encode(past), nil
}

// patchToPast returns the merge patch that turns what live has after a write into what it had before.
func patchToPast(w ledger.LogEntry) map[string]any {
	applied, diff := decodedObject(w.Applied), decodedObject(w.Live.Diff)
	before := canon.Object(effect.ApplyPatch(diff, any(applied)))
	return withNulls(before, decodedObject(w.Sent), applied, diff)
}

// keepUntouched takes from a patch to the past what a write left as it was, where live after the write has it: elements of
// lists may have more there than git says.
func keepUntouched(patch, applied, sent, diff map[string]any, isLive func(map[string]any) bool) {
	for name, value := range patch {
		of, now := canon.Object(applied[name]), canon.Object(sent[name])
		_, changed := diff[name]
		switch below := canon.Object(value); {
		case below != nil && of != nil && now != nil:
			keepUntouched(below, of, now, canon.Object(diff[name]), func(v map[string]any) bool { return isLive(map[string]any{name: v}) })
		case !changed && reflect.DeepEqual(applied[name], sent[name]) && isLive(map[string]any{name: value}):
			delete(patch, name)
		}
	}
}

// withNulls returns an object with null for each field that only others have.
func withNulls(object map[string]any, others ...map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, object)
	for _, other := range others {
		for name, value := range other {
			field, has := out[name]
			if !has {
				out[name] = nil
			} else if below, other := canon.Object(field), canon.Object(value); below != nil && other != nil {
				out[name] = withNulls(below, other)
			}
		}
	}
	return out
}

// FingerprintAfter identifies what live will be if git has the spec and it is applied, as LiveBefore.Sum does.
func FingerprintAfter(k *kind.Kind, overrides []Override, rec ledger.Record, spec []byte, now kind.LiveObject) string {
	rules := RulesFor(k, overrides)
	in, _ := mergeInputOf(rules, rec, spec, now)
	after := in.Live
	if patch := merge.Compare(in).Patch; patch != nil {
		after = effect.ApplyPatch(patch, after)
	}
	return liveFingerprint(rules, after)
}

// LoggedChanges is an entry of the ledger's log with what it changed.
type LoggedChanges struct {
	ledger.LogEntry
	Changes []Change `json:"changes,omitempty"`
}

// ChangesOf returns what a write changed, with digests of sensitive values. Of a write whose live value before it is
// unknown, that is what git changed.
func ChangesOf(ws kind.Workspace, e ledger.LogEntry) LoggedChanges {
	k, ok := kind.FindKind(e.Kind)
	if !ok || e.Did != ledger.DidChange {
		return LoggedChanges{LogEntry: e}
	}
	before, rules := any(decodedObject(e.Applied)), RulesFor(k, nil)
	if e.Live != nil {
		before = patchToPast(e)
	}
	it := Item{Key: e.Key}
	for _, c := range merge.Compare(merge.Input{Rules: rules, Applied: before, Desired: decodedObject(e.Sent), Live: before}).Changes {
		it.Changes = append(it.Changes, Change{Difference: c})
	}
	redactItem(&it, kind.NewRedactor(ws, e.Key))
	return LoggedChanges{e, it.Changes}
}
