package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"trueup/internal/sandbox/fault"
)

// seededBefore is the default age of a seeded object: old enough to be ready.
const seededBefore = time.Hour

// LoadSeed stores every document of a YAML or JSON stream, as Put does.
func (s *Server) LoadSeed(raw []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	for n := 1; ; n++ {
		var doc map[string]any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && doc != nil {
			err = s.Put(doc)
		}
		if err != nil {
			return fmt.Errorf("seed: document %d: %w", n, err)
		}
	}
}

// Put creates or replaces live objects without a token, validation, or an entry in
// the request log. It adds the server's fields that an object lacks; the default
// namespace is the first workspace. After an error, no object is stored.
func (s *Server) Put(objs ...map[string]any) error {
	raws := make([]json.RawMessage, len(objs))
	for i, obj := range objs {
		raws[i] = json.RawMessage(fault.Encode(obj))
	}
	return s.PutJSON(raws...)
}

// PutJSON is Put for objects in JSON.
func (s *Server) PutJSON(objs ...json.RawMessage) error {
	now := s.Now()
	return s.store.update(func(o objects) error {
		for _, raw := range objs {
			in, err := decodeObject(raw)
			if err == nil {
				err = s.put(o, in, now)
			}
			if err != nil {
				return wrap(err, "put %s %q", fault.Text(in["kind"]), in.name())
			}
		}
		return nil
	})
}

func (s *Server) put(o objects, in object, now time.Time) error {
	res, err := resourceOf(fault.Text(in["kind"]))
	if err != nil {
		return err
	}
	if in.name() == "" || strings.ContainsRune(in.name(), 0) {
		return errors.New("metadata.name is missing")
	}
	if in.spec() != nil {
		normalize(in.spec())
	}
	c := &call{res: res, ws: s.opts.Workspaces[0], name: in.name(), now: now}
	if space := fault.Text(in.meta()["namespace"]); space != "" {
		if c.ws, c.known = s.workspace(func(ws Workspace) bool { return ws.Name == space }); !c.known {
			return fmt.Errorf("workspace %q does not exist", space)
		}
	}
	if err := c.complete(o, in); err != nil {
		return err
	}
	return o.put(res, c.ws.Name, in)
}

// complete adds the server's fields that a seeded object lacks: those of the object
// that it replaces, else new ones.
func (c *call) complete(o objects, obj object) error {
	old, err := o.get(c.res, c.ws.Name, c.name)
	if err != nil {
		return err
	}
	owned, err := c.serverMetadata(o, c.now.Add(-seededBefore))
	meta := obj.meta()
	for member, value := range owned {
		_, has := meta[member]
		was, had := old.meta()[member]
		switch {
		case member == "namespace" || member == "resourceVersion" || !has && !had:
			meta[member] = value
		case !has:
			meta[member] = was
		}
	}
	obj["apiVersion"] = c.res.apiVersion
	return err
}

// Object returns a live object as stored, without quirks, or nil if there is none. Numbers are json.Number.
func (s *Server) Object(kind, workspace, name string) (map[string]any, error) {
	res, err := resourceOf(kind)
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	c := &call{res: res, now: s.Now(), on: s.On()}
	var obj object
	err = s.store.view(func(o objects) (err error) {
		obj, err = o.get(res, workspace, name)
		return err
	})
	if err != nil || obj == nil || c.gone(obj) {
		return nil, wrap(err, "read %s %q", kind, name)
	}
	return obj, nil
}

// Objects returns every live object as stored, by resource, workspace and name.
func (s *Server) Objects() ([]map[string]any, error) {
	out := []map[string]any{}
	c := &call{now: s.Now(), on: s.On()}
	err := s.store.view(func(o objects) (err error) {
		for _, c.res = range resources {
			for _, ws := range s.opts.Workspaces {
				err = errors.Join(err, o.each(c.res, ws.Name, "", func(_ string, raw []byte) error {
					obj, err := decodeObject(raw)
					if err == nil && !c.gone(obj) {
						out = append(out, obj)
					}
					return err
				}))
			}
		}
		return err
	})
	return out, wrap(err, "read objects")
}

// Remove deletes a live object at once, without a trace.
func (s *Server) Remove(kind, workspace, name string) error {
	res, err := resourceOf(kind)
	if err == nil {
		err = s.store.update(func(o objects) error { return o.remove(res, workspace, name) })
	}
	return wrap(err, "remove %s %q", kind, name)
}
