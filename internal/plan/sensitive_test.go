package plan

import (
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

const secret = "hunter2"

// guarded is a schema with secrets in an object, in elements of a list and at the
// end of a field whose name has signs in it.
func guarded() *kind.Field {
	hidden, open := &kind.Field{}, &kind.Field{}
	hidden.Sensitive = true
	return &kind.Field{Fields: map[string]*kind.Field{
		"token": hidden, "name": open, "a.b": hidden,
		"login": {Fields: map[string]*kind.Field{"user": open, "password": hidden}},
		"list":  {Item: &kind.Field{Fields: map[string]*kind.Field{"path": open, "key": hidden}}},
	}}
}

// TestNoSecretIsShown: wherever a sensitive value stands in an item, a digest
// stands for it, and what is not sensitive is as it was.
func TestNoSecretIsShown(t *testing.T) {
	c := kind.Redactor{Spec: guarded(), Salt: "workspace/CDN/a"}
	value := func(text string) any { return canon.MustDecode([]byte(text)) }
	item := Item{
		Changes: []Change{
			{Difference: merge.Difference{Path: "token", Base: secret, Live: secret, Desired: secret + "2"}},
			{Difference: merge.Difference{Path: "login", Desired: value(`{"password":"hunter2","user":"me"}`)}},
			{Difference: merge.Difference{Path: "list[/a]b].key", Live: secret}},
			{Difference: merge.Difference{Path: `["a.b"]`, Live: secret}},
			{Difference: merge.Difference{Path: "token.below", Live: value(`[{"x":"hunter2"}]`)}},
			{Difference: merge.Difference{Path: "name", Live: "me", Desired: nil}},
		},
		Notes:        []Change{{Difference: merge.Difference{Path: "list[x].key", Desired: secret}}},
		Preserved:    []merge.PathValue{{Path: "list[x]", Value: value(`{"key":"hunter2","path":"/x"}`)}},
		Collateral:   []merge.PathValue{{Path: "login.password", Value: secret}},
		FirstContact: []merge.PathValue{{Path: "list[x].key", Value: secret}},
		Request:      &Request{Body: []byte(`{"metadata":{"name":"a"},"spec":{"list":[{"key":"hunter2","path":"/x"}],"login":{"user":"me"},"token":"hunter2"}}`)},
	}
	before := mustEncode(item)
	shown := item
	redactItem(&shown, c)
	text := mustEncode(shown)
	if strings.Contains(text, secret) || mustEncode(item) != before {
		t.Errorf("%s", text)
	}
	for _, open := range []string{`"user":"me"`, `"path":"/x"`, `"name":"a"`, `"live":"me"`} {
		if !strings.Contains(text, open) {
			t.Errorf("%s is hidden too: %s", open, text)
		}
	}
	first := shown.Changes[0]
	if first.Base != first.Live || first.Live == first.Desired {
		t.Errorf("equal values are to be seen as equal, and others as others: %+v", first)
	}
	other := kind.Redactor{Spec: guarded(), Salt: "workspace/CDN/b"}
	if other.RedactAt("token", secret) == first.Live || c.RedactAt("login.password", secret) == first.Live {
		t.Error("equal values of other places can be told to be equal")
	}
	if c.RedactAt("token", nil) != nil {
		t.Error("nothing has a digest")
	}
}

// TestNoKindHasSecretsToday: as long as no schema marks a field, nothing is hidden
// and nothing is copied.
func TestNoKindHasSecretsToday(t *testing.T) {
	p := &Plan{Items: []Item{{Key: kind.Key{Kind: kind.AllKinds()[0].Name}}}}
	for _, k := range kind.AllKinds() {
		if k.Spec().HidesValue() {
			t.Skipf("a field of %s is marked as sensitive now", k.Name)
		}
	}
	if Redact(p) != p || kind.NewRedactor(kind.Workspace{}, p.Items[0].Key).RedactAt("x", secret) != secret || !guarded().HidesValue() || kind.NewRedactor(kind.Workspace{}, kind.Key{Kind: "other"}).Spec != nil {
		t.Error("something is hidden")
	}
}
