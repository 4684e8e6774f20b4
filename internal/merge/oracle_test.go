package merge

import (
	"encoding/json"
	"reflect"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// The oracle says what a comparison must achieve, in the plainest way and
// without the package's pairing: it is slow and short.

// oracleEqual is docs/design.md B2.3 for the scalars that the generator makes.
func oracleEqual(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	_, aText := a.(string)
	_, bText := b.(string)
	return aText != bText && plain(a) == plain(b)
}

func plain(v any) string { return strings.Trim(string(canon.Encode(v)), `"`) }

// oracleCovers reports whether live has all that git says: in an ordered list
// index by index, in a set in some order.
func oracleCovers(r *Rules, want, have any) bool {
	if r.isExcluded() {
		return true
	}
	if oracleEmpty(r, want) && oracleEmpty(r, have) {
		return true
	}
	switch w := want.(type) {
	case nil:
		return false
	case map[string]any:
		h, ok := have.(map[string]any)
		for k, v := range w {
			ok = ok && oracleCovers(r.fieldRules(k), v, h[k])
		}
		return ok
	case []any:
		h, ok := have.([]any)
		return ok && len(w) == len(h) && oracleAssign(r, w, h)
	}
	if have == nil {
		return false
	}
	return oracleEqual(want, have)
}

// oracleEmpty: nothing is at stake between two values that are each absent, null, {} or [] in a documented field.
func oracleEmpty(r *Rules, v any) bool {
	text := string(canon.Encode(v))
	if r == nil || text == "null" || text == "[]" || text == "[null]" || text == "{}" {
		return r != nil || text == "null"
	}
	fields, ok := v.(map[string]any)
	for k, e := range fields {
		ok = ok && oracleEmpty(r.fieldRules(k), e)
	}
	return ok
}

func oracleAssign(r *Rules, want, have []any) bool {
	if len(want) == 0 {
		return true
	}
	for j := range have {
		if j > 0 && !r.isSet() {
			return false
		}
		rest := append(append([]any{}, have[:j]...), have[j+1:]...)
		if oracleCovers(r.elementRules(), want[0], have[j]) && oracleAssign(r, want[1:], rest) {
			return true
		}
	}
	return false
}

// sameElement reports whether two elements of a keyed list are the same: no part
// of their keys differs. The generator makes no key that agrees with two.
func sameElement(r *Rules, a, b any) bool {
	for _, k := range r.keyFields() {
		x, y := fieldOf(a, k), fieldOf(b, k)
		if x != nil && y != nil && !oracleEqual(x, y) {
			return false
		}
	}
	return true
}

func find(r *Rules, list []any, e any) (any, bool) {
	for _, other := range list {
		if sameElement(r, e, other) {
			return other, true
		}
	}
	return nil, false
}

// oracleGone reports whether live has nothing left that the record has and git
// lacks: fields, elements of keyed lists, fields of their elements.
func oracleGone(r *Rules, record, want, have any) bool {
	switch b := record.(type) {
	case map[string]any:
		w, ok1 := want.(map[string]any)
		h, ok2 := have.(map[string]any)
		return !ok1 || !ok2 || goneFields(r, b, w, h)
	case []any:
		w, ok1 := want.([]any)
		h, ok2 := have.([]any)
		return !ok1 || !ok2 || len(r.keyFields()) == 0 || goneElements(r, b, w, h)
	}
	return true
}

func goneFields(r *Rules, record, want, have map[string]any) bool {
	for k, v := range record {
		if v == nil || r.fieldRules(k).isExcluded() {
			continue
		}
		said, has := want[k]
		if !has && !oracleEmpty(r.fieldRules(k), have[k]) || !oracleGone(r.fieldRules(k), v, said, have[k]) {
			return false
		}
	}
	return true
}

func goneElements(r *Rules, record, want, have []any) bool {
	for _, e := range record {
		live, lives := find(r, have, e)
		said, has := find(r, want, e)
		if lives && (!has || !oracleGone(r.elementRules(), e, said, live)) {
			return false
		}
	}
	return true
}

// place is what the records, git, live and the result have at one path.
type place struct {
	rules              *Rules
	records            []any
	want, live, result any
	path               string
}

func (p place) field(k string) place {
	c := place{rules: p.rules.fieldRules(k), path: p.path + "." + k, want: fieldOf(p.want, k), live: fieldOf(p.live, k), result: fieldOf(p.result, k)}
	for _, b := range p.records {
		if v := fieldOf(b, k); v != nil {
			c.records = append(c.records, v)
		}
	}
	return c
}

// element is the place of a live element; inResult says that it is still there.
func (p place) element(e any) (c place, inGit, inResult bool) {
	want, _ := p.want.([]any)
	result, _ := p.result.([]any)
	c = place{rules: p.rules.elementRules(), path: p.path + "[" + plain(e) + "]", live: e}
	c.want, inGit = find(p.rules, want, e)
	c.result, inResult = find(p.rules, result, e)
	for _, b := range p.records {
		list, _ := b.([]any)
		if old, had := find(p.rules, list, e); had {
			c.records = append(c.records, old)
		}
	}
	return c, inGit, inResult
}

// keptLost returns the path of a live value that nobody asked to change and
// that is not in the result, or "" (P6, P7, 0.20).
func keptLost(p place) string {
	switch live := p.live.(type) {
	case map[string]any:
		want, ok := p.want.(map[string]any)
		for k := range live {
			if at := keptFieldLost(p.field(k), want, live, p.rules.staleVariantField(want, live)); ok && at != "" {
				return at
			}
		}
	case []any:
		for _, e := range live {
			c, inGit, inResult := p.element(e)
			if len(p.rules.keyFields()) == 0 || !inGit || !inResult {
				continue
			}
			if at := keptLost(c); at != "" {
				return at
			}
		}
	}
	return ""
}

func keptFieldLost(c place, want, live map[string]any, stale string) string {
	k := c.path[strings.LastIndexByte(c.path, '.')+1:]
	_, mentioned := want[k]
	switch {
	case live[k] == nil || c.rules.isOmitted():
	case c.rules.isExcluded() || !mentioned && len(c.records) == 0 && k != stale:
		if !keptAs(c.rules, c.live, c.result) {
			return c.path
		}
	case c.want != nil:
		return keptLost(c)
	}
	return ""
}

// excludedLost returns the path of a live value that the rules exclude and that is
// another in the result, in what git mentions and an element that is known to be the
// same by its key or by its index; "" for none.
func excludedLost(p place) string {
	switch live := p.live.(type) {
	case map[string]any:
		_, inGit := p.want.(map[string]any)
		_, inResult := p.result.(map[string]any)
		for k, v := range live {
			c := p.field(k)
			switch {
			case !inGit || !inResult || v == nil || c.rules.isOmitted():
			case c.rules.isExcluded() && !keptAs(c.rules, v, c.result):
				return c.path
			case !c.rules.isExcluded() && c.want != nil:
				if at := excludedLost(c); at != "" {
					return at
				}
			}
		}
	case []any:
		for i, e := range live {
			c, same := p.sameAt(i, e)
			if at := excludedLost(c); same && at != "" {
				return at
			}
		}
	}
	return ""
}

// sameAt is the place of a live element, if git and the result have it.
func (p place) sameAt(i int, e any) (c place, same bool) {
	if len(p.rules.keyFields()) > 0 {
		c, inGit, inResult := p.element(e)
		return c, inGit && inResult
	}
	live, _ := p.live.([]any)
	want, _ := p.want.([]any)
	result, _ := p.result.([]any)
	if p.rules.isSet() || len(want) != len(live) || len(result) != len(live) {
		return place{}, false
	}
	return place{rules: p.rules.elementRules(), path: p.path + "[]", live: e, want: want[i], result: result[i]}, true
}

// keptAs reports whether a value that goes along is the same.
func keptAs(r *Rules, live, now any) bool {
	switch l := live.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		for k, v := range l {
			ok = ok && (v == nil || r.fieldRules(k).isOmitted() || keptAs(r.fieldRules(k), v, n[k]))
		}
		return ok
	case []any:
		n, ok := now.([]any)
		ok = ok && len(n) == len(l)
		for i, v := range l {
			ok = ok && keptAs(r.elementRules(), v, n[i])
		}
		return ok
	}
	return now != nil && oracleEqual(live, now)
}

// mistyped returns the path of a scalar in the list elements of a patch that is
// in another than its documented type although git did not say it so, or "".
func mistyped(r *Rules, want, sent any, path string, inList bool) string {
	switch s := sent.(type) {
	case map[string]any:
		for k, v := range s {
			if lost := mistyped(r.fieldRules(k), fieldOf(want, k), v, path+"."+k, inList); lost != "" {
				return lost
			}
		}
	case []any:
		list, _ := want.([]any)
		for _, e := range s {
			said, _ := find(r, list, e)
			if lost := mistyped(r.elementRules(), said, e, path+"[]", true); lost != "" {
				return lost
			}
		}
	case bool, json.Number:
		if inList && want == nil && r.scalarType() == kind.Text {
			return path
		}
	}
	return ""
}

// lost returns the path of a live list element that the result lacks and that
// no record knows, where no list was ever applied; "" for none (docs/design.md 0.1).
func lost(p place) string {
	switch live := p.live.(type) {
	case map[string]any:
		for k := range live {
			if c := p.field(k); !c.rules.isServerOwned() {
				if at := lost(c); at != "" {
					return at
				}
			}
		}
	case []any:
		for _, e := range live {
			c, _, stays := p.element(e)
			if len(p.rules.keyFields()) == 0 {
				continue
			}
			if !stays && len(c.records) == 0 {
				return c.path
			}
			if at := lost(c); at != "" {
				return at
			}
		}
	}
	return ""
}

func nullInList(v any, inList bool) bool {
	switch t := v.(type) {
	case nil:
		return inList
	case map[string]any:
		for _, e := range t {
			if nullInList(e, inList) {
				return true
			}
		}
	case []any:
		for _, e := range t {
			if nullInList(e, true) {
				return true
			}
		}
	}
	return false
}
