package sandbox

import (
	"bytes"
	_ "embed" // for the seeds
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	"go.yaml.in/yaml/v3"
)

//go:embed seed/live.yaml
var seedLive []byte

//go:embed seed/applied.yaml
var seedApplied []byte

// seededBefore is the age of a seeded object that does not say when it was
// created: old enough for everything that takes time to be over.
const seededBefore = time.Hour

// SeedLive returns the objects of a first world, for LoadSeed: YAML documents.
func SeedLive() []byte { return bytes.Clone(seedLive) }

// SeedApplied returns what a ledger of that world holds as last applied: YAML
// documents with their envelopes.
func SeedApplied() []byte { return bytes.Clone(seedApplied) }

// LoadSeed puts every document of a YAML or JSON stream into the store.
func (s *Server) LoadSeed(raw []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	for n := 1; ; n++ {
		var doc map[string]any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("seed: document %d: %w", n, err)
		}
		if doc == nil {
			continue
		}
		if err := s.Put(doc); err != nil {
			return fmt.Errorf("seed: document %d: %w", n, err)
		}
	}
}

// Put makes or replaces live objects, as somebody else would: no token, no
// validation, and no entry in the request log. What the server owns is filled
// in where an object does not say it; a missing metadata.namespace is the first
// workspace. It is all of them or none.
func (s *Server) Put(objs ...map[string]any) error {
	raws := make([]json.RawMessage, len(objs))
	for i, obj := range objs {
		raw, err := json.Marshal(obj)
		if err != nil {
			return fmt.Errorf("put object: %w", err)
		}
		raws[i] = raw
	}
	return s.PutJSON(raws...)
}

// PutJSON is Put of objects that are JSON.
func (s *Server) PutJSON(objs ...json.RawMessage) error {
	now := s.Now()
	return s.store.db.Update(func(tx *bolt.Tx) error {
		for _, raw := range objs {
			in, err := decodeObject(raw)
			if err != nil {
				return fmt.Errorf("put object: %w", err)
			}
			if err := s.put(objects{tx}, in, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Server) put(o objects, in object, now time.Time) error {
	kind := text(in["kind"])
	res := s.resource(func(r *resource) bool { return r.kind == kind })
	if res == nil {
		return fmt.Errorf("put object: kind %q is not served here", kind)
	}
	if in.name() == "" || strings.ContainsRune(in.name(), 0) {
		return fmt.Errorf("put %s: metadata.name is missing", kind)
	}
	if in.spec() != nil {
		settle(in.spec())
	}
	ws := s.opts.Workspaces[0]
	if space := text(in.meta()["namespace"]); space != "" {
		found := false
		if ws, found = s.workspace(func(w Workspace) bool { return w.Name == space }); !found {
			return fmt.Errorf("put %s %q: workspace %q does not exist", kind, in.name(), space)
		}
	}
	c := &call{res: res, ws: ws, now: now}
	err := c.complete(o, in)
	if err == nil {
		err = o.put(res, ws.Name, in)
	}
	if err != nil {
		return fmt.Errorf("put %s %q: %w", kind, in.name(), err)
	}
	return nil
}

// complete fills in the server's members that a seeded object lacks: those of
// the object it replaces, else new ones.
func (c *call) complete(o objects, obj object) error {
	var old struct{ Metadata map[string]json.RawMessage }
	if raw := o.raw(c.res, c.ws.Name, obj.name()); raw != nil {
		if err := json.Unmarshal(raw, &old); err != nil {
			return fmt.Errorf("decode object: %w", err)
		}
	}
	version, err := o.nextVersion()
	if err != nil {
		return err
	}
	obj["apiVersion"] = c.res.apiVersion
	meta := obj.meta()
	meta["namespace"] = c.ws.Name
	meta["resourceVersion"] = version
	fill := map[string]any{
		"uid":               uuid.NewSHA1(uuid.NameSpaceOID, storeKey(c.res.plural, c.ws.UUID, obj.name(), version)).String(),
		"generation":        json.Number("1"),
		"creationTimestamp": c.now.Add(-seededBefore).Format(time.RFC3339),
		"managedFields":     c.managedFields(),
	}
	for member, value := range fill {
		if was, has := old.Metadata[member]; has {
			value = was
		}
		if _, has := meta[member]; !has {
			meta[member] = value
		}
	}
	return nil
}

// Object returns a live object as it is stored, before any quirk, or nil if
// there is none. Numbers are json.Number.
func (s *Server) Object(kind, workspace, name string) (map[string]any, error) {
	res := s.resource(func(r *resource) bool { return r.kind == kind })
	if res == nil {
		return nil, fmt.Errorf("read object: kind %q is not served here", kind)
	}
	c := &call{res: res, now: s.Now(), on: s.quirks()}
	var obj object
	err := s.store.db.View(func(tx *bolt.Tx) error {
		var err error
		obj, err = objects{tx}.get(res, workspace, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	if obj == nil || c.gone(obj) {
		return nil, nil
	}
	return obj, nil
}

// Objects returns every live object of every workspace as it is stored, by
// resource, workspace and name.
func (s *Server) Objects() ([]map[string]any, error) {
	out := []map[string]any{}
	now, on := s.Now(), s.quirks()
	err := s.store.db.View(func(tx *bolt.Tx) error {
		for _, res := range s.resources {
			c := &call{res: res, now: now, on: on}
			for _, ws := range s.opts.Workspaces {
				err := objects{tx}.each(res, ws.Name, "", func(_ string, raw []byte) (bool, error) {
					obj, err := decodeObject(raw)
					if err == nil && !c.gone(obj) {
						out = append(out, obj)
					}
					return true, err
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	return out, nil
}

// Remove takes a live object away, as if it had never been there.
func (s *Server) Remove(kind, workspace, name string) error {
	res := s.resource(func(r *resource) bool { return r.kind == kind })
	if res == nil {
		return fmt.Errorf("remove object: kind %q is not served here", kind)
	}
	err := s.store.db.Update(func(tx *bolt.Tx) error { return objects{tx}.remove(res, workspace, name) })
	if err != nil {
		return fmt.Errorf("remove %s %q: %w", kind, name, err)
	}
	return nil
}
