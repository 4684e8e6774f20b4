package plan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/yamledit"
)

// TestAPulledObjectPlansEmpty: whatever a platform answers, its manifest is refused
// by the loader, or it is read as it was written, covers what is live, is laid out
// as fmt would have it, gives no warning of a field, and no later change of it
// loses what it leaves out.
func TestAPulledObjectPlansEmpty(t *testing.T) {
	cdn, _ := kind.FindKind("cdn")
	plain := canon.MustDecode([]byte(`{"hostname": "shop.example.com", "tls": {"forced": "true"}, "extra": {"on": "0600", "space": "\u00a0", "spaces": "a \u00a0 b"},
		"upstreams": [{"name": "o", "scheme": "https", "servers": [{"host": "a.example.net", "port": "443", "weight": "1"}]}],
		"locations": [{"path": "/*", "action": "proxy_http", "upstream": "o", "cache": {"edgeTTL": "60", "more": "a: b"}}]}`))
	for _, all := range []bool{false, true} {
		if !isTaken(t, cdn, canon.Encode(plain), all) {
			t.Errorf("with all fields %t the loader refuses what is taken of %s", all, canon.Encode(plain))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		tree := liveObject(cdn.Spec(), 4).Draw(t, "live").(map[string]any)
		tree["hostname"] = "shop.example.com"
		decoded, err := canon.Decode(canon.Encode(tree))
		if err != nil {
			t.Skip(err)
		}
		isTaken(t, cdn, canon.Encode(decoded), rapid.Bool().Draw(t, "all"))
	})
}

// isTaken takes what is live, and tells whether the loader takes that.
func isTaken(t rapid.TB, cdn *kind.Kind, live []byte, all bool) bool {
	taken, _ := plan.ManageableSpec(cdn, nil, live, all)
	if !plan.NeedsNoRequest(cdn, nil, ledger.Record{}, taken, kind.LiveObject{Spec: live}) {
		t.Fatalf("%s does not cover %s", taken, live)
	}
	text, err := yamledit.WriteManifest(yamledit.Draft{Kind: cdn, Name: "shop", Spec: taken, Silence: "live has it"})
	if err != nil {
		t.Fatal(err)
	}
	set, findings, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: text, Display: "-"}}, manifest.LoadSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if findings.HasErrors() {
		return false
	}
	for _, f := range findings {
		if f.Rule == "unknown-field" || f.Rule == "unknown-value" || f.Rule == "ignore-odd" {
			t.Errorf("%s\ngives %v", text, f)
		}
	}
	after := applied(cdn, taken, live)
	_, kept := plan.ManageableSpec(cdn, nil, after, false)
	_, left := plan.ManageableSpec(cdn, nil, live, false)
	for _, field := range left {
		if !slices.Contains(kept, field) {
			t.Fatalf("with\n%s in git a change of every list makes\n%s of\n%s", taken, after, live)
		}
	}
	o := set.Find(kind.Key{Kind: cdn.Name, Name: "shop"})
	if o == nil || !bytes.Equal(o.Spec, taken) {
		t.Fatalf("%s\nis not read as %s", text, taken)
	}
	if laid, err := yamledit.Format(text); err != nil || !bytes.Equal(laid, text) {
		t.Fatalf("%s\nis laid out as %s, %v", text, laid, err)
	}
	return true
}

// applied is what is live after a change in every list of a spec in git.
func applied(k *kind.Kind, git, live []byte) []byte {
	rules, changed := plan.RulesFor(k, nil), canon.MustDecode(git)
	touch(changed)
	patch := merge.Compare(merge.Input{
		Rules: rules, Applied: canon.MustDecode(git), Desired: changed, Live: canon.MustDecode(live),
	}).Patch
	return canon.Encode(effect.ApplyPatch(patch, canon.MustDecode(live)))
}

// touch changes the elements of every list, and not what they are known by.
func touch(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			touch(e)
		}
	case []any:
		for _, e := range v {
			touch(e)
			if element, ok := e.(map[string]any); ok {
				element["weight"] = "77"
			}
		}
	}
}

// liveObject generates what may be live at a field: mostly of its type.
func liveObject(f *kind.Field, depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		out := map[string]any{}
		if f != nil {
			for _, name := range f.Names {
				if rapid.IntRange(0, 2).Draw(t, "has") > 0 && depth > 0 {
					out[name] = liveValue(f.Fields[name], depth-1).Draw(t, name)
				}
			}
		}
		for range rapid.IntRange(0, 1).Draw(t, "more") {
			out[rapid.SampledFrom([]string{"extra", "Path", "a b", "hostHeader", "é", "on"}).Draw(t, "name")] = liveValue(nil, depth-1).Draw(t, "unknown")
		}
		return out
	})
}

func liveValue(f *kind.Field, depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		typ := kind.AnyType
		if f != nil {
			typ = f.Type
		}
		odd := rapid.IntRange(0, 30).Draw(t, "odd") == 0
		switch {
		case odd || typ == kind.AnyType:
			return liveAny(depth).Draw(t, "any")
		case typ == kind.ObjectType:
			return liveObject(f, depth).Draw(t, "object")
		case typ == kind.ListType:
			list := []any{}
			for range rapid.IntRange(0, 2).Draw(t, "elements") {
				list = append(list, liveValue(f.Item, depth).Draw(t, "element"))
			}
			return list
		case len(f.Seen) > 0 && rapid.Bool().Draw(t, "seen"):
			return rapid.SampledFrom(f.Seen).Draw(t, "value")
		case typ == kind.Bool:
			return rapid.Bool().Draw(t, "flag")
		case typ == kind.Number:
			return json.Number(rapid.SampledFrom([]string{"0", "60", "1.5", "1e3"}).Draw(t, "number"))
		}
		return liveScalars().Draw(t, "text")
	})
}

func liveAny(depth int) *rapid.Generator[any] {
	if depth <= 0 {
		return liveScalars()
	}
	return rapid.OneOf(liveScalars(), liveObject(nil, depth), rapid.Map(rapid.SliceOfN(liveScalars(), 0, 2), func(v []any) any { return v }))
}

func liveScalars() *rapid.Generator[any] {
	return rapid.SampledFrom([]any{
		"", "true", "no", "0600", "443", "1e3", "~", "null", "- a", "a: b", "# c", "a # trueup:ignore x y", "*", "/*", "&a", "!x", "'", `"`, "a\nb", "a\n", "\n",
		" a ", "é", "=", "<<", "---", "{}", "[]", "%", "@", "`", "?", "|", ">", "a\\b", "::error::", "2026-11-22", "\u00a0", "x\ty",
		true, false, nil, json.Number("443"), json.Number("0"), json.Number("-1.5"),
	})
}
