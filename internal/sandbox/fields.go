package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// cdnFields is what this platform knows of a CDN's spec, one field a line:
// path, documented type (docs/platform.md 2.2), the type that the quirk
// typed-scalars answers in (docs/platform.md 10), and the default that the quirk
// defaults fills in, as JSON. A dash is none; @hostname is the CDN's own
// hostname. The type "any" is an object or value whose inside is not known.
const cdnFields = `
hostname                                                  text   -    -
firewall                                                  object -    -
firewall.enabled                                          bool   -    false
firewall.rules                                            list   -    -
firewall.rules[].name                                     text   -    -
firewall.rules[].enabled                                  bool   -    true
firewall.rules[].constraints                              list   -    -
firewall.rules[].constraints[][]                          any    -    -
firewall.rules[].action                                   object -    -
firewall.rules[].action.type                              text   -    -
firewall.rules[].action.ratelimit                         object -    -
firewall.rules[].action.ratelimit.algorithm               text   -    "sliding_window"
firewall.rules[].action.ratelimit.rate                    number -    -
firewall.rules[].action.ratelimit.period                  number -    -
firewall.rules[].action.ratelimit.penalty_period          number -    0
firewall.rules[].action.ratelimit.identifier              object -    -
firewall.rules[].action.ratelimit.identifier.type         text   -    "ip"
firewall.rules[].action.ratelimit.statusCode              text   int  "429"
firewall.rules[].action.ratelimit.validationStatusCode    text   int  "403"
locations                                                 list   -    -
locations[].path                                          text   -    -
locations[].host                                          text   -    @hostname
locations[].action                                        text   -    "proxy_http"
locations[].upstream                                      text   -    -
locations[].cache                                         object -    {}
locations[].cache.level                                   text   -    "standard"
locations[].cache.edgeTTL                                 text   int  -
locations[].cache.browserTTL                              text   int  -
locations[].cache.ttlTimeUnit                             text   -    "second"
locations[].cache.detectCountry                           text   bool "false"
locations[].cache.detectDevice                            text   bool "false"
locations[].cors                                          object -    -
locations[].cors.enabled                                  text   bool "false"
locations[].cors.allowOrigins                             text   -    -
locations[].cors.allowMethods                             text   -    -
locations[].cors.allowHeaders                             text   -    -
locations[].cors.allowCredentials                         text   bool "false"
locations[].cors.exposeHeaders                            text   -    -
locations[].imgsvc                                        object -    {}
locations[].imgsvc.enabled                                text   bool "false"
locations[].imgsvc.forcedFilter                           object -    -
locations[].imgsvc.forcedFilter.enabled                   bool   -    false
locations[].headers                                       any    -    {}
locations[].rewrite                                       any    -    {}
upstreams                                                 list   -    -
upstreams[].name                                          text   -    -
upstreams[].scheme                                        text   -    "https"
upstreams[].preferredHealthCheckVersion                   text   int  "2"
upstreams[].smartRouting                                  text   bool "false"
upstreams[].hostHeader                                    text   -    -
upstreams[].passiveThreshold                              number -    -
upstreams[].loadBalancer                                  any    -    -
upstreams[].hc                                            any    -    -
upstreams[].hc2                                           object -    {}
upstreams[].hc2.protocol                                  text   -    "tcp"
upstreams[].hc2.downThreshold                             number -    3
upstreams[].hc2.timeoutSeconds                            number -    5
upstreams[].hc2.http                                      any    -    -
upstreams[].servers                                       list   -    -
upstreams[].servers[].host                                text   -    -
upstreams[].servers[].port                                text   int  "443"
upstreams[].servers[].weight                              text   int  "1"
upstreams[].servers[].passive                             bool   -    false
secureLink                                                object -    -
secureLink.tokenName                                      text   -    -
secureLink.expireName                                     text   -    -
tls                                                       object -    {}
tls.enabled                                               text   bool "false"
tls.auto                                                  text   bool "false"
tls.forced                                                text   bool "false"
`

// ownHostname is the default that stands for the CDN's hostname.
const ownHostname = "@hostname"

// field is a node of the tree that a table of fields makes.
type field struct {
	wire    string
	typed   string
	def     string
	members map[string]*field
	item    *field
}

// parseFields makes the tree of a table of fields.
func parseFields(table string) (*field, error) {
	root := &field{wire: "object"}
	for line := range strings.Lines(table) {
		cols := strings.Fields(line)
		if len(cols) == 0 {
			continue
		}
		if len(cols) != 4 {
			return nil, fmt.Errorf("%q: want four columns", strings.TrimSpace(line))
		}
		if def := cols[3]; def != "-" && def != ownHostname && !json.Valid([]byte(def)) {
			return nil, fmt.Errorf("%s: default %s is not JSON", cols[0], def)
		}
		f := root.at(cols[0])
		f.wire, f.typed, f.def = cols[1], cols[2], cols[3]
	}
	return root, nil
}

// at returns the node of a path, making what is missing.
func (f *field) at(path string) *field {
	for seg := range strings.SplitSeq(path, ".") {
		name, items, _ := strings.Cut(seg, "[")
		if f.members == nil {
			f.members = map[string]*field{}
		}
		if f.members[name] == nil {
			f.members[name] = &field{wire: "any", typed: "-", def: "-"}
		}
		f = f.members[name]
		for range strings.Count(items, "]") {
			if f.item == nil {
				f.item = &field{wire: "any", typed: "-", def: "-"}
			}
			f = f.item
		}
	}
	return f
}

// accepts reports whether a value is of the documented type. A node that the
// table names only through its members or items takes their container.
func (f *field) accepts(v any) bool {
	ok := true
	switch {
	case f.wire == "list" || f.item != nil:
		_, ok = v.([]any)
	case f.wire == "object" || f.members != nil:
		_, ok = v.(map[string]any)
	case f.wire == "text":
		_, ok = v.(string)
	case f.wire == "bool":
		_, ok = v.(bool)
	case f.wire == "number":
		_, ok = v.(json.Number)
	}
	return ok
}

// typeName is the word for the documented type in messages.
func (f *field) typeName() string {
	switch {
	case f.wire == "list" || f.item != nil:
		return "array"
	case f.wire == "object" || f.members != nil:
		return "object"
	case f.wire == "text":
		return "string"
	case f.wire == "bool":
		return "boolean"
	default:
		return f.wire
	}
}

// checkTypes reports every value below path whose type is not the documented
// one.
func (f *field) checkTypes(path string, v any) []cause {
	if !f.accepts(v) {
		return []cause{{
			Reason: "FieldValueTypeInvalid", Field: path,
			Message: fmt.Sprintf("Invalid value: %s: %s must be of type %s", jsonText(v), path, f.typeName()),
		}}
	}
	var found []cause
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if member := f.members[name]; member != nil {
				found = append(found, member.checkTypes(path+"."+name, v[name])...)
			}
		}
	case []any:
		for i, item := range v {
			if f.item != nil {
				found = append(found, f.item.checkTypes(path+"["+strconv.Itoa(i)+"]", item)...)
			}
		}
	}
	return found
}

// dropUnknown removes members that the table does not know and returns their
// paths, sorted within each object.
func (f *field) dropUnknown(path string, v any) []string {
	var dropped []string
	switch v := v.(type) {
	case map[string]any:
		if f.members == nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			member := f.members[name]
			if member == nil {
				delete(v, name)
				dropped = append(dropped, path+"."+name)
				continue
			}
			dropped = append(dropped, member.dropUnknown(path+"."+name, v[name])...)
		}
	case []any:
		for i, item := range v {
			if f.item != nil {
				dropped = append(dropped, f.item.dropUnknown(path+"["+strconv.Itoa(i)+"]", item)...)
			}
		}
	}
	return dropped
}

// fillDefaults adds the default of every missing member whose parent is there.
func (f *field) fillDefaults(v any, hostname string) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range f.members {
			if _, has := v[name]; !has && member.def != "-" {
				v[name] = member.defaultValue(hostname)
			}
			if inner, has := v[name]; has {
				member.fillDefaults(inner, hostname)
			}
		}
	case []any:
		for _, item := range v {
			if f.item != nil {
				f.item.fillDefaults(item, hostname)
			}
		}
	}
}

func (f *field) defaultValue(hostname string) any {
	if f.def == ownHostname {
		return hostname
	}
	dec := json.NewDecoder(strings.NewReader(f.def))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil // parseFields has checked it
	}
	return v
}

// retype answers text in the type that the platform keeps it in, where its
// text is the canonical one ("443", not "0443").
func (f *field) retype(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if member := f.members[name]; member != nil {
				v[name] = member.retype(inner)
			}
		}
	case []any:
		for i, item := range v {
			if f.item != nil {
				v[i] = f.item.retype(item)
			}
		}
	case string:
		return f.retypeText(v)
	}
	return v
}

func (f *field) retypeText(s string) any {
	switch f.typed {
	case "int":
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
			return json.Number(s)
		}
	case "bool":
		if s == "true" || s == "false" {
			return s == "true"
		}
	}
	return s
}

func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
