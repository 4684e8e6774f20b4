package routing_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

// unnoticed says why no request notices a field of a CDN (docs/request.md).
var unnoticed = []struct {
	why string
	is  func(spec map[string]any, field string) bool
}{
	{"it is off", isBelowOff},
	{"it is the name of a rule", func(_ map[string]any, field string) bool {
		return strings.HasPrefix(field, "firewall.rules[") && strings.HasSuffix(field, "].name")
	}},
	{"no location uses the upstream", func(spec map[string]any, field string) bool { return !isUsed(spec, field) }},
	{"it is the only server, or the shares stay the same", func(_ map[string]any, field string) bool { return strings.HasSuffix(field, ".weight") }},
}

// isBelowOff reports whether the field is below an object with enabled: false.
func isBelowOff(spec map[string]any, field string) bool {
	var at any = spec
	for _, name := range strings.FieldsFunc(field, func(c rune) bool { return strings.ContainsRune(".[]", c) }) {
		switch v := at.(type) {
		case map[string]any:
			if fmt.Sprint(v["enabled"]) == "false" {
				return true
			}
			at = v[name]
		case []any:
			i, _ := strconv.Atoi(name)
			at = v[i]
		}
	}
	return false
}

func isUsed(spec map[string]any, field string) bool {
	var at int
	if _, err := fmt.Sscanf(field, "upstreams[%d]", &at); err != nil {
		return true
	}
	name := spec["upstreams"].([]any)[at].(map[string]any)["name"]
	locations, _ := spec["locations"].([]any)
	return slices.ContainsFunc(locations, func(l any) bool { return l.(map[string]any)["upstream"] == name })
}

// mutations calls do with the spec in which each leaf is another value, one after another.
func mutations(v any, at string, set func(any), do func(field string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := name
			if at != "" {
				below = at + "." + name
			}
			mutations(v[name], below, func(is any) { v[name] = is }, do)
		}
		return
	case []any:
		for i := range v {
			mutations(v[i], fmt.Sprintf("%s[%d]", at, i), func(is any) { v[i] = is }, do)
		}
		return
	case bool:
		set(!v)
	case json.Number:
		set(json.Number(v.String() + "7"))
	case string:
		switch v {
		case "true":
			set("false")
		case "false":
			set("true")
		default:
			set(v + "7")
		}
	default:
		return
	}
	do(at)
	set(v)
}

// TestEachFieldIsNoticed: each field of a real CDN that changes alone has a line, or it is known why it has none.
func TestEachFieldIsNoticed(t *testing.T) {
	root := os.Getenv("TRUEUP_CORPUS")
	if root == "" {
		t.Skip("TRUEUP_CORPUS is not set")
	}
	set, _, err := manifest.Load(t.Context(), []manifest.PathSource{{FS: os.DirFS(root), Path: "cdns"}}, manifest.LoadSettings{})
	if err != nil {
		t.Fatal(err)
	}
	fields, silent := 0, map[string]int{}
	key := kind.Key{Kind: "CDN", Name: "a"}
	for _, o := range set.Objects {
		if o.Kind.HostField == "" || o.Kind.IsSendOnce() {
			continue
		}
		spec := o.Tree()
		mutations(spec, "", nil, func(field string) {
			fields++
			change := routing.CDNChange{Before: routing.NewCDN(key, o.Spec), After: routing.NewCDN(key, canon.Encode(spec))}
			if len(routing.Compare([]routing.CDNChange{change}, nil, routing.PrecedencesOf("")).Lines) > 0 {
				return
			}
			for _, u := range unnoticed {
				if u.is(spec, field) {
					silent[u.why]++
					return
				}
			}
			t.Errorf("%s: %s changes, and no request notices", o.Path, field)
		})
	}
	if fields < 100 {
		t.Errorf("only %d fields", fields)
	}
	t.Logf("%d fields, of which no request notices %v", fields, silent)
}
