package report

import (
	"reflect"
	"testing"

	"trueup/internal/merge"
	"trueup/internal/plan"
)

// TestHostileFillsEverything: no field of a Document that can hold a text is
// empty in what the fuzzing of renderers shows, so that a new one is not
// forgotten.
func TestHostileFillsEverything(t *testing.T) {
	doc := hostile("x", "x", plan.Delete, merge.Conflict, 0)
	empty := map[string]bool{}
	emptyTexts(reflect.ValueOf(doc), "Document", empty)
	for field := range empty {
		t.Errorf("%s is empty", field)
	}
}

// emptyTexts collects the fields without a value of what v holds.
func emptyTexts(v reflect.Value, at string, empty map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			empty[at] = true
			return
		}
		emptyTexts(v.Elem(), at, empty)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				emptyTexts(v.Field(i), at+"."+v.Type().Field(i).Name, empty)
			}
		}
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			empty[at] = true
		}
		if v.Kind() == reflect.Slice && v.Len() > 0 {
			emptyTexts(v.Index(0), at, empty)
		}
	case reflect.String:
		if v.String() == "" {
			empty[at] = true
		}
	}
}
