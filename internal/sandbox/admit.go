package sandbox

import (
	_ "embed" // for the table of fields
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The limits of the active purges for one hostname (docs/platform.md 8), and how long
// a purge and its name exist: "about 24 hours" (docs/platform.md 3).
const (
	MaxPurges   = 100
	MaxAbsolute = 20000
	MaxPrefixes = 1000

	PurgeLife     = 24 * time.Hour
	ExecutedAfter = 5 * time.Second // the age at which a purge is executed
)

const snapshotClass = "general-purpose"

var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
})

func isValidName(name string) bool { return len(name) <= 253 && nameForm().MatchString(name) }

// admission validates an object before it is stored, and collects what is wrong.
type admission struct {
	c     *apiRequest
	o     objectTx
	obj   object
	spec  map[string]any
	found []cause
}

func (a *admission) addRefusal(reason, path, format string, args ...any) {
	a.found = append(a.found, cause{Reason: "FieldValue" + reason, Field: path, Message: fmt.Sprintf(format, args...)})
}

func (a *admission) addRequired(path string) { a.addRefusal("Required", path, "Required value") }

func (a *admission) addWrongValue(path string, value any, why string) {
	a.addRefusal("Invalid", path, "Invalid value: %s: %s", EncodeJSON(value), why)
}

func (a *admission) addDuplicate(path string, value any) {
	a.addRefusal("Duplicate", path, "Duplicate value: %s", EncodeJSON(value))
}

// admitObject prepares and validates the object.
func (a *admission) admitObject() (err error) {
	a.spec = a.obj.spec()
	if a.spec == nil {
		a.addRequired("spec")
		return a.c.invalidError(a.found...)
	}
	normalizeValue(a.spec)
	if a.c.isCDN() {
		fields := cdnFields()
		fields.checkTypes(a, "spec", a.spec)
		if a.c.on["defaults"] {
			fields.fillDefaults(a.spec, asText(a.spec["hostname"]))
		}
	}
	if len(a.found) == 0 {
		err = a.c.res.admit(a)
	}
	if len(a.found) > 0 {
		return a.c.invalidError(a.found...)
	}
	return err
}

// admitCDN validates a CDN whose fields have the right types (docs/platform.md 2.2).
func admitCDN(a *admission) error {
	host := asText(a.spec["hostname"])
	switch owner := a.o.cdnServing(a.c.ws.Name, host); {
	case host == "":
		a.addRequired("spec.hostname")
	case !isValidName(strings.ToLower(host)):
		a.addWrongValue("spec.hostname", host, "must be a domain name")
	case owner != "" && owner != a.obj.name():
		a.addDuplicate("spec.hostname", host)
	}
	names := map[string]bool{}
	for i, upstream := range AsList(a.spec["upstreams"]) {
		a.checkUpstream(fmt.Sprintf("spec.upstreams[%d]", i), AsMap(upstream), names)
	}
	for i, v := range AsList(a.spec["locations"]) {
		path, location := fmt.Sprintf("spec.locations[%d]", i), AsMap(v)
		if asText(location["path"]) == "" {
			a.addRequired(path + ".path")
		}
		if name, has := location["upstream"]; has && !names[asText(name)] {
			a.addRefusal("NotFound", path+".upstream", "Not found: %s", EncodeJSON(name))
		}
	}
	return nil
}

// checkUpstream validates an upstream and its servers (docs/platform.md 10), and adds its name to names.
func (a *admission) checkUpstream(path string, upstream map[string]any, names map[string]bool) {
	name := asText(upstream["name"])
	switch {
	case name == "":
		a.addRequired(path + ".name")
	case names[name]:
		a.addDuplicate(path+".name", name)
	}
	names[name] = true
	if scheme, has := upstream["scheme"]; has && scheme != "http" && scheme != "https" {
		a.addWrongValue(path+".scheme", scheme, "must be http or https")
	}
	for i, v := range AsList(upstream["servers"]) {
		server, at := AsMap(v), fmt.Sprintf("%s.servers[%d]", path, i)
		if asText(server["host"]) == "" {
			a.addRequired(at + ".host")
		}
		if port, has := server["port"]; has && !intTextWithin(port, 1, 65535) {
			a.addWrongValue(at+".port", port, "must be between 1 and 65535")
		}
		if weight, has := server["weight"]; has && !intTextWithin(weight, 0, 1<<31-1) {
			a.addWrongValue(at+".weight", weight, "must be 0 or more")
		}
	}
}

func intTextWithin(v any, low, high int) bool {
	n, err := strconv.Atoi(asText(v))
	return err == nil && n >= low && n <= high
}

// admitPurge validates a purge and checks the limits of its hostname (docs/platform.md 2.3 and 8).
func admitPurge(a *admission) error {
	host := asText(a.spec["hostname"])
	switch {
	case host == "":
		a.addRequired("spec.hostname")
		return nil
	case a.o.cdnServing(a.c.ws.Name, host) == "":
		a.addWrongValue("spec.hostname", host, "no CDN of the workspace has this hostname")
		return nil
	}
	if value, has := a.spec["subdomains"]; has {
		if _, isList := value.([]any); !isList {
			a.addWrongValue("spec.subdomains", value, "must be an array of strings")
		}
		for i, v := range AsList(value) {
			if name := asText(v); name == "" || name == host || strings.HasSuffix(name, "."+host) {
				a.addWrongValue(fmt.Sprintf("spec.subdomains[%d]", i), v, "must be a prefix of the hostname and not contain it")
			}
		}
	}
	paths := AsList(a.spec["paths"])
	if len(paths) == 0 {
		a.addRefusal("Required", "spec.paths", "Required value: at least one path")
	}
	for i, v := range paths {
		path, at := asText(v), fmt.Sprintf("spec.paths[%d]", i)
		if !strings.HasPrefix(path, "/") {
			a.addWrongValue(at, v, "must be an absolute path")
		} else if strings.Contains(strings.TrimSuffix(path, "*"), "*") {
			a.addWrongValue(at, v, "'*' may only be the last character")
		}
	}
	if len(a.found) > 0 {
		return nil
	}
	return a.checkLimits(host)
}

func sizeOf(spec map[string]any) purgeSize {
	var size purgeSize
	for _, v := range AsList(spec["paths"]) {
		if strings.HasSuffix(asText(v), "*") {
			size.Prefixes++
		} else {
			size.Absolute++
		}
	}
	return size
}

// checkLimits counts the active purges of the hostname, and deletes expired ones.
func (a *admission) checkLimits(host string) error {
	total, purges := sizeOf(a.spec), 1
	var expired []string
	err := a.o.eachValue(bucketActive, storeKey(a.c.ws.Name, host, ""), "", func(name string, raw []byte) error {
		var size purgeSize
		err := json.Unmarshal(raw, &size)
		switch {
		case name == a.obj.name(): // the new purge replaces it
		case !a.c.now.Before(size.Expires):
			expired = append(expired, name)
		default:
			purges++
			total.Absolute += size.Absolute
			total.Prefixes += size.Prefixes
		}
		return wrapError(err, "active purges of %s", host)
	})
	if err != nil {
		return err
	}
	for _, name := range expired {
		if err := a.o.removeObject(a.c.res, a.c.ws.Name, name); err != nil {
			return err
		}
	}
	for _, limit := range []struct {
		what      string
		got, most int
	}{
		{"purge requests", purges, MaxPurges},
		{"absolute paths", total.Absolute, MaxAbsolute},
		{"prefix paths", total.Prefixes, MaxPrefixes},
	} {
		if limit.got > limit.most {
			a.addRefusal("Forbidden", "spec.paths", "Forbidden: limit of active %s for %s exceeded: %d of %d", limit.what, host, limit.got, limit.most)
		}
	}
	return nil
}

// admitSnapshot validates a snapshot (docs/platform.md 2.1). A missing disk shows only later, in the status.
func admitSnapshot(a *admission) error {
	if asText(a.obj.meta()["namespace"]) == "" {
		a.addRequired("metadata.namespace")
	}
	if asText(AsMap(a.spec["source"])["persistentVolumeClaimName"]) == "" {
		a.addRequired("spec.source.persistentVolumeClaimName")
	}
	switch class, has := a.spec["volumeSnapshotClassName"]; {
	case !has:
		a.addRequired("spec.volumeSnapshotClassName")
	case class != snapshotClass:
		a.addRefusal("NotSupported", "spec.volumeSnapshotClassName", "Unsupported value: %s: supported values: %q", EncodeJSON(class), snapshotClass)
	}
	return nil
}

// fieldTable has one line for each field of a CDN's spec: its path, its documented type (docs/platform.md
// 2.2), the type that the quirk typed-scalars returns (docs/platform.md 10), and, as JSON, the default that
// the quirk defaults adds. A dash means none, @hostname the CDN's hostname, and "any" an unknown type.
//
//go:embed fields.tsv
var fieldTable string

// tableField is a field of the table, with its members or items.
type tableField struct {
	wire, typed, def string
	members          map[string]*tableField
	item             *tableField
}

// cdnFields returns the table as a tree.
var cdnFields = sync.OnceValue(func() *tableField {
	root := &tableField{wire: "object"}
	for line := range strings.Lines(fieldTable) {
		col := strings.Fields(line)
		f := root.fieldAt(col[0])
		f.wire, f.typed, f.def = col[1], col[2], col[3]
	}
	return root
})

// fieldAt returns the field at a path. It adds fields that are missing.
func (f *tableField) fieldAt(path string) *tableField {
	for seg := range strings.SplitSeq(path, ".") {
		name, items, _ := strings.Cut(seg, "[")
		if f.members == nil {
			f.members = map[string]*tableField{}
		}
		if f.members[name] == nil {
			f.members[name] = &tableField{wire: "any", def: "-"}
		}
		f = f.members[name]
		for range strings.Count(items, "]") {
			if f.item == nil {
				f.item = &tableField{wire: "any", def: "-"}
			}
			f = f.item
		}
	}
	return f
}

// wrongType returns the documented type if v has another one, else "". A field that
// the table names only in longer paths must be an object or array.
func (f *tableField) wrongType(v any) string {
	name, ok := "", true
	switch {
	case f.wire == "list" || f.item != nil:
		name = "array"
		_, ok = v.([]any)
	case f.wire == "object" || f.members != nil:
		name = "object"
		_, ok = v.(map[string]any)
	case f.wire == "text":
		name = "string"
		_, ok = v.(string)
	case f.wire == "bool":
		name = "boolean"
		_, ok = v.(bool)
	case f.wire == "number":
		name = "number"
		_, ok = v.(json.Number)
	}
	if ok {
		return ""
	}
	return name
}

// visitChildren calls visit for each member or item of v that is in the table.
func (f *tableField) visitChildren(path string, v any, visit func(f *tableField, path string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if member := f.members[name]; member != nil {
				visit(member, path+"."+name, v[name])
			}
		}
	case []any:
		for i, item := range v {
			if f.item != nil {
				visit(f.item, path+"["+strconv.Itoa(i)+"]", item)
			}
		}
	}
}

// checkTypes rejects values of the wrong type.
func (f *tableField) checkTypes(a *admission, path string, v any) {
	if want := f.wrongType(v); want != "" {
		a.addRefusal("TypeInvalid", path, "Invalid value: %s: %s must be of type %s", EncodeJSON(v), path, want)
		return
	}
	f.visitChildren(path, v, func(f *tableField, path string, v any) { f.checkTypes(a, path, v) })
}

// fillDefaults adds the default of each missing member of an existing object.
func (f *tableField) fillDefaults(v any, hostname string) {
	for name, member := range f.members {
		obj := AsMap(v)
		if _, has := obj[name]; obj == nil || has || member.def == "-" {
			continue
		}
		obj[name] = hostname
		if member.def != "@hostname" {
			obj[name] = DecodeJSON([]byte(member.def))
		}
	}
	f.visitChildren("", v, func(f *tableField, _ string, inner any) { f.fillDefaults(inner, hostname) })
}

// toDocumentedType converts text to the platform's type, if it is in the canonical form ("443", not "0443").
func (f *tableField) toDocumentedType(v any) {
	f.visitChildren("", v, func(f *tableField, path string, inner any) {
		text, isText := inner.(string)
		if parent := AsMap(v); isText && parent != nil {
			parent[path[1:]] = f.typedText(text)
		} else {
			f.toDocumentedType(inner)
		}
	})
}

func (f *tableField) typedText(text string) any {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case f.typed == "int" && err == nil && strconv.FormatInt(n, 10) == text:
		return json.Number(text)
	case f.typed == "bool" && (text == "true" || text == "false"):
		return text == "true"
	}
	return text
}
