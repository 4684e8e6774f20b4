package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/uuid"
)

const tokenLife = 5 * time.Minute // of a continue token

// The age at which a new snapshot gets a status, and at which it becomes ready or,
// without its disk, failed; and how long lists still show a deleted snapshot.
const (
	SnapshotBegins = time.Second
	SnapshotReady  = 2 * time.Second
	TerminatingFor = 30 * time.Second
)

const missingDisk = "missing-" // begins the names of disks that don't exist

// isGone reports whether a stored object no longer exists: an expired purge
// (docs/platform.md 3), or a snapshot whose deletion is complete.
func (c *apiRequest) isGone(obj object) bool {
	deleted := obj.timeOf("deletionTimestamp")
	switch {
	case c.isPurge():
		return !c.now.Before(obj.timeOf("creationTimestamp").Add(PurgeLife))
	case c.isCDN() || deleted.IsZero():
		return false
	}
	return !c.now.Before(deleted.Add(TerminatingFor))
}

// findObject returns the object at the path, or a NotFound failure.
func (c *apiRequest) findObject(o objectTx) (object, error) {
	obj, err := o.getObject(c.res, c.ws.Name, c.name)
	if err == nil && (!c.known || obj == nil || c.isGone(obj)) {
		err = c.notFoundError()
	}
	return obj, err
}

// answerGet answers a GET of one object (docs/platform.md 4 rows 2 and 6).
func (s *Server) answerGet(c *apiRequest) (*Response, error) {
	var shown []byte
	err := s.store.readTransaction(func(o objectTx) (err error) {
		if raw := o.getBytes(c.res, c.ws.Name, c.name); c.known && raw != nil {
			shown, err = c.encodeShown(raw)
		}
		return err
	})
	if err == nil && shown == nil {
		err = c.notFoundError()
	}
	return newResponse(http.StatusOK, typeJSON, append(shown, '\n')), err
}

type pageToken struct {
	After string    `json:"after"`
	Made  time.Time `json:"made"`
}

func (t pageToken) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(EncodeJSON(t)))
}

// answerList answers a GET of a collection (docs/platform.md 4 rows 1 and 5). limit and
// continue work as in Kubernetes; the document names no parameter.
func (s *Server) answerList(c *apiRequest) (*Response, error) {
	limit, after, err := c.parsePaging()
	if err != nil {
		return nil, err
	}
	var items [][]byte
	meta := map[string]any{"continue": ""}
	err = s.store.readTransaction(func(o objectTx) error {
		meta["resourceVersion"] = strconv.FormatUint(o.openBucket(bucketMeta).Sequence(), 10)
		if !c.known {
			return nil
		}
		last, remain := "", 0
		return o.eachValue(bucketObjects, storeKey(c.res.plural, c.ws.Name, ""), after, func(name string, raw []byte) error {
			item, err := c.encodeShown(raw)
			switch {
			case err != nil || item == nil:
				return err
			case limit > 0 && len(items) == limit:
				remain++
				meta["continue"], meta["remainingItemCount"] = pageToken{After: last, Made: c.now}.String(), remain
			default:
				last = name
				items = append(items, item)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	// The items are JSON already, and decoding many would be slow.
	head := EncodeJSON(map[string]any{"apiVersion": c.res.apiVersion, "kind": c.res.kind + "List", "metadata": meta})
	head = strings.TrimSuffix(head, "}") + `,"items":[`
	body := slices.Concat([]byte(head), bytes.Join(items, []byte{','}), []byte("]}\n"))
	return newResponse(http.StatusOK, typeJSON, body), nil
}

// encodeShown returns a stored object as JSON for an answer, or nil if it is gone.
func (c *apiRequest) encodeShown(raw []byte) ([]byte, error) {
	if c.isCDN() && len(c.on) == 0 {
		return bytes.Clone(raw), nil
	}
	obj, err := decodeObject(raw)
	if err != nil || c.isGone(obj) {
		return nil, err
	}
	return json.Marshal(c.addStatusAndQuirks(obj))
}

// parsePaging parses limit, where 0 means all, and continue.
func (c *apiRequest) parsePaging() (limit int, after string, err error) {
	if text := c.query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
			return 0, "", badRequest("limit: %q is not a number of items", text)
		}
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
	if c.now.Sub(token.Made) >= tokenLife {
		f := newAPIError(http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results.")
		f.Meta.Continue = pageToken{After: token.After, Made: c.now}.String()
		return 0, "", f
	}
	return limit, token.After, nil
}

// addStatusAndQuirks prepares an object for an answer: it adds the status and applies quirks.
func (c *apiRequest) addStatusAndQuirks(obj object) object {
	addStatus(c, obj)
	spec := obj.spec()
	if spec == nil || !c.isCDN() {
		return obj
	}
	if c.on["defaults"] {
		cdnFields().fillDefaults(spec, asText(spec["hostname"]))
	}
	if c.on["typed-scalars"] {
		cdnFields().toDocumentedType(spec)
	}
	locations := AsList(spec["locations"])
	if c.on["sorts-locations"] {
		slices.SortStableFunc(locations, func(a, b any) int {
			return strings.Compare(asText(AsMap(b)["path"]), asText(AsMap(a)["path"]))
		})
	}
	if c.on["normalises"] {
		spec["hostname"] = strings.ToLower(asText(spec["hostname"]))
		for _, v := range locations {
			if cache := AsMap(AsMap(v)["cache"]); cache["edgeTTL"] != nil {
				cache["edgeTTL"] = fmt.Sprint(cache["edgeTTL"], "s")
			}
		}
	}
	return obj
}

// addStatus adds a status that fits the object's age, unless it was seeded with one.
func addStatus(c *apiRequest, obj object) {
	if _, has := obj["status"]; has {
		return
	}
	age := c.now.Sub(obj.timeOf("creationTimestamp"))
	switch {
	case c.isPurge() && c.on["status"]:
		phase := "Accepted"
		if age >= ExecutedAfter {
			phase = "Executed"
		}
		obj["status"] = map[string]any{"phase": phase}
	case c.isCDN() && c.on["status"]:
		obj["status"] = map[string]any{"status": "OK"}
	case c.isPurge() || c.isCDN() || age < SnapshotBegins:
	default:
		obj["status"] = snapshotStatus(obj, age)
	}
}

func snapshotStatus(obj object, age time.Duration) map[string]any {
	disk := asText(AsMap(obj.spec()["source"])["persistentVolumeClaimName"])
	began := obj.timeOf("creationTimestamp").Add(SnapshotBegins).Format(time.RFC3339)
	switch {
	case strings.HasPrefix(disk, missingDisk):
		return map[string]any{"readyToUse": false, "error": map[string]any{
			"message": "Failed to create snapshot content with error snapshot controller failed to update " + obj.name() +
				` on API server: cannot get claim from snapshot: persistentvolumeclaim "` + disk + `" not found`,
			"time": began,
		}}
	case age < SnapshotReady:
		return map[string]any{"readyToUse": false}
	}
	return map[string]any{
		"readyToUse": true, "restoreSize": "10Gi", "creationTime": began,
		"boundVolumeSnapshotContentName": "snapcontent-" + asText(obj.meta()["uid"]),
	}
}

// answerCreate answers a POST (docs/platform.md 4 rows 3, 7 and 9).
func (s *Server) answerCreate(c *apiRequest) (*Response, error) {
	if err := c.requireMedia(typeJSON); err != nil {
		return nil, err
	}
	obj, err := decodeObject(c.body)
	if err != nil {
		return nil, badRequest("the object provided is unrecognized: %v", err)
	}
	c.name = obj.name()
	if err := c.checkEnvelope(obj); err != nil {
		return nil, err
	}
	if !c.known {
		return nil, newAPIError(http.StatusNotFound, "NotFound", "namespaces %q not found", c.space)
	}
	err = s.store.writeTransaction(func(o objectTx) (err error) {
		if err := s.checkNameFree(c, o); err != nil {
			return err
		}
		delete(obj, "status")
		if err := (&admission{c: c, o: o, obj: obj}).admitObject(); err != nil {
			return err
		}
		meta := obj.meta()
		for _, member := range []string{"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "finalizers"} {
			delete(meta, member)
		}
		normalizeValue(meta)
		owned, err := c.serverMetadata(o, c.now)
		if err != nil {
			return err
		}
		maps.Copy(meta, owned)
		if err := o.putObject(c.res, c.ws.Name, obj); err != nil || !c.isPurge() {
			return err
		}
		return o.addExecution(c.name)
	})
	if err != nil {
		return nil, err
	}
	return jsonResponse(http.StatusCreated, c.addStatusAndQuirks(obj)), nil
}

// checkEnvelope checks apiVersion, kind and metadata of a new object (docs/platform.md 2).
func (c *apiRequest) checkEnvelope(obj object) error {
	if err := c.checkKind(obj); err != nil {
		return err
	}
	problem := cause{Reason: "FieldValueRequired", Field: "metadata.name", Message: "Required value: name or generateName is required"}
	switch {
	case obj["apiVersion"] == nil || obj["kind"] == nil:
		return badRequest("Object 'Kind' or 'apiVersion' is missing")
	case c.name == "":
		return c.invalidError(problem)
	case !isValidName(c.name):
		problem.Reason, problem.Message = "FieldValueInvalid", fmt.Sprintf("Invalid value: %q: a lowercase RFC 1123 subdomain must consist of "+
			"lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character", c.name)
		return c.invalidError(problem)
	case obj.meta()["resourceVersion"] != nil:
		return badRequest("resourceVersion should not be set on objects to be created")
	}
	return nil
}

// checkKind checks the type and the namespace of a body, if it has them.
func (c *apiRequest) checkKind(obj object) error {
	if v, has := obj["apiVersion"]; has && v != c.res.apiVersion {
		return badRequest("the API version in the data (%v) does not match the expected API version (%s)", v, c.res.apiVersion)
	}
	if v, has := obj["kind"]; has && v != c.res.kind {
		return badRequest("%v cannot be handled as a %s", v, c.res.kind)
	}
	if v, has := obj["metadata"]; has && obj.meta() == nil {
		return badRequest("metadata must be an object and not %s", EncodeJSON(v))
	}
	if v, has := obj.meta()["namespace"]; has && c.known && v != c.ws.Name {
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// checkNameFree rejects a name that is in use. docs/platform.md 7.3 doesn't show how the
// platform rejects the name of a purge.
func (s *Server) checkNameFree(c *apiRequest, o objectTx) error {
	old, err := o.getObject(c.res, c.ws.Name, c.name)
	if err != nil || old == nil || c.isGone(old) || c.isPurge() && c.on[executesDuplicates] {
		return err
	}
	f := newAPIError(http.StatusConflict, "AlreadyExists", "%s %q already exists", c.groupResource(), c.name)
	if !old.timeOf("deletionTimestamp").IsZero() {
		f.Message = "object is being deleted: " + f.Message
	}
	return f
}

// serverMetadata returns the metadata that only the server sets.
func (c *apiRequest) serverMetadata(o objectTx, created time.Time) (map[string]any, error) {
	version, err := o.nextVersion()
	return map[string]any{
		"namespace": c.ws.Name, "resourceVersion": version, "generation": json.Number("1"),
		"uid":               uuid.NewSHA1(uuid.NameSpaceOID, storeKey(c.res.plural, c.ws.UUID, c.name, version)).String(),
		"creationTimestamp": created.Format(time.RFC3339), "managedFields": c.managedFields(),
	}, err
}

func (c *apiRequest) managedFields() []any {
	return []any{map[string]any{
		"manager": "sandbox", "operation": "Update", "apiVersion": c.res.apiVersion,
		"time": c.now.Format(time.RFC3339), "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{}},
	}}
}

// answerPatch answers a PATCH (docs/platform.md 4.2 row 8).
func (s *Server) answerPatch(c *apiRequest) (*Response, error) {
	if err := c.requireMedia("application/merge-patch+json"); err != nil {
		return nil, err
	}
	change, err := decodeObject(c.body)
	if err != nil {
		return nil, badRequest("the merge patch is not a JSON object: %v", err)
	}
	var obj object
	err = s.store.writeTransaction(func(o objectTx) error {
		old, err := c.findObject(o)
		if err != nil {
			return err
		}
		if err := c.checkPatch(old, change); err != nil {
			return err
		}
		if obj, err = c.mergePatch(old, change); err != nil {
			return err
		}
		if err := (&admission{c: c, o: o, obj: obj}).admitObject(); err != nil {
			return err
		}
		normalizeValue(obj.meta())
		if EncodeJSON(old) == EncodeJSON(obj) {
			return nil
		}
		if err := c.updateVersion(o, old, obj); err != nil {
			return err
		}
		return o.putObject(c.res, c.ws.Name, obj)
	})
	if err != nil {
		return nil, err
	}
	return jsonResponse(http.StatusOK, c.addStatusAndQuirks(obj)), nil
}

func (c *apiRequest) checkPatch(old, change object) error {
	if err := c.checkKind(change); err != nil {
		return err
	}
	if name, has := change.meta()["name"]; has && name != c.name {
		return badRequest("the name of the object (%v) does not match the name on the URL (%s)", name, c.name)
	}
	version, has := change.meta()["resourceVersion"]
	if has && version != old.meta()["resourceVersion"] {
		return newAPIError(http.StatusConflict, "Conflict", "Operation cannot be fulfilled on %s %q: the object has been modified; "+
			"please apply your changes to the latest version and try again", c.groupResource(), c.name)
	}
	return nil
}

// mergePatch applies a merge patch, without status and the server's metadata.
func (c *apiRequest) mergePatch(old, change object) (object, error) {
	meta := map[string]any{}
	for _, member := range []string{"labels", "annotations"} {
		if v, has := change.meta()[member]; has {
			meta[member] = v
		}
	}
	patch := map[string]any{"metadata": meta}
	if spec, has := change["spec"]; has {
		patch["spec"] = spec
	}
	out, err := jsonpatch.MergePatch([]byte(EncodeJSON(old)), []byte(EncodeJSON(patch)))
	if err != nil {
		return nil, badRequest("the merge patch cannot be applied: %v", err)
	}
	return decodeObject(out)
}

// updateVersion updates resourceVersion, and generation if the spec changed.
func (c *apiRequest) updateVersion(o objectTx, old, obj object) (err error) {
	meta := obj.meta()
	if EncodeJSON(old.spec()) != EncodeJSON(obj.spec()) {
		n, err := strconv.Atoi(fmt.Sprint(meta["generation"]))
		if err != nil {
			return fmt.Errorf("generation of %s: %w", c.name, err)
		}
		meta["generation"] = json.Number(strconv.Itoa(n + 1))
	}
	meta["managedFields"] = c.managedFields()
	meta["resourceVersion"], err = o.nextVersion()
	return err
}

// answerDelete answers a DELETE (docs/platform.md 4.1 row 4).
func (s *Server) answerDelete(c *apiRequest) (*Response, error) {
	var obj object
	err := s.store.writeTransaction(func(o objectTx) (err error) {
		if obj, err = c.findObject(o); err != nil {
			return err
		}
		meta := obj.meta()
		if meta["deletionTimestamp"] != nil {
			return nil
		}
		meta["deletionTimestamp"] = c.now.Format(time.RFC3339)
		meta["deletionGracePeriodSeconds"] = json.Number("0")
		if meta["resourceVersion"], err = o.nextVersion(); err != nil {
			return err
		}
		return o.putObject(c.res, c.ws.Name, obj)
	})
	if err != nil {
		return nil, err
	}
	return jsonResponse(http.StatusOK, c.addStatusAndQuirks(obj)), nil
}
