package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
)

// tokenLife is how long a continue token of a list is good for.
const tokenLife = 5 * time.Minute

// quirkPage is the number of items of a page where a quirk makes pages.
const quirkPage = 1

// gone reports whether an object that is still stored has ended by now: a purge
// after its life (docs/platform.md 3), a snapshot after it was terminating.
func (c *call) gone(obj object) bool {
	switch c.res.role {
	case RolePurger:
		return !c.now.Before(obj.stamp("creationTimestamp").Add(c.res.life))
	case RoleComputeAdmin:
		deleted := obj.stamp("deletionTimestamp")
		return !deleted.IsZero() && !c.on[quirkFinalizers] && !c.now.Before(deleted.Add(TerminatingFor))
	}
	return false
}

// find returns the object that the path names, or a failure.
func (c *call) find(o objects) (object, error) {
	if !c.known {
		return nil, notFound(c.groupResource(), c.name)
	}
	obj, err := o.get(c.res, c.ws.Name, c.name)
	if err != nil {
		return nil, err
	}
	if obj == nil || c.gone(obj) {
		return nil, notFound(c.groupResource(), c.name)
	}
	return obj, nil
}

// get answers a GET of one object (docs/platform.md 4 rows 2 and 6).
func (s *Server) get(c *call) (reply, error) {
	var shown []byte
	err := s.store.db.View(func(tx *bolt.Tx) error {
		var err error
		if raw := (objects{tx}).raw(c.res, c.ws.Name, c.name); c.known && raw != nil {
			shown, err = s.shown(c, raw)
		}
		return err
	})
	if err == nil && shown == nil {
		err = notFound(c.groupResource(), c.name)
	}
	if err != nil {
		return reply{}, err
	}
	if old := s.lagged(c); old != nil {
		return jsonReply(http.StatusOK, s.view(c, old))
	}
	return reply{status: http.StatusOK, media: typeJSON, body: append(shown, '\n')}, nil
}

// pageToken is what a continue token holds.
type pageToken struct {
	After string    `json:"after"`
	Made  time.Time `json:"made"`
}

func (t pageToken) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(jsonText(t)))
}

// page is one answer to a list.
type page struct {
	items   [][]byte
	version string
	next    string
	remain  int
	// whole says that the list needed no other page.
	whole bool
}

// list answers a GET of a collection (docs/platform.md 4 rows 1 and 5). Limit and
// continue are those of kubernetes-behaviour; the document shows no parameter.
func (s *Server) list(c *call) (reply, error) {
	limit, after, err := c.paging()
	if err != nil {
		return reply{}, err
	}
	p := page{whole: after == ""}
	err = s.store.db.View(func(tx *bolt.Tx) error {
		o := objects{tx}
		p.version = o.version()
		if !c.known {
			return nil
		}
		return s.fill(c, o, &p, limit, after)
	})
	if err != nil {
		return reply{}, err
	}
	if c.partial != nil && p.next != "" {
		c.partial.end(&p)
	}
	if c.on[quirkListUnordered] {
		slices.Reverse(p.items)
	}
	body, err := c.listBody(&p)
	return reply{status: http.StatusOK, media: typeJSON, body: append(body, '\n')}, err
}

// fill reads one page of a workspace.
func (s *Server) fill(c *call, o objects, p *page, limit int, after string) error {
	last, position := "", 0
	return o.each(c.res, c.ws.Name, after, func(name string, raw []byte) (bool, error) {
		position++
		item, err := s.shown(c, raw)
		if err != nil || item == nil || c.on[quirkIncomplete] && position%2 == 0 {
			return true, err
		}
		if limit > 0 && len(p.items) == limit {
			p.next = pageToken{After: last, Made: c.now}.String()
			p.whole = false
			p.remain++
			return true, nil
		}
		last = name
		p.items = append(p.items, item)
		return true, nil
	})
}

// shown returns a stored object as it is answered, or nil if it is gone. Most are
// answered as they are stored.
func (s *Server) shown(c *call, raw []byte) ([]byte, error) {
	if c.res.fields != nil && len(c.on) == 0 {
		return bytes.Clone(raw), nil
	}
	obj, err := decodeObject(raw)
	if err != nil || c.gone(obj) {
		return nil, err
	}
	obj = s.view(c, obj)
	if c.name == "" && c.on[quirkListNoSpec] {
		delete(obj, "spec")
	}
	return json.Marshal(obj)
}

// paging reads limit and continue.
func (c *call) paging() (limit int, after string, err error) {
	if limit, err = c.pageSize(); err != nil {
		return 0, "", err
	}
	value := c.query.Get("continue")
	if value == "" {
		return limit, "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(value)
	var token pageToken
	if err != nil || json.Unmarshal(raw, &token) != nil || token.After == "" {
		return 0, "", badRequest("continue key is not valid: %q", value)
	}
	if c.on[quirkExpired] || c.now.Sub(token.Made) >= tokenLife {
		return 0, "", &failure{
			code: http.StatusGone, reason: "Expired", token: pageToken{After: token.After, Made: c.now}.String(),
			message: "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results.",
		}
	}
	return limit, token.After, nil
}

// pageSize is the number of items of a page, 0 for all.
func (c *call) pageSize() (limit int, err error) {
	if text := c.query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
			return 0, badRequest("limit: %q is not a number of items", text)
		}
	}
	if c.on[quirkListPaged] || c.on[quirkExpired] {
		limit = quirkPage
	}
	if c.partial != nil {
		limit = c.partial.items
	}
	return limit, nil
}

// listBody gives the list its shape; only the first knows pages. Items are JSON
// already, and are many.
func (c *call) listBody(p *page) ([]byte, error) {
	items := []byte("null")
	if len(p.items) > 0 || !c.on[quirkListNull] {
		items = slices.Concat([]byte{'['}, bytes.Join(p.items, []byte{','}), []byte{']'})
		switch {
		case p.whole && c.on[quirkListData]:
			return slices.Concat([]byte(`{"data":`), items, []byte{'}'}), nil
		case p.whole && c.on[quirkListArray]:
			return items, nil
		}
	}
	meta := map[string]any{"continue": p.next, "resourceVersion": p.version}
	if p.remain > 0 {
		meta["remainingItemCount"] = p.remain
	}
	head, err := json.Marshal(map[string]any{"apiVersion": c.res.apiVersion, "kind": c.res.kind + "List", "metadata": meta})
	if err != nil {
		return nil, fmt.Errorf("encode list: %w", err)
	}
	return slices.Concat(head[:len(head)-1], []byte(`,"items":`), items, []byte{'}'}), nil
}
