package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// UnmarshalStrict reads YAML into v, and refuses keys that v has no field for, also those that
// differ in case: the decoder would take Ledger for ledger, and use the last of the two.
func UnmarshalStrict(data []byte, v any) error {
	var tree any
	err := yaml.UnmarshalStrict(data, v)
	if err == nil {
		err = yaml.Unmarshal(data, &tree)
	}
	if err != nil {
		return errors.New(inWords(err))
	}
	if field := otherCase(tree, reflect.TypeOf(v)); field != "" {
		return fmt.Errorf("unknown field %q", field)
	}
	return nil
}

// wrongType matches what encoding/json says of a value of the wrong type.
var wrongType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`cannot unmarshal (\w+)(?: \S+)? into Go struct field \w+\.(\S+) of type \S+`)
})

// maxWords limits an error, in bytes, because it may quote a key of the file.
const maxWords = 1000

// inWords returns the error of a decoder without the steps and the types of this program.
func inWords(err error) string {
	text := strings.NewReplacer("error unmarshaling JSON: ", "", "error converting YAML to JSON: ", "",
		"while decoding JSON: ", "", "json: ", "", "yaml: ", "", "unmarshal errors:\n  ", "").Replace(err.Error())
	text = wrongType().ReplaceAllString(text, "$2 can't be a $1: see docs/configuration.md")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "..."
	}
	return text
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

// fieldOf returns the type of the value below a key.
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
