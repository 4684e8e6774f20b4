package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// unmarshalStrict reads YAML into v, and refuses what v has no field for. That
// goes for the case of letters as well: the decoder takes Ledger for ledger, and
// of the two the last would win, whichever a reviewer has read.
func unmarshalStrict(data []byte, v any) error {
	if err := yaml.UnmarshalStrict(data, v); err != nil {
		return errors.New(inWords(err))
	}
	var tree any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return errors.New(inWords(err))
	}
	if field := otherCase(tree, reflect.TypeOf(v)); field != "" {
		return fmt.Errorf("unknown field %q", field)
	}
	return nil
}

// otherCase returns a key of the tree that is no field of the type, or "".
func otherCase(tree any, t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ""
	}
	switch node := tree.(type) {
	case []any:
		for _, element := range node {
			if field := otherCase(element, t.Elem()); field != "" {
				return field
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			below, known := fieldOf(t, key)
			if !known {
				return key
			}
			if field := otherCase(node[key], below); field != "" {
				return field
			}
		}
	}
	return ""
}

// fieldOf returns the type of what stands below a key, spelled as it is.
func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct {
		return t.Elem(), true
	}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name == key {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}
