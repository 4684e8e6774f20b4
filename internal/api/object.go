package api

import (
	"bytes"
	"errors"
	"fmt"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// mismatch says that an answer is readable but is not what was asked for.
type mismatch struct {
	text string
	// misdirected says that the configuration points at another workspace.
	misdirected bool
}

// Error returns what does not fit.
func (m *mismatch) Error() string { return m.text }

func mismatchf(format string, args ...any) error {
	return &mismatch{text: oneLine(fmt.Sprintf(format, args...), messageSize)}
}

// parseObject reads a body that holds one object.
func parseObject(body []byte, k *kind.Kind, ws kind.Workspace) (kind.Object, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return kind.Object{}, errors.New("unreadable answer: it is empty")
	}
	doc, err := canon.Canonical(body)
	if err != nil {
		return kind.Object{}, fmt.Errorf("unreadable answer: %w", err)
	}
	if doc[0] != '{' {
		return kind.Object{}, errors.New("unreadable answer: it is not a JSON object")
	}
	return readObject(doc, k, ws)
}

// newObject is readObject of a decoded object.
func newObject(tree map[string]any, k *kind.Kind, ws kind.Workspace) (kind.Object, error) {
	return readObject(canon.Bytes(tree), k, ws)
}

// readObject reduces an object in canonical JSON and refuses one of another
// workspace: servers say its name, and some its identifier.
func readObject(doc []byte, k *kind.Kind, ws kind.Workspace) (kind.Object, error) {
	o, err := k.ReadObject(doc)
	if err != nil {
		return kind.Object{}, mismatchf("unreadable answer: %v", err)
	}
	if o.Namespace != "" && ws.Name != "" && o.Namespace != ws.Name && o.Namespace != ws.UUID {
		return kind.Object{}, &mismatch{misdirected: true, text: oneLine(fmt.Sprintf(
			"wrong workspace: %s is in %q, the project's is %q", o.Key(), o.Namespace, ws.Name), messageSize)}
	}
	return o, nil
}
