package merge

import (
	"encoding/json"
	"reflect"
	"strings"

	"trueup/internal/canon"
)

// The oracle says what a comparison must achieve, in the plainest way and
// without the package's pairing: it is slow and short.

// oracleEqual is design B2.3 for the scalars that the generator makes.
func oracleEqual(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	_, aText := a.(string)
	_, bText := b.(string)
	return aText != bText && plain(a) == plain(b)
}

func plain(v any) string { return strings.Trim(string(canon.Bytes(v)), `"`) }

// oracleCovers tells whether live has all that git says: in an ordered list
// index by index, in a set in some order.
func oracleCovers(r *Rules, want, have any) bool {
	if r.skip() {
		return true
	}
	switch w := want.(type) {
	case nil:
		return have == nil
	case map[string]any:
		h, ok := have.(map[string]any)
		for k, v := range w {
			ok = ok && oracleCovers(r.field(k), v, h[k])
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

func oracleAssign(r *Rules, want, have []any) bool {
	if len(want) == 0 {
		return true
	}
	for j := range have {
		if j > 0 && !r.set() {
			return false
		}
		rest := append(append([]any{}, have[:j]...), have[j+1:]...)
		if oracleCovers(r.item(), want[0], have[j]) && oracleAssign(r, want[1:], rest) {
			return true
		}
	}
	return false
}

// sameElement tells whether two elements of a keyed list are the same: no part
// of their keys differs. The generator makes no key that agrees with two.
func sameElement(r *Rules, a, b any) bool {
	for _, k := range r.key() {
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

// oracleGone tells whether live has nothing left that the record has and git
// lacks: fields, elements of keyed lists, fields of their elements.
func oracleGone(r *Rules, record, want, have any) bool {
	if r.skip() {
		return true
	}
	switch b := record.(type) {
	case map[string]any:
		w, ok1 := want.(map[string]any)
		h, ok2 := have.(map[string]any)
		for k, v := range b {
			said, has := w[k]
			switch {
			case !ok1 || !ok2 || v == nil || r.field(k).skip():
			case !has && h[k] != nil:
				return false
			case !oracleGone(r.field(k), v, said, h[k]):
				return false
			}
		}
	case []any:
		w, ok1 := want.([]any)
		h, ok2 := have.([]any)
		for _, e := range b {
			if !ok1 || !ok2 || len(r.key()) == 0 {
				break
			}
			live, lives := find(r, h, e)
			said, has := find(r, w, e)
			if lives && (!has || !oracleGone(r.item(), e, said, live)) {
				return false
			}
		}
	}
	return true
}

// keptLost returns the path of a live value that nobody asked to change and
// that is not in the result, or "" (P6, P7, 0.17, 0.20).
func keptLost(r *Rules, records []any, want, live, result any, path string, inList bool) string {
	switch l := live.(type) {
	case map[string]any:
		w, _ := want.(map[string]any)
		res, ok := result.(map[string]any)
		if w == nil || !ok {
			return ""
		}
		stale := r.staleSibling(w, l)
		for k, v := range l {
			said, mentioned := w[k]
			child, at := r.field(k), path+"."+k
			var below []any
			known := false
			for _, b := range records {
				below = append(below, fieldOf(b, k))
				known = known || fieldOf(b, k) != nil
			}
			switch {
			case v == nil || child.readOnly():
			case child.ignored() || !mentioned && !known && k != stale:
				if !keptAs(child, v, res[k], inList) {
					return at
				}
			case mentioned && said != nil:
				if lost := keptLost(child, below, said, v, res[k], at, inList); lost != "" {
					return lost
				}
			}
		}
	case []any:
		w, ok1 := want.([]any)
		res, ok2 := result.([]any)
		if !ok1 || !ok2 || len(r.key()) == 0 {
			return ""
		}
		for _, e := range l {
			said, has := find(r, w, e)
			now, is := find(r, res, e)
			if !has || !is {
				continue
			}
			var below []any
			for _, b := range records {
				list, _ := b.([]any)
				if old, had := find(r, list, e); had {
					below = append(below, old)
				}
			}
			if lost := keptLost(r.item(), below, said, e, now, path+"[]", true); lost != "" {
				return lost
			}
		}
	}
	return ""
}

// keptAs tells whether a value that goes along is the same; in the documented
// type, if its list was sent.
func keptAs(r *Rules, live, now any, inList bool) bool {
	switch l := live.(type) {
	case map[string]any:
		n, ok := now.(map[string]any)
		for k, v := range l {
			ok = ok && (v == nil || r.field(k).readOnly() || keptAs(r.field(k), v, n[k], inList))
		}
		return ok
	case []any:
		n, ok := now.([]any)
		ok = ok && len(n) == len(l)
		for i, v := range l {
			ok = ok && keptAs(r.item(), v, n[i], inList)
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
			if lost := mistyped(r.field(k), fieldOf(want, k), v, path+"."+k, inList); lost != "" {
				return lost
			}
		}
	case []any:
		list, _ := want.([]any)
		for _, e := range s {
			said, _ := find(r, list, e)
			if lost := mistyped(r.item(), said, e, path+"[]", true); lost != "" {
				return lost
			}
		}
	case bool, json.Number:
		if inList && want == nil && r.scalarType() == Text {
			return path
		}
	}
	return ""
}

// lost returns the path of a live list element that the result lacks and that
// no record knows, where no list was ever applied; "" for none (design 0.1).
func lost(r *Rules, records []any, live, result any, path string) string {
	switch l := live.(type) {
	case map[string]any:
		for k, v := range l {
			if r.field(k).readOnly() {
				continue
			}
			var below []any
			for _, b := range records {
				below = append(below, fieldOf(b, k))
			}
			if at := lost(r.field(k), below, v, fieldOf(result, k), path+"."+k); at != "" {
				return at
			}
		}
	case []any:
		if len(r.key()) == 0 {
			return ""
		}
		res, _ := result.([]any)
		for _, e := range l {
			now, stays := find(r, res, e)
			var below []any
			for _, b := range records {
				list, _ := b.([]any)
				if old, had := find(r, list, e); had {
					below = append(below, old)
				}
			}
			if !stays && len(below) == 0 {
				return path + "[" + plain(e) + "]"
			}
			if at := lost(r.item(), below, e, now, path+"[]"); at != "" {
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
