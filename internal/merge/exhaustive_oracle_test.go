package merge_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/merge"
)

// law says what one place of the small universe is, and how a user overrides it. It is the oracle's own: the oracle uses
// no code of the comparison.
type law struct {
	fields map[string]*law // fields make it an object
	item   *law            // item makes it a list
	key    string          // key pairs the elements of a list
	set    bool            // set says that their order means nothing
	skip   string          // skip is ignore, readOnly or omit
	resend bool            // resend says that a list without a key is sent although live has all that git says
}

// rules is the law as the comparison takes it.
func (l *law) rules() *merge.Rules {
	r := &merge.Rules{Set: l.set, Ignore: l.skip == "ignore", ReadOnly: l.skip == "readOnly", Omit: l.skip == "omit"}
	if l.fields == nil && l.item == nil {
		r.Type = kind.Text
	}
	if l.item != nil {
		r.Item = l.item.rules()
	}
	if l.key != "" {
		r.Key = []string{l.key}
	}
	for name, f := range l.fields {
		if r.Fields == nil {
			r.Fields = map[string]*merge.Rules{}
		}
		r.Fields[name] = f.rules()
	}
	return r
}

// meaning is a value without what says nothing: null, {} and [] are the same, as are 1 and "1".
func meaning(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, f := range v {
			if m := meaning(f); m != nil {
				out[name] = m
			}
		}
		if len(out) > 0 {
			return out
		}
	case []any:
		var out []any
		for _, e := range v {
			if e == nil {
				continue
			}
			if m := meaning(e); m != nil {
				out = append(out, m)
			} else {
				out = append(out, struct{}{}) // an element that says nothing is an element
			}
		}
		if len(out) > 0 {
			return out
		}
	case nil:
	default:
		return fmt.Sprint(v)
	}
	return nil
}

func means(a, b any) bool { return reflect.DeepEqual(meaning(a), meaning(b)) }

// git is what a manifest says of a place: nothing, or a value, which may be null.
type git struct {
	said bool
	v    any
}

func (g git) field(name string) git {
	fields, _ := g.v.(map[string]any)
	v, said := fields[name]
	return git{said, v}
}

func fieldOf(v any, name string) any { return git{v: v}.field(name).v }

// had are the values that the records have for a place, or nil: the first is that of the spec that was applied last.
type had []any

func (h had) isKnown() bool { return slices.ContainsFunc(h, func(v any) bool { return v != nil }) }

func (h had) field(name string) had {
	return h.each(func(v any) any { return fieldOf(v, name) })
}

func (h had) element(key string, of any) had {
	return h.each(func(v any) any {
		list, _ := v.([]any)
		e, _ := elementOf(list, key, of)
		return e
	})
}

func (h had) each(below func(any) any) (out had) {
	for _, v := range h {
		out = append(out, below(v))
	}
	return out
}

func elementOf(list []any, key string, of any) (any, bool) {
	i := slices.IndexFunc(list, func(e any) bool { return e != nil && means(fieldOf(e, key), fieldOf(of, key)) })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// goal is what live must be after the request.
func (l *law) goal(want git, live any, records had) any {
	switch {
	case l.skip != "":
		return live
	case !want.said:
		if records.isKnown() {
			return nil
		}
		return live
	case want.v == nil:
		return nil
	case l.item != nil:
		return l.goalOfList(want.v.([]any), live, records)
	}
	return l.goalOfValue(want.v, live, records, (*law).goal)
}

// goalOfValue is the goal of an object or a text that git has.
func (l *law) goalOfValue(want, live any, records had, goal func(*law, git, any, had) any) any {
	object, isObject := want.(map[string]any)
	old, wasObject := live.(map[string]any)
	if !isObject {
		return want
	}
	if !wasObject {
		return l.made(object)
	}
	out := map[string]any{}
	for name, f := range l.fields {
		out[name] = goal(f, git{v: want}.field(name), old[name], records.field(name))
	}
	return out
}

// made is a new value: all that git says, without what belongs to the server.
func (l *law) made(want any) any {
	object, isObject := want.(map[string]any)
	list, isList := want.([]any)
	switch {
	case isObject:
		out := map[string]any{}
		for name, v := range object {
			if f := l.fields[name]; f.skip == "" || f.skip == "ignore" {
				out[name] = f.made(v)
			}
		}
		return out
	case isList:
		var out []any
		for _, e := range list {
			if e != nil {
				out = append(out, l.item.made(e))
			}
		}
		return out
	}
	return want
}

// goalOfList is the goal of a list that git has. If live has all of it, nothing is sent, and live keeps all.
func (l *law) goalOfList(want []any, live any, records had) any {
	list, wasList := live.([]any)
	if !wasList {
		return l.made(want)
	}
	if l.key == "" {
		return l.goalWithoutKey(withoutNulls(want), withoutNulls(list), live)
	}
	old, records := l.rename(withoutNulls(want), withoutNulls(list), records)
	if kept := l.sentList(withoutNulls(want), old, records, (*law).goal); l.sameElements(kept, list) {
		return live
	}
	return l.sentList(withoutNulls(want), old, records, (*law).goalInList)
}

// goalWithoutKey is the goal of a list without a key. Whether git removed a field of an element, the records can't say for
// sure: resend tells which of the two goals it is.
func (l *law) goalWithoutKey(want, list []any, live any) any {
	none := had{nil}
	turned := slices.Clone(list)
	slices.Reverse(turned)
	covers := func(list []any) bool { return l.sameElements(l.sentList(want, list, none, (*law).goal), list) }
	if !l.resend && len(want) == len(list) && (covers(list) || l.set && covers(turned)) {
		return live
	}
	return l.sentList(want, list, none, (*law).goalOfAny)
}

func withoutNulls(list []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(e any) bool { return e == nil })
}

// rename returns live and the records with the key that git has for an element, where live has another: if git owns the
// list, one element is left on each side, the records have one of the two keys, and the rest of both is the same.
func (l *law) rename(want, live []any, records had) ([]any, had) {
	_, owned := records[0].([]any)
	now, was := l.without(want, live), l.without(live, want)
	if !owned || len(now) != 1 || len(was) != 1 {
		return live, records
	}
	old := records.element(l.key, was[0])
	if old.isKnown() == records.element(l.key, now[0]).isKnown() {
		return live, records
	}
	same := l.saysRest(now[0], was[0])
	if record := l.recordOf(old, was[0]); record != nil {
		same = l.saysRest(now[0], record) && l.saysRest(record, now[0])
	}
	if !same {
		return live, records
	}
	renamed := func(v any) any {
		list, _ := v.([]any)
		var out []any
		for _, e := range list {
			if fields, ok := e.(map[string]any); ok && means(fields[l.key], fieldOf(was[0], l.key)) {
				e = maps.Clone(fields)
				e.(map[string]any)[l.key] = fieldOf(now[0], l.key)
			}
			out = append(out, e)
		}
		return out
	}
	return renamed(live).([]any), records.each(renamed)
}

// without are the elements whose key the others lack.
func (l *law) without(list, others []any) (out []any) {
	for _, e := range list {
		if _, found := elementOf(others, l.key, e); !found {
			out = append(out, e)
		}
	}
	return out
}

// saysRest reports whether b has all fields of a but the key.
func (l *law) saysRest(a, b any) bool {
	for name, f := range l.item.fields {
		if v := fieldOf(a, name); name != l.key && f.skip == "" && v != nil && !means(v, fieldOf(b, name)) {
			return false
		}
	}
	return true
}

// recordOf is what the records have for an element of live: what was applied last, unless live has what is pending instead.
func (l *law) recordOf(records had, live any) any {
	last := records[0]
	for _, v := range records {
		if v != nil && (last == nil || !l.saysRest(last, live) && l.saysRest(v, live)) {
			last = v
		}
	}
	return last
}

// sentList is git's list with what goal keeps of live's elements.
func (l *law) sentList(want, live []any, records had, goal func(*law, git, any, had) any) (out []any) {
	for i, e := range want {
		var old any
		if l.key != "" {
			old, _ = elementOf(live, l.key, e)
		} else if len(want) == len(live) {
			old = live[i]
		}
		if old == nil {
			out = append(out, l.item.made(e))
		} else {
			out = append(out, l.item.goalOfValue(e, old, records.element(l.key, e), goal))
		}
	}
	return out
}

// goalInList is the goal of a field of an element of a list that is sent whole: it loses what requests omit.
func (l *law) goalInList(want git, live any, records had) any {
	if l.skip == "omit" {
		return nil
	}
	return l.goal(want, live, records)
}

// goalOfAny is goalInList where no key says which element live's is: only what the rules exclude stays.
func (l *law) goalOfAny(want git, live any, records had) any {
	if !want.said && l.skip == "" {
		return nil
	}
	return l.goalInList(want, live, records)
}

// sameElements reports whether two lists mean the same.
func (l *law) sameElements(a, b []any) bool {
	x, _ := meaning(a).([]any)
	y, _ := meaning(b).([]any)
	if l.set {
		byText := func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
		slices.SortFunc(x, byText)
		slices.SortFunc(y, byText)
	}
	return reflect.DeepEqual(x, y)
}

// mayResend reports whether the records have a field of an element of a list without a key, which git may have removed.
func (l *law) mayResend(records had) bool {
	return l.item != nil && l.key == "" && l.item.fields != nil && records.isKnown()
}

// reaches reports whether after is the goal.
func (l *law) reaches(goal, after any) bool {
	switch {
	case l.item != nil:
		x, _ := goal.([]any)
		y, _ := after.([]any)
		if l.key == "" {
			x, y = l.item.withoutSkipped(x), l.item.withoutSkipped(y)
		}
		return l.sameElements(x, y)
	case l.fields != nil:
		for name, f := range l.fields {
			if !f.reaches(fieldOf(goal, name), fieldOf(after, name)) {
				return false
			}
		}
		return true
	}
	return means(goal, after)
}

// foreign reports whether a goal drops a list element that no record has. Then a person must agree first, unless the list
// is git's.
func (l *law) foreign(goal, live any, records had) bool {
	for name, f := range l.fields {
		if f.foreign(fieldOf(goal, name), fieldOf(live, name), records.field(name)) {
			return true
		}
	}
	list, _ := live.([]any)
	stays, _ := goal.([]any)
	for _, e := range list {
		_, kept := elementOf(stays, l.key, e)
		if e != nil && !kept && !records.element(l.key, e).isKnown() {
			return true
		}
	}
	return false
}

// leaves calls each for every value of a merge patch that is no object.
func leaves(patch any, at []string, each func(at []string)) {
	fields, ok := patch.(map[string]any)
	if !ok || len(fields) == 0 {
		each(at)
		return
	}
	for name, v := range fields {
		leaves(v, append(slices.Clip(at), name), each)
	}
}

// withoutSkipped are the elements without the fields that the rules exclude, of which no key says whose they are.
func (l *law) withoutSkipped(list []any) (out []any) {
	for _, e := range list {
		if fields, ok := e.(map[string]any); ok {
			fields = maps.Clone(fields)
			maps.DeleteFunc(fields, func(name string, _ any) bool { return l.fields[name].skip != "" })
			e = fields
		}
		out = append(out, e)
	}
	return out
}
