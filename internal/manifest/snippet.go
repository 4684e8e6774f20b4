package manifest

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"trueup/internal/kind"
)

// Snippet returns a JSON value as a part of a manifest can hold it, in the layout
// of Write; f is the field whose value it is, and may be nil.
func Snippet(value any, f *kind.Field) (string, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(node(value, f)); err != nil {
		return "", fmt.Errorf("write a part of a manifest: %w", err)
	}
	if err := enc.Close(); err != nil {
		return "", fmt.Errorf("write a part of a manifest: %w", err)
	}
	return out.String(), nil
}
