package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
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
		f := newFailure(http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results.")
		f.Meta.Continue = pageToken{After: token.After, Made: c.now}.String()
		return 0, "", f
	}
	return limit, token.After, nil
}

// addStatusAndQuirks prepares an object for an answer: it adds the status and applies quirks.
func (c *apiRequest) addStatusAndQuirks(obj object) object {
	addStatus(c, obj)
	if spec := obj.spec(); spec != nil && c.isCDN() {
		applySpecQuirks(spec, c.on)
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
