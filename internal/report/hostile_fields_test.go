package report

import (
	"reflect"
	"slices"
	"testing"

	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/view"
)

// TestHostileFillsEverything: no field of a Document that can hold a text is
// empty in what the fuzzing of renderers shows, so that a new one is not
// forgotten.
func TestHostileFillsEverything(t *testing.T) {
	doc := hostile("x", "x", plan.Delete, merge.Conflict, 0)
	doc.Data, doc.Text = "cleaned by Lines", func(LineWriter, view.TextOptions) {}
	empty := map[string]bool{}
	emptyTexts(reflect.ValueOf(doc), "Document", empty)
	for field := range empty {
		t.Errorf("%s is empty", field)
	}
}

// emptyTexts collects the fields without a value of what v holds.
func emptyTexts(v reflect.Value, at string, empty map[string]bool) {
	kind := v.Kind()
	if (kind == reflect.Pointer || kind == reflect.Interface) && !v.IsNil() {
		emptyTexts(v.Elem(), at, empty)
		return
	}
	if kind == reflect.Struct {
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				emptyTexts(v.Field(i), at+"."+v.Type().Field(i).Name, empty)
			}
		}
		return
	}
	if holder := kind == reflect.Slice || kind == reflect.Map; holder && v.Len() == 0 || !holder && !slices.Contains(numbers, kind) && v.IsZero() {
		empty[at] = true
	}
	if kind == reflect.Slice && v.Len() > 0 {
		emptyTexts(v.Index(0), at, empty)
	}
}

// numbers are the kinds of fields that hold no text.
var numbers = []reflect.Kind{reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint8}
