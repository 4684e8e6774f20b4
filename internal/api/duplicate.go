package api

import (
	"net/http"
	"regexp"
	"slices"

	"trueup/internal/kind"
)

// Duplicate says which answers to a creation mean that the name exists already.
// The platform's document says that the names of once-only requests are
// unique, and not how a second one is refused (design A3). Objects that can be
// read are looked up instead: of those only a 409 says so.
type Duplicate struct {
	// Status are the status codes; none stands for 409.
	Status []int
	// Body must match the text of the answer, or the message in it; nil matches
	// every answer.
	Body *regexp.Regexp
}

// tells tells whether an answer, as its body and the message in it, says that
// the name exists already.
func (d Duplicate) tells(status int, body []byte, message string) bool {
	known := status == http.StatusConflict
	if len(d.Status) > 0 {
		known = slices.Contains(d.Status, status)
	}
	return known && (d.Body == nil || d.Body.Match(body) || d.Body.MatchString(message))
}

// judge is the class of an answer that is not a success.
func (r *Reader) judge(c *call, status int, body []byte, said complaint) Class {
	class := classify(c.verb, status, said.isJSON || said.empty)
	switch {
	case c.verb != kind.Create || c.kind.Policy != kind.Once:
	case r.cfg.Duplicate.tells(status, body, said.message):
		return Taken
	case class == Taken:
		return Rejected
	}
	return class
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
	if err != nil || o.Name != c.name || o.Spec == nil {
		return nil
	}
	return &o
}
