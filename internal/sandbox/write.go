package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
)

// TerminatingFor is how long a deleted snapshot stays in lists.
const TerminatingFor = 30 * time.Second

// admission is an object on its way into the store.
type admission struct {
	c   *call
	o   objects
	obj object
}

// create answers a POST (docs/platform.md 4 rows 3, 7 and 9).
func (s *Server) create(c *call) (reply, error) {
	if err := c.requireMedia(typeJSON); err != nil {
		return reply{}, err
	}
	obj, err := decodeObject(c.body)
	if err != nil {
		return reply{}, badRequest("the object provided is unrecognized: %v", err)
	}
	if err := c.checkEnvelope(obj); err != nil {
		return reply{}, err
	}
	if !c.known {
		return reply{}, notFound("namespaces", c.space)
	}
	var warnings []string
	err = s.store.db.Update(func(tx *bolt.Tx) error {
		o := objects{tx}
		if err := s.checkFree(c, o, obj.name()); err != nil {
			return err
		}
		delete(obj, "status")
		var err error
		if warnings, err = (&admission{c: c, o: o, obj: obj}).run(); err != nil {
			return err
		}
		if err := c.stampNew(o, obj); err != nil {
			return err
		}
		if c.res.role == RolePurger {
			if err := o.countExecution(obj.name()); err != nil {
				return err
			}
		}
		return o.put(c.res, c.ws.Name, obj)
	})
	if err != nil {
		return reply{}, err
	}
	p, err := jsonReply(http.StatusCreated, s.view(c, obj))
	p.warnings = warnings
	return p, err
}

// run prepares and validates the object; it returns warnings.
func (a *admission) run() ([]string, error) {
	spec := a.obj.spec()
	if spec == nil {
		return nil, invalid(a.c, a.obj.name(), []cause{required("spec")})
	}
	settle(spec)
	var warnings []string
	var causes []cause
	if fields := a.c.res.fields; fields != nil {
		causes = fields.checkTypes("spec", spec)
		if a.c.on[quirkReadOnly] {
			causes = append(causes, ownedIDs(spec)...)
		}
		if a.c.on[quirkDropUnknown] {
			for _, path := range fields.dropUnknown("spec", spec) {
				warnings = append(warnings, fmt.Sprintf("unknown field %q", path))
			}
		}
		if a.c.on[quirkDefaults] {
			fields.fillDefaults(spec, text(spec["hostname"]))
		}
	}
	if len(causes) == 0 {
		more, err := a.c.res.admit(a)
		if err != nil {
			return nil, err
		}
		causes = more
	}
	if len(causes) > 0 {
		return nil, invalid(a.c, a.obj.name(), causes)
	}
	return warnings, nil
}

// checkEnvelope checks apiVersion, kind and metadata of a new object
// (docs/platform.md 2).
func (c *call) checkEnvelope(obj object) error {
	if err := c.checkKind(obj); err != nil {
		return err
	}
	if obj["apiVersion"] == nil || obj["kind"] == nil {
		return badRequest("Object 'Kind' or 'apiVersion' is missing")
	}
	meta := obj.meta()
	name := text(meta["name"])
	if name == "" {
		return invalid(c, name, []cause{{
			Reason: "FieldValueRequired", Field: "metadata.name", Message: "Required value: name or generateName is required",
		}})
	}
	if !validName(name) {
		return invalid(c, name, []cause{{
			Reason: "FieldValueInvalid", Field: "metadata.name",
			Message: fmt.Sprintf("Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character", name),
		}})
	}
	if meta["resourceVersion"] != nil {
		return badRequest("resourceVersion should not be set on objects to be created")
	}
	return c.checkNamespace(meta)
}

// checkKind checks what a body says of its type, if it says anything.
func (c *call) checkKind(obj object) error {
	if v, has := obj["apiVersion"]; has && v != c.res.apiVersion {
		return badRequest("the API version in the data (%v) does not match the expected API version (%s)", v, c.res.apiVersion)
	}
	if v, has := obj["kind"]; has && v != c.res.kind {
		return badRequest("%v cannot be handled as a %s", v, c.res.kind)
	}
	if v, has := obj["metadata"]; has && obj.meta() == nil {
		return badRequest("metadata must be an object and not %s", jsonText(v))
	}
	return nil
}

func (c *call) checkNamespace(meta map[string]any) error {
	if v, has := meta["namespace"]; has && c.known && v != c.ws.Name {
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// checkFree reports whether the name can be taken.
func (s *Server) checkFree(c *call, o objects, name string) error {
	old, err := o.get(c.res, c.ws.Name, name)
	if err != nil || old == nil || c.gone(old) {
		return err
	}
	if c.res.role == RolePurger && c.on[quirkDuplicates] {
		return nil
	}
	return s.taken(c, old)
}

// taken refuses the name of an object. How that of a purge is refused is not
// shown (docs/platform.md 7.3).
func (s *Server) taken(c *call, old object) error {
	name, purge := old.name(), c.res.role == RolePurger
	message := fmt.Sprintf("%s %q already exists", c.groupResource(), name)
	if !old.stamp("deletionTimestamp").IsZero() {
		message = "object is being deleted: " + message
	}
	refusal := &failure{code: http.StatusConflict, reason: "AlreadyExists", name: name, message: message}
	switch {
	case purge && c.on[quirkDuplicateFirst]:
		refusal.code, refusal.object = http.StatusOK, s.view(c, old)
	case purge && c.on[quirkDuplicate400]:
		refusal.code, refusal.reason = http.StatusBadRequest, "BadRequest"
	case purge && c.on[quirkDuplicate422]:
		refusal.code, refusal.reason = http.StatusUnprocessableEntity, "Invalid"
	case c.on[quirkConflictObject]:
		refusal.object = s.view(c, old)
	}
	return refusal
}

// stampNew adds what only the server may say of a new object.
func (c *call) stampNew(o objects, obj object) error {
	version, err := o.nextVersion()
	if err != nil {
		return err
	}
	meta := obj.meta()
	for _, member := range []string{"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "finalizers"} {
		delete(meta, member)
	}
	settle(meta)
	meta["namespace"] = c.ws.Name
	meta["uid"] = uuid.NewSHA1(uuid.NameSpaceOID, storeKey(c.res.plural, c.ws.UUID, obj.name(), version)).String()
	meta["resourceVersion"] = version
	meta["generation"] = json.Number("1")
	meta["creationTimestamp"] = c.now.Format(time.RFC3339)
	meta["managedFields"] = c.managedFields()
	return nil
}

func (c *call) managedFields() []any {
	return []any{map[string]any{
		"manager": "sandbox", "operation": "Update", "apiVersion": c.res.apiVersion,
		"time": c.now.Format(time.RFC3339), "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{}},
	}}
}

// patch answers a PATCH (docs/platform.md 4.2 row 8).
func (s *Server) patch(c *call) (reply, error) {
	if err := c.requireMedia(typePatch); err != nil {
		return reply{}, err
	}
	change, err := decodeObject(c.body)
	if err != nil {
		return reply{}, badRequest("the merge patch is not a JSON object: %v", err)
	}
	var old, obj object
	var warnings []string
	err = s.store.db.Update(func(tx *bolt.Tx) error {
		o := objects{tx}
		var err error
		if old, err = c.find(o); err != nil {
			return err
		}
		if err := c.checkPatch(old, change); err != nil {
			return err
		}
		if obj, err = merged(old, change); err != nil {
			return err
		}
		if warnings, err = (&admission{c: c, o: o, obj: obj}).run(); err != nil {
			return err
		}
		changed, err := c.stampChange(o, old, obj)
		if err != nil || !changed || c.on[quirkForgets] {
			return err
		}
		return o.put(c.res, c.ws.Name, obj)
	})
	if err != nil {
		return reply{}, err
	}
	s.lag(c, old)
	p, err := jsonReply(http.StatusOK, s.view(c, obj))
	p.warnings = warnings
	return p, err
}

// lag keeps what the next read is to show, where a quirk says so.
func (s *Server) lag(c *call, old object) {
	if !c.on[quirkLagging] {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lagging[c.path] = old
}

// lagged takes what a read still shows, or nil.
func (s *Server) lagged(c *call) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.lagging[c.path]
	delete(s.lagging, c.path)
	return old
}

// checkPatch checks the envelope of a merge patch against the object.
func (c *call) checkPatch(old, change object) error {
	if err := c.checkKind(change); err != nil {
		return err
	}
	meta := change.meta()
	if name, has := meta["name"]; has && name != c.name {
		return badRequest("the name of the object (%v) does not match the name on the URL (%s)", name, c.name)
	}
	if err := c.checkNamespace(meta); err != nil {
		return err
	}
	version, has := meta["resourceVersion"]
	if has && (c.on[quirkVersion] || version != old.meta()["resourceVersion"]) {
		return conflict("Conflict", c.name, fmt.Sprintf("Operation cannot be fulfilled on %s %q: the object has been modified; "+
			"please apply your changes to the latest version and try again", c.groupResource(), c.name))
	}
	return nil
}

// merged applies a merge patch; status and the server's metadata are ignored.
func merged(old, change object) (object, error) {
	patch := object{}
	if spec, has := change["spec"]; has {
		patch["spec"] = spec
	}
	meta := map[string]any{}
	for _, member := range []string{"labels", "annotations"} {
		if v, has := change.meta()[member]; has {
			meta[member] = v
		}
	}
	patch["metadata"] = meta
	from, err := json.Marshal(old)
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	with, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode merge patch: %w", err)
	}
	out, err := jsonpatch.MergePatch(from, with)
	if err != nil {
		return nil, badRequest("the merge patch cannot be applied: %v", err)
	}
	return decodeObject(out)
}

// stampChange moves resourceVersion, and generation if the spec differs. A
// patch that changes nothing moves nothing.
func (c *call) stampChange(o objects, old, obj object) (bool, error) {
	settle(obj.meta())
	before, err := json.Marshal(old)
	if err != nil {
		return false, err
	}
	after, err := json.Marshal(obj)
	if err != nil || bytes.Equal(before, after) {
		return false, err
	}
	meta := obj.meta()
	if jsonText(old.spec()) != jsonText(obj.spec()) {
		n, err := strconv.Atoi(fmt.Sprint(meta["generation"]))
		if err != nil {
			return false, fmt.Errorf("generation of %s: %w", c.name, err)
		}
		meta["generation"] = json.Number(strconv.Itoa(n + 1))
	}
	meta["managedFields"] = c.managedFields()
	if meta["resourceVersion"], err = o.nextVersion(); err != nil {
		return false, err
	}
	return true, nil
}

// delete answers a DELETE (docs/platform.md 4.1 row 4).
func (s *Server) delete(c *call) (reply, error) {
	var obj object
	err := s.store.db.Update(func(tx *bolt.Tx) error {
		o := objects{tx}
		var err error
		if obj, err = c.find(o); err != nil {
			return err
		}
		if c.on[quirkDeleteAtOnce] {
			return o.remove(c.res, c.ws.Name, c.name)
		}
		meta := obj.meta()
		if _, already := meta["deletionTimestamp"]; already {
			return nil
		}
		meta["deletionTimestamp"] = c.now.Format(time.RFC3339)
		meta["deletionGracePeriodSeconds"] = json.Number("0")
		if meta["resourceVersion"], err = o.nextVersion(); err != nil {
			return err
		}
		return o.put(c.res, c.ws.Name, obj)
	})
	switch {
	case err != nil:
		return reply{}, err
	case c.on[quirkDeleteString]:
		return jsonReply(http.StatusOK, "deleted")
	case c.on[quirkDeleteAtOnce]:
		return jsonReply(http.StatusOK, map[string]any{
			"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success",
			"details": map[string]any{"name": c.name, "group": c.res.group, "kind": c.res.plural, "uid": obj.meta()["uid"]},
		})
	}
	return jsonReply(http.StatusOK, s.view(c, obj))
}
