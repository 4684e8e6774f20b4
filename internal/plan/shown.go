package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

// IsCoveredBy reports whether an item that was planned again changes, keeps and loses nothing that the
// shown one did not show with the same values (docs/design.md 0.23).
func IsCoveredBy(now, shown Item) bool {
	if now.Op == None || now.Op == Kept {
		return true
	}
	if now.Op != shown.Op || now.Request == nil || shown.Request == nil {
		return false
	}
	// What is left is no difference, and a list may have got more elements.
	changes := func(it Item) []Change {
		return slices.DeleteFunc(slices.Clone(it.Changes), func(c Change) bool { return c.Left })
	}
	return isSubset(changes(now), changes(shown), func(c Change) any { return c.Difference }) &&
		isSubset(now.Preserved, shown.Preserved, func(v merge.PathValue) any { return v }) &&
		isSubset(now.Collateral, shown.Collateral, func(v merge.PathValue) any { return v }) &&
		isSubset(now.Lists, shown.Lists, func(l merge.SentList) any { return l.Path })
}

// isSubset compares by the JSON of what was shown of each element.
func isSubset[T any](some, all []T, of func(T) any) bool {
	shown := make(map[string]bool, len(all))
	for _, e := range all {
		shown[mustEncode(of(e))] = true
	}
	return !slices.ContainsFunc(some, func(e T) bool { return !shown[mustEncode(of(e))] })
}

func mustEncode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("plan: " + err.Error())
	}
	return string(b)
}

// FindUnshownChange returns what the body would change in the live spec although no line of the item shows it, or
// nothing. Reports read creations and purges from the request itself.
func (it Item) FindUnshownChange(body []byte, live any) string {
	if it.Op != Patch {
		return ""
	}
	var lines []effect.ShownChange
	for _, c := range it.Changes {
		if !c.Left && IsShown(c.Class) {
			lines = append(lines, effect.ShownChange{Path: c.Path, At: c.At, Live: c.Live, After: c.Desired, Moved: c.Moved})
		}
	}
	for _, v := range it.Collateral {
		if v.Value != nil { // a null says nothing, and nothing changes without it
			lines = append(lines, effect.ShownChange{Path: v.Path, At: v.At, Live: v.Value})
		}
	}
	found := effect.UnshownChanges(body, live, lines)
	if len(found) > 1 {
		return fmt.Sprintf("%s; and %d more", found[0], len(found)-1)
	}
	return strings.Join(found, "")
}

// UnshownFix is what a person can do about a request that does more than the plan shows.
const UnshownFix = "this is a bug in trueup: report it with the manifest and the output of plan -o json. Do not send the change by other means"

// ChangesField reports whether the item changes what a finding at a field of its manifest is about, such as
// spec.locations[2].path. Of a list, that is the whole element. An item that was read from JSON does not know the places
// of its changes, so it touches all of its manifest.
func (it Item) ChangesField(field string) bool {
	switch {
	case len(it.Changes) == 0:
		return it.Op != None && it.Op != Kept
	case !strings.HasPrefix(field, "spec"):
		return true
	}
	toElement := func(place string) string {
		before, _, _ := strings.Cut(place, "]")
		return before
	}
	return slices.ContainsFunc(it.Changes, func(c Change) bool {
		onlyInLive := slices.ContainsFunc(c.At, merge.PathStep.IsLiveOnly)
		return len(c.At) == 0 || !onlyInLive && areRelated(toElement(field), toElement("spec."+merge.FormatPlace(c.At)))
	})
}

// areRelated reports whether one place is the other, or lies in it.
func areRelated(a, b string) bool { return kind.IsWithin(a, b) || kind.IsWithin(b, a) }

// Redact returns the plan with digests of sensitive values. A digest changes with the value and with
// its place. Apply sends the values of the plan itself.
func Redact(p *Plan) *Plan {
	if !slices.ContainsFunc(kind.AllKinds(), func(k *kind.Kind) bool { return k.Spec().HidesValue() }) {
		return p
	}
	out := *p
	out.Settings = diag.MapList(p.Settings, func(s ChangedSetting) ChangedSetting {
		s.Hides = diag.MapList(s.Hides, func(h HiddenField) HiddenField {
			by := kind.NewRedactor(p.Target.Workspace, h.Key)
			h.Git, h.Live = by.RedactAt(h.Path, h.Git), by.RedactAt(h.Path, h.Live)
			return h
		})
		return s
	})
	out.Requests, out.HidesRequests = nil, true // they have values of any field
	out.Items = slices.Clone(p.Items)
	for i := range out.Items {
		redactItem(&out.Items[i], kind.NewRedactor(p.Target.Workspace, out.Items[i].Key))
	}
	return &out
}

// redactItem redacts everything in which an item has values.
func redactItem(it *Item, by kind.Redactor) {
	it.Changes, it.Notes = slices.Clone(it.Changes), slices.Clone(it.Notes)
	for ch := range it.allChanges() {
		ch.Base, ch.Live, ch.Desired = by.RedactAt(ch.Path, ch.Base), by.RedactAt(ch.Path, ch.Live), by.RedactAt(ch.Path, ch.Desired)
	}
	for _, list := range []*[]merge.PathValue{&it.Preserved, &it.Collateral, &it.FirstContact} {
		*list = diag.MapList(*list, func(v merge.PathValue) merge.PathValue {
			v.Value = by.RedactAt(v.Path, v.Value)
			return v
		})
	}
	if it.Spec != nil {
		it.Spec = canon.Encode(by.RedactAt("", canon.MustDecode(it.Spec)))
	}
	if it.Request == nil || it.Request.Body == nil {
		return
	}
	request := *it.Request
	body := canon.MustDecode(request.Body).(map[string]any)
	body["spec"] = by.RedactAt("", body["spec"])
	request.Body = canon.Encode(body)
	it.Request = &request
}
