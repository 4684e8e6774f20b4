package sandbox

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The limits of purges that are active for one hostname (docs/platform.md 8), and
// their life, where Options name none: active until they are removed
// (docs/platform.md 3).
const (
	MaxPurges   = 100
	MaxAbsolute = 20000
	MaxPrefixes = 1000

	PurgeLife = 24 * time.Hour
	// ExecutedAfter is when an accepted purge has been executed.
	ExecutedAfter = 5 * time.Second
)

const snapshotClass = "general-purpose"

var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
})

func validName(name string) bool { return len(name) <= 253 && nameForm().MatchString(name) }

func required(path string) cause {
	return cause{Reason: "FieldValueRequired", Field: path, Message: "Required value"}
}

func wrong(path string, value any, why string) cause {
	return cause{Reason: "FieldValueInvalid", Field: path, Message: "Invalid value: " + jsonText(value) + ": " + why}
}

func twice(path string, value any) cause {
	return cause{Reason: "FieldValueDuplicate", Field: path, Message: "Duplicate value: " + jsonText(value)}
}

// admitCDN validates a CDN whose types are right (docs/platform.md 2.2).
func admitCDN(a *admission) ([]cause, error) {
	spec := a.obj.spec()
	var found []cause
	host := text(spec["hostname"])
	switch owner := a.o.cdnOf(a.c.ws.Name, host); {
	case host == "":
		found = append(found, required("spec.hostname"))
	case !validName(strings.ToLower(host)):
		found = append(found, wrong("spec.hostname", host, "must be a domain name"))
	case owner != "" && owner != a.obj.name():
		found = append(found, twice("spec.hostname", host))
	}
	names := map[string]bool{}
	for i, v := range list(spec["upstreams"]) {
		upstream := asObject(v)
		path := fmt.Sprintf("spec.upstreams[%d]", i)
		found = append(found, checkUpstream(path, upstream, names)...)
		names[text(upstream["name"])] = true
	}
	for i, v := range list(spec["locations"]) {
		path := fmt.Sprintf("spec.locations[%d]", i)
		location := asObject(v)
		if text(location["path"]) == "" {
			found = append(found, required(path+".path"))
		}
		if name, has := location["upstream"]; has && !names[text(name)] {
			found = append(found, cause{
				Reason: "FieldValueNotFound", Field: path + ".upstream", Message: "Not found: " + jsonText(name),
			})
		}
	}
	return found, nil
}

// checkUpstream validates an upstream and its servers (docs/platform.md 10).
func checkUpstream(path string, upstream object, names map[string]bool) []cause {
	var found []cause
	switch name := text(upstream["name"]); {
	case name == "":
		found = append(found, required(path+".name"))
	case names[name]:
		found = append(found, twice(path+".name", name))
	}
	if scheme, has := upstream["scheme"]; has && scheme != "http" && scheme != "https" {
		found = append(found, wrong(path+".scheme", scheme, "must be http or https"))
	}
	for i, v := range list(upstream["servers"]) {
		server := asObject(v)
		at := fmt.Sprintf("%s.servers[%d]", path, i)
		if text(server["host"]) == "" {
			found = append(found, required(at+".host"))
		}
		if port, has := server["port"]; has && !numberWithin(port, 1, 65535) {
			found = append(found, wrong(at+".port", port, "must be between 1 and 65535"))
		}
		if weight, has := server["weight"]; has && !numberWithin(weight, 0, 1<<31-1) {
			found = append(found, wrong(at+".weight", weight, "must be 0 or more"))
		}
	}
	return found
}

func asObject(v any) object {
	m, _ := v.(map[string]any)
	return m
}

func numberWithin(v any, low, high int) bool {
	n, err := strconv.Atoi(text(v))
	return err == nil && n >= low && n <= high
}

// ownedIDs reports the ids of the server's own that a body carries.
func ownedIDs(spec map[string]any) []cause {
	var found []cause
	report := func(path string, element object) {
		if id, has := element["id"]; has {
			found = append(found, cause{
				Reason: "FieldValueForbidden", Field: path + ".id", Message: "Forbidden: " + jsonText(id) + " is set by the server",
			})
		}
	}
	for i, v := range list(spec["locations"]) {
		report(fmt.Sprintf("spec.locations[%d]", i), asObject(v))
	}
	for i, v := range list(spec["upstreams"]) {
		path := fmt.Sprintf("spec.upstreams[%d]", i)
		report(path, asObject(v))
		for j, server := range list(asObject(v)["servers"]) {
			report(fmt.Sprintf("%s.servers[%d]", path, j), asObject(server))
		}
	}
	return found
}

func indexCDN(o objects, ws, host string, obj object) error {
	return o.bucket(bucketHosts).Put(storeKey(ws, host), []byte(obj.name()))
}

// admitPurge validates a purge and holds the limits of its hostname
// (docs/platform.md 2.3 and 8).
func admitPurge(a *admission) ([]cause, error) {
	spec := a.obj.spec()
	host := text(spec["hostname"])
	switch {
	case host == "":
		return []cause{required("spec.hostname")}, nil
	case a.o.cdnOf(a.c.ws.Name, host) == "":
		return []cause{wrong("spec.hostname", host, "no CDN of the workspace has this hostname")}, nil
	}
	found := checkSubdomains(spec, host)
	found = append(found, checkPaths(spec)...)
	if len(found) > 0 {
		return found, nil
	}
	return overLimits(a, host)
}

func checkSubdomains(spec map[string]any, host string) []cause {
	value, has := spec["subdomains"]
	if !has {
		return nil
	}
	if _, isList := value.([]any); !isList {
		return []cause{wrong("spec.subdomains", value, "must be an array of strings")}
	}
	var found []cause
	for i, v := range list(value) {
		if name := text(v); name == "" || name == host || strings.HasSuffix(name, "."+host) {
			found = append(found, wrong(fmt.Sprintf("spec.subdomains[%d]", i), v, "must be a prefix of the hostname and not contain it"))
		}
	}
	return found
}

func checkPaths(spec map[string]any) []cause {
	paths := list(spec["paths"])
	if len(paths) == 0 {
		return []cause{{Reason: "FieldValueRequired", Field: "spec.paths", Message: "Required value: at least one path"}}
	}
	var found []cause
	for i, v := range paths {
		path := text(v)
		at := fmt.Sprintf("spec.paths[%d]", i)
		if !strings.HasPrefix(path, "/") {
			found = append(found, wrong(at, v, "must be an absolute path"))
		} else if strings.Contains(strings.TrimSuffix(path, "*"), "*") {
			found = append(found, wrong(at, v, "'*' may only be the last character"))
		}
	}
	return found
}

func sizeOf(spec map[string]any) purgeSize {
	var size purgeSize
	for _, v := range list(spec["paths"]) {
		if strings.HasSuffix(text(v), "*") {
			size.Prefixes++
		} else {
			size.Absolute++
		}
	}
	return size
}

// overLimits adds up the purges that are active for the hostname.
func overLimits(a *admission, host string) ([]cause, error) {
	total := sizeOf(a.obj.spec())
	purges := 1
	var expired []string
	prefix := storeKey(a.c.ws.Name, host, "")
	cursor := a.o.bucket(bucketActive).Cursor()
	for k, v := cursor.Seek(prefix); strings.HasPrefix(string(k), string(prefix)); k, v = cursor.Next() {
		if string(k[len(prefix):]) == a.obj.name() {
			continue // this one takes its place
		}
		var size purgeSize
		if err := json.Unmarshal(v, &size); err != nil {
			return nil, fmt.Errorf("active purges of %s: %w", host, err)
		}
		if !a.c.now.Before(size.Expires) {
			expired = append(expired, string(k[len(prefix):]))
			continue
		}
		purges++
		total.Absolute += size.Absolute
		total.Prefixes += size.Prefixes
	}
	for _, name := range expired {
		if err := a.o.remove(a.c.res, a.c.ws.Name, name); err != nil {
			return nil, err
		}
	}
	return compareLimits(host, purges, total), nil
}

func compareLimits(host string, purges int, total purgeSize) []cause {
	var found []cause
	for _, limit := range []struct {
		what      string
		got, most int
	}{
		{"purge requests", purges, MaxPurges},
		{"absolute paths", total.Absolute, MaxAbsolute},
		{"prefix paths", total.Prefixes, MaxPrefixes},
	} {
		if limit.got > limit.most {
			found = append(found, cause{
				Reason: "FieldValueForbidden", Field: "spec.paths",
				Message: fmt.Sprintf("Forbidden: limit of active %s for %s exceeded: %d of %d", limit.what, host, limit.got, limit.most),
			})
		}
	}
	return found
}

func indexPurge(life time.Duration) func(o objects, ws, host string, obj object) error {
	return func(o objects, ws, host string, obj object) error {
		size := sizeOf(obj.spec())
		size.Expires = obj.stamp("creationTimestamp").Add(life)
		raw, err := json.Marshal(size)
		if err != nil {
			return fmt.Errorf("active purge %s: %w", obj.name(), err)
		}
		return o.bucket(bucketActive).Put(storeKey(ws, host, obj.name()), raw)
	}
}

// admitSnapshot validates a snapshot (docs/platform.md 2.1). That its disk exists
// is not checked: only status tells, later.
func admitSnapshot(a *admission) ([]cause, error) {
	var found []cause
	if text(a.obj.meta()["namespace"]) == "" {
		found = append(found, required("metadata.namespace"))
	}
	spec := a.obj.spec()
	source := asObject(spec["source"])
	if text(source["persistentVolumeClaimName"]) == "" {
		found = append(found, required("spec.source.persistentVolumeClaimName"))
	}
	class, has := spec["volumeSnapshotClassName"]
	switch {
	case !has:
		found = append(found, required("spec.volumeSnapshotClassName"))
	case class != snapshotClass:
		found = append(found, cause{
			Reason: "FieldValueNotSupported", Field: "spec.volumeSnapshotClassName",
			Message: fmt.Sprintf("Unsupported value: %s: supported values: %q", jsonText(class), snapshotClass),
		})
	}
	return found, nil
}
