package api

import (
	"net/http"
	"regexp"
	"slices"
	"sync"

	"trueup/internal/kind"
)

// Duplicate says which answers to a creation of an object that can't be read mean that
// the name exists already, beside those that say so by themselves. The platform's
// document says that the names of once-only requests are unique, and not how a second
// one is refused (docs/design.md A3).
type Duplicate struct {
	// Status are the status codes; none stands for 409.
	Status []int
	// Body must match the text of the answer, or the message in it; nil matches
	// every answer.
	Body *regexp.Regexp
}

// tells reports whether an answer, as its body and the message in it, was set to say
// that the name exists already.
func (d Duplicate) tells(status int, body []byte, message string) bool {
	if len(d.Status) == 0 && d.Body == nil {
		return false
	}
	known := status == http.StatusConflict
	if len(d.Status) > 0 {
		known = slices.Contains(d.Status, status)
	}
	return known && (d.Body == nil || d.Body.Match(body) || d.Body.MatchString(message))
}

// judge is the class of an answer that is not a success, and the object that has the
// name where the answer says that it exists and shows it.
func (r *Reader) judge(c *call, status int, body []byte, said complaint) (Class, *kind.Object) {
	re := reply{verb: c.verb, status: status, said: said, listed: r.cfg.Listed.has(c.kind)}
	var existing *kind.Object
	if c.verb == kind.Create {
		existing = r.existing(c, said.body)
		re.shows = existing != nil
		re.duplicate = c.kind.RequestOnly() && r.cfg.Duplicate.tells(status, body, said.message)
	}
	class := classify(re)
	if class != Taken {
		existing = nil
	}
	return class, existing
}

// Listed keeps of which kinds a whole list was read: whoever answers that serves the
// platform's API, and its 404 for one object means that this one is absent. One is
// shared by all clients of a run.
type Listed struct{ kinds sync.Map }

func (l *Listed) has(k *kind.Kind) bool {
	_, ok := l.kinds.Load(k.Name)
	return ok
}

// existing finds the object that has the name in a decoded refusal: the body
// itself, as some servers answer, or one member of it. A Status holds none, and
// of two it would not be known which is an echo of what was sent.
func (r *Reader) existing(c *call, body map[string]any) *kind.Object {
	if o := r.objectOf(c, body); o != nil {
		return o
	}
	var found []*kind.Object
	for _, member := range body {
		inner, _ := member.(map[string]any)
		if o := r.objectOf(c, inner); o != nil {
			found = append(found, o)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return nil
}

// objectOf reads the object that the call is about, whole: without its spec it
// could not be told from another.
func (r *Reader) objectOf(c *call, tree map[string]any) *kind.Object {
	if tree["kind"] != c.kind.Name {
		return nil
	}
	o, err := newObject(tree, c.kind, r.cfg.Workspace)
	made := o.UID != "" || o.CreationTimestamp != "" // else it may echo what was sent
	if err != nil || o.Name != c.name || o.Spec == nil || !made {
		return nil
	}
	return &o
}
