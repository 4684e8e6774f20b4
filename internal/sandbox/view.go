package sandbox

import (
	"slices"
	"strings"
	"time"
)

// The life of a snapshot after its creation: no status, then not ready, then
// ready or, without its disk, an error (kubernetes-behaviour, snapshots).
const (
	SnapshotBegins = time.Second
	SnapshotReady  = 2 * time.Second
)

// view returns an object as the platform answers it: with its status, and as
// the quirks say. It does not change obj.
func (s *Server) view(c *call, obj object) object {
	out := asObject(copyTree(map[string]any(obj)))
	s.addStatus(c, out)
	if c.on[quirkMetadata] {
		addMetadata(c, out.meta())
	}
	if c.on[quirkTerminating] {
		out.meta()["deletionTimestamp"] = c.now.Format(time.RFC3339)
	}
	if c.on[quirkOtherSpace] {
		out.meta()["namespace"] = "other-" + text(out.meta()["namespace"])
	}
	if spec := out.spec(); spec != nil && c.res.fields != nil {
		viewSpec(c, spec)
	}
	return out
}

// viewSpec applies the quirks that change how the spec of a CDN is answered.
func viewSpec(c *call, spec map[string]any) {
	if c.on[quirkDefaults] {
		c.res.fields.fillDefaults(spec, text(spec["hostname"]))
	}
	if c.on[quirkSetOrder] {
		slices.Reverse(list(spec["upstreams"]))
		for _, v := range list(spec["upstreams"]) {
			slices.Reverse(list(asObject(v)["servers"]))
		}
	}
	if c.on[quirkSorts] {
		slices.SortStableFunc(list(spec["locations"]), func(a, b any) int {
			return strings.Compare(text(asObject(b)["path"]), text(asObject(a)["path"]))
		})
	}
	if c.on[quirkNormalises] {
		spec["hostname"] = strings.ToLower(text(spec["hostname"]))
		for _, v := range list(spec["locations"]) {
			if cache := asObject(v).child("cache"); text(cache["edgeTTL"]) != "" {
				cache["edgeTTL"] = text(cache["edgeTTL"]) + "s"
			}
		}
	}
	if c.on[quirkReadOnly] {
		addIDs(spec)
	}
	if c.on[quirkTyped] {
		c.res.fields.retype(spec)
	}
}

// addIDs gives elements the ids that only the server may set.
func addIDs(spec map[string]any) {
	for _, v := range list(spec["locations"]) {
		setID(v, "loc-"+text(asObject(v)["path"]))
	}
	for _, v := range list(spec["upstreams"]) {
		setID(v, "ups-"+text(asObject(v)["name"]))
		for _, server := range list(asObject(v)["servers"]) {
			setID(server, "srv-"+text(asObject(server)["host"]))
		}
	}
}

func setID(element any, id string) {
	if m := asObject(element); m != nil {
		m["id"] = id
	}
}

func addMetadata(c *call, meta map[string]any) {
	for _, member := range []string{"labels", "annotations"} {
		if _, has := meta[member]; !has {
			meta[member] = nil
		}
	}
	meta["workspace"] = c.ws.Name
	meta["selfLink"] = "/" + c.res.apiVersion + "/namespaces/" + c.ws.Name + "/" + c.res.plural + "/" + text(meta["name"])
	meta["finalizers"] = []any{"sandbox/protection"}
}

// addStatus says how far an object has come by the platform's clock. A status
// that was seeded stays.
func (s *Server) addStatus(c *call, obj object) {
	if _, has := obj["status"]; has {
		return
	}
	age := c.now.Sub(obj.stamp("creationTimestamp"))
	switch c.res.role {
	case RoleComputeAdmin:
		if status := s.snapshotStatus(obj, age); status != nil {
			obj["status"] = status
		}
	case RolePurger:
		if c.on[quirkStatus] {
			phase := "Accepted"
			if age >= ExecutedAfter {
				phase = "Executed"
			}
			obj["status"] = map[string]any{"phase": phase}
		}
	default:
		if c.on[quirkStatus] {
			obj["status"] = map[string]any{"status": "OK"}
		}
	}
}

func (s *Server) snapshotStatus(obj object, age time.Duration) map[string]any {
	if age < SnapshotBegins {
		return nil
	}
	disk := text(asObject(obj.spec()["source"])["persistentVolumeClaimName"])
	began := obj.stamp("creationTimestamp").Add(SnapshotBegins).Format(time.RFC3339)
	switch {
	case !s.diskExists(disk):
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
		"boundVolumeSnapshotContentName": "snapcontent-" + text(obj.meta()["uid"]),
	}
}

func (s *Server) diskExists(name string) bool {
	if len(s.opts.Disks) == 0 {
		return !strings.HasPrefix(name, "missing-")
	}
	return slices.Contains(s.opts.Disks, name)
}
