package project

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"trueup/internal/kind"
)

// UnmarshalStrict reads YAML into v, and rejects keys that the schema of one of kind.OwnFiles does not
// have. Keys that differ only in case count, too, because the decoder would read Ledger as ledger.
func UnmarshalStrict(data []byte, file string, v any) error {
	var tree any
	err := yaml.UnmarshalStrict(data, v)
	if err == nil {
		err = yaml.Unmarshal(data, &tree)
	}
	if err != nil {
		return errors.New(inWords(err))
	}
	fields, _ := kind.OwnFile(file)
	if key := unknownKey(tree, fields); key != "" {
		return fmt.Errorf("unknown field %q", key)
	}
	return nil
}

// wrongType matches the message of encoding/json about a value of the wrong type.
var wrongType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`cannot unmarshal (\w+)(?: \S+)? into Go struct field \w+\.(\S+) of type \S+`)
})

// maxWords limits an error, in bytes, because it may quote a key of the file.
const maxWords = 1000

// inWords returns the message of a decoder's error without Go types and internal steps.
func inWords(err error) string {
	text := strings.NewReplacer("error unmarshaling JSON: ", "", "error converting YAML to JSON: ", "",
		"while decoding JSON: ", "", "json: ", "", "yaml: ", "", "unmarshal errors:\n  ", "").Replace(err.Error())
	text = wrongType().ReplaceAllString(text, "$2 can't be a $1: see docs/configuration.md")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "..."
	}
	return text
}

// unknownKey returns a key of the tree that the schema does not have, or "".
func unknownKey(tree any, f *kind.Field) string {
	if f == nil {
		return ""
	}
	switch node := tree.(type) {
	case []any:
		for _, element := range node {
			if key := unknownKey(element, f.Item); key != "" {
				return key
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			below := cmp.Or(f.Fields[key], f.Any)
			if below == nil {
				return key
			}
			if key := unknownKey(node[key], below); key != "" {
				return key
			}
		}
	}
	return ""
}
