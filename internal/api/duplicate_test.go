package api_test

import (
	"regexp"
	"strings"
	"testing"

	"trueup/internal/api"
)

func purgeNamed(name, spec string) string {
	return `{"apiVersion":"delivery/v2.1","kind":"Purge","metadata":{"name":"` + name +
		`","creationTimestamp":"2026-11-21T09:00:00Z"},"spec":` + spec + `}`
}

func TestWhichAnswersMeanADuplicate(t *testing.T) {
	plain := api.DuplicateAnswer{}
	set := api.DuplicateAnswer{Status: []int{400, 422}, Body: regexp.MustCompile("already exists")}
	worded := api.DuplicateAnswer{Body: regexp.MustCompile("already exists")}
	for name, tc := range map[string]struct {
		with   api.DuplicateAnswer
		kind   string
		status int
		body   string
		want   api.ErrorClass
	}{
		"a 409 with any body":             {plain, "Purge", 409, "<html>", api.Unknown},
		"a 409 without a body":            {plain, "Purge", 409, "", api.Unknown},
		"a 409 with the reason":           {plain, "Purge", 409, `{"reason":"AlreadyExists"}`, api.Taken},
		"a 409 with another reason":       {plain, "Purge", 409, `{"reason":"Conflict","message":"x already exists"}`, api.Contended},
		"a 409 with the words":            {plain, "Purge", 409, `{"message":"x already exists"}`, api.Taken},
		"another status":                  {plain, "Purge", 422, `{"message":"already exists"}`, api.Rejected},
		"one that is set":                 {set, "Purge", 422, `{"message":"x already exists"}`, api.Taken},
		"one that is set, in plain text":  {set, "Purge", 400, `x already exists`, api.Taken},
		"one that is set, escaped":        {set, "Purge", 400, `{"message":"x \u0061lready exists"}`, api.Taken},
		"one that is set, of other words": {set, "Purge", 422, `{"message":"spec.paths is empty"}`, api.Rejected},
		"a 409 that is not set":           {set, "Purge", 409, `{"message":"x already exists"}`, api.Taken},
		"a 409 of other words":            {worded, "Purge", 409, `{"message":"the workspace is locked"}`, api.Unknown},
		"a 409 of the words":              {worded, "Purge", 409, `{"message":"it already exists"}`, api.Taken},
		"a conflict, whatever is set":     {api.DuplicateAnswer{Status: []int{409}}, "Purge", 409, `{"reason":"Conflict"}`, api.Contended},
		"an echo of what was sent":        {plain, "Purge", 409, `{"kind":"Purge","metadata":{"name":"shop"},"spec":{}}`, api.Unknown},
		"no answer":                       {set, "Purge", 503, `already exists`, api.Unknown},
		"a snapshot":                      {set, "VolumeSnapshot", 409, `{"reason":"AlreadyExists"}`, api.Taken},
		"a snapshot and what is set":      {set, "VolumeSnapshot", 422, `{"message":"already exists"}`, api.Rejected},
	} {
		c := serve(t, say(tc.status, "", tc.body), func(cfg *api.ClientConfig) { cfg.Duplicate = tc.with })
		_, err := c.Create(t.Context(), named(t, tc.kind), []byte(anyBody))
		if e := asError(t, err); e.Class != tc.want {
			t.Errorf("%s: %s, want %s", name, e.Class, tc.want)
		}
	}
	c := serve(t, say(422, "", `{"message":"already exists"}`), func(cfg *api.ClientConfig) { cfg.Duplicate = set })
	_, err := c.Patch(t.Context(), named(t, "CDN"), "shop", []byte(`{}`))
	if e := asError(t, err); e.Class != api.Rejected {
		t.Errorf("a patch: %s", e.Class)
	}
}

func TestExisting(t *testing.T) {
	const spec = `{"hostname":"a.example","paths":["/"]}`
	stored := purgeNamed("rel", spec)
	long := purgeNamed("rel", `{"paths":["/`+strings.Repeat("a", 200_000)+`"]}`)
	for name, tc := range map[string]struct {
		status int
		body   string
		want   bool
	}{
		"the object":            {409, stored, true},
		"a long object":         {409, long, true},
		"a member":              {409, `{"code":409,"message":"exists","object":` + stored + `}`, true},
		"its status is its own": {409, strings.Replace(stored, `"spec"`, `"status":{"phase":"Executed"},"spec"`, 1), true},
		"a Status": {409, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"AlreadyExists",` +
			`"message":"exists","details":{"name":"rel","kind":"Purge"},"code":409}`, false},
		"two members":       {409, `{"sent":` + stored + `,"object":` + stored + `}`, false},
		"another name":      {409, purgeNamed("other", spec), false},
		"another kind":      {409, strings.Replace(stored, "Purge", "CDN", 1), false},
		"another workspace": {409, strings.Replace(stored, `"name"`, `"namespace":"umbrella","name"`, 1), false},
		"no spec":           {409, `{"kind":"Purge","metadata":{"name":"rel"}}`, false},
		"a spec of text":    {409, purgeNamed("rel", `"/"`), false},
		"no kind":           {409, strings.Replace(stored, `"kind":"Purge",`, "", 1), false},
		"a list":            {409, `[` + stored + `]`, false},
		"cut":               {409, stored[:len(stored)-1], false},
		"nothing":           {409, "", false},
		"no conflict":       {422, stored, false},
	} {
		c := serve(t, say(tc.status, jsonType, tc.body))
		_, err := c.Create(t.Context(), named(t, "Purge"), []byte(`{"metadata":{"name":"rel"}}`))
		got := asError(t, err).Existing
		if ok := got != nil; ok != tc.want || ok && (got.Name != "rel" || got.CreationTimestamp == "" || len(got.Spec) == 0) {
			t.Errorf("%s: %+v, %t", name, got, ok)
		}
	}
}
