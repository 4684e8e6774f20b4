package ledger

import (
	"cmp"
	"time"

	"trueup/internal/kind"
)

// indexed is the line of an index about a record: whether its request is open, and when
// it was claimed and accepted, so that who looks for those need not read all records.
type indexed struct {
	Workspace string `json:"workspace"`
	kind.Key
	Open       bool       `json:"open,omitempty"`
	ClaimedAt  *time.Time `json:"claimedAt,omitempty"`
	AcceptedAt *time.Time `json:"acceptedAt,omitempty"`
}

func (r Record) indexed() indexed {
	e := indexed{Workspace: r.Workspace, Key: r.Key}
	if r.State != "" {
		e.Open, e.ClaimedAt, e.AcceptedAt = r.Open(), r.ClaimedAt, r.AcceptedAt
	}
	return e
}

func (e indexed) key() Key { return Key{Workspace: e.Workspace, Key: e.Key} }

// latest is the later of claim and acceptance, zero without both.
func (e indexed) latest() time.Time {
	var at time.Time
	for _, t := range []*time.Time{e.ClaimedAt, e.AcceptedAt} {
		if t != nil && t.After(at) {
			at = *t
		}
	}
	return at
}

// since reports whether it is of a workspace, and open, or claimed or accepted since then.
func (e indexed) since(workspace string, then time.Time) bool {
	return e.Workspace == workspace && (e.Open || !e.latest().IsZero() && !e.latest().Before(then))
}

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Workspace, other.Workspace), cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Name, other.Name))
}
