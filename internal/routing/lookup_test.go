package routing_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/routing"
)

func cdnOf(t *testing.T, name, host, spec string) *routing.CDN {
	t.Helper()
	text, err := canon.Canonicalize([]byte(strings.Replace(spec, "{", `{"hostname":"`+host+`",`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return routing.NewCDN(kind.Key{Kind: "CDN", Name: name}, text)
}

func askAll(sides []routing.Side, urls ...string) (routing.RequestResult, error) {
	return routing.NewLookup(sides, routing.PrecedencesOf(""), diag.DidYouMean).AskAll(urls)
}

// TestDiffers: a property differs where its values do, and values that differ never look equal.
func TestDiffers(t *testing.T) {
	a := cdnOf(t, "a", "a.example", `{"locations":[{"path":"/*","headers":{"X":"1"},"imgsvc":"on"},{"path":"/same"}]}`)
	b := cdnOf(t, "a", "a.example", `{"locations":[{"path":"/*","headers":{"X":"2"},"imgsvc":{"enabled":true}},{"path":"/same"}],"tls":{"enabled":"true"}}`)
	sides := []routing.Side{{routing.Git, routing.NewSite(a, nil)}, {routing.Live, routing.NewSite(b)}}
	r, err := askAll(sides, "https://a.example/x")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	q := r.Requests[0]
	for _, l := range append(q.Site, q.Answers[0].Properties...) {
		got = append(got, fmt.Sprint(l.What, l.Values, l.Differs))
	}
	want := `served bymap[git:CDN/a live:CDN/a] false
TLSmap[git:not set live:on] true
locationmap[git:/* live:/*] false
image servicemap[git:on live:{"enabled":"true"}] true
headersmap[git:X: 1 live:X: 2] true`
	if is := strings.Join(got, "\n"); is != want {
		t.Errorf("%s\nwant\n%s", is, want)
	}
	if len(q.Answers) != 1 || !q.Differs {
		t.Errorf("%d answers, differs: %v", len(q.Answers), q.Differs)
	}
}

// TestEqualAnswersAreOne: rules that select locations which serve a request alike have one answer, which names both.
func TestEqualAnswersAreOne(t *testing.T) {
	c := cdnOf(t, "a", "a.example", `{"locations":[{"path":"/*","action":"x"},{"path":"/a*","action":"x"}]}`)
	r, err := askAll([]routing.Side{{routing.Git, routing.NewSite(c)}}, "https://a.example/ab")
	if err != nil {
		t.Fatal(err)
	}
	answers := r.Requests[0].Answers
	if len(answers) != 1 || len(answers[0].Rules) != 3 || answers[0].Properties[0].Values[routing.Git] != "/* or /a*" {
		t.Errorf("%+v", answers)
	}
}

// TestPlaces: the line of a location is that of its path and host, whatever apply makes of the list, and only git has
// places.
func TestPlaces(t *testing.T) {
	text := `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: a}
spec:
  hostname: a.example
  locations:
    - {path: /a}
    - {path: /b}
`
	set, _, err := manifest.Load(t.Context(), []manifest.PathSource{{Data: []byte(text), Display: "a.yaml"}}, manifest.LoadSettings{})
	if err != nil || len(set.Objects) != 1 {
		t.Fatal(set, err)
	}
	reread := func(locations string) []routing.Side {
		c := set.Objects[0].CDN()
		c.SetSpec([]byte(`{"hostname":"a.example",` + locations + `}`))
		return []routing.Side{{Name: routing.Git, Site: routing.NewSite(c)}, {Name: routing.Live, Site: routing.NewSite(set.Objects[0].CDN())}}
	}
	for path, want := range map[string]int{"/a": 7, "/b": 8, "/c": 6} {
		r, err := askAll(reread(`"locations":[{"path":"/b"},{"path":"/a"},{"path":"/c"}]`), "https://a.example"+path)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Requests[0].Sides[0].Matching[0].Line; got != want {
			t.Errorf("%s is at line %d, want %d", path, got, want)
		}
	}
	r, err := askAll(reread(`"locations":[]`), "https://a.example/a")
	if err != nil || r.Requests[0].Answers[0].Properties[0].Place != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestUnknownHosts: the nearest hostname is searched for the first unknown hosts alone, and once for each.
func TestUnknownHosts(t *testing.T) {
	site := routing.NewSite(cdnOf(t, "shop", "shop.example.com", `{"locations":[]}`))
	searches := 0
	unknown := routing.NewLookup([]routing.Side{{Name: routing.Git, Site: site}}, nil, func(word string, known []string) string {
		searches++
		return diag.DidYouMean(word, known)
	})
	for range 2 {
		for i := range 200 {
			if _, err := unknown.Find(routing.URL{Host: fmt.Sprintf("shpo%d.example.com", i)}); !strings.HasPrefix(fmt.Sprint(err), "no CDN in git has the host shpo") {
				t.Error(err)
			}
		}
	}
	if _, err := unknown.Find(routing.URL{Host: "shpo0.example.com"}); searches != 100 || !strings.Contains(fmt.Sprint(err), "did you mean shop.example.com") {
		t.Errorf("%d searches, and %v", searches, err)
	}
}

// TestUnfinishedSpecs: no spec that decodes is too odd to compare.
func TestUnfinishedSpecs(t *testing.T) {
	words := []any{nil, "", "*", "/*", "/a", "/A*", "/a*b", "*.x", "x", true, json.Number("5"), []any{}, []any{nil}, map[string]any{}}
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.SampledFrom(words)
		if depth == 0 {
			return leaf
		}
		object := rapid.MapOfN(rapid.SampledFrom([]string{
			"hostname", "locations", "upstreams", "tls", "path", "host", "upstream", "cache", "edgeTTL", "ttlTimeUnit", "name", "servers", "port", "weight", "firewall", "rules", "enabled",
		}), value(depth-1), 0, 5)
		return rapid.OneOf(leaf, rapid.Map(object, func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(l []any) any { return l }))
	}
	key := kind.Key{Kind: "CDN", Name: "a"}
	rapid.Check(t, func(t *rapid.T) {
		spec := func(name string) *routing.CDN {
			fields, _ := value(4).Draw(t, name).(map[string]any)
			routing.FindHidden(fields)
			return routing.NewCDN(key, canon.Encode(fields))
		}
		was, is := spec("before"), spec("after")
		r := routing.Compare([]routing.CDNChange{{Before: was, After: is}}, routing.NewSite(spec("other")), routing.PrecedencesOf(""))
		for _, l := range r.Lines {
			if l.String() == "" || strings.Contains(l.String(), "%!") {
				t.Errorf("%+v", l)
			}
		}
		if same := routing.Compare([]routing.CDNChange{{Before: was, After: was}}, nil, routing.PrecedencesOf("")); len(same.Lines) > 0 {
			t.Errorf("nothing changes, and lines say %s", same.Lines[0])
		}
	})
}

// TestLocationOfAnotherCDN: an answer of another CDN than the host's has the place, the TLS and the name of that one.
func TestLocationOfAnotherCDN(t *testing.T) {
	docs := cdnOf(t, "docs", "docs.example.com", `{"locations":[{"path":"/*"}],"tls":{"forced":"true"}}`)
	b := cdnOf(t, "b", "b.example.com", `{"locations":[{"path":"/b"},{"path":"/x","host":"docs.example.com"},{"path":"/y*z","host":"docs.example.com"}],"tls":{"forced":"false"}}`)
	docs.Path, docs.Lines = "docs.yaml", func() []int { return []int{5} }
	b.Path, b.Lines = "b.yaml", func() []int { return []int{6, 7, 8} }
	r, err := askAll([]routing.Side{{routing.Git, routing.NewSite(docs, b)}}, "https://docs.example.com/x", "https://docs.example.com/yz")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range r.Requests[0].Answers {
		for _, p := range a.Properties {
			got = append(got, fmt.Sprint(p.What, " ", p.Values[routing.Git], " ", p.Place))
		}
	}
	want := "location /* docs.yaml:5\nlocation /x of docs.example.com in CDN/b b.yaml:7\nTLS forced: false "
	if is := strings.Join(got, "\n"); is != want {
		t.Errorf("%s\nwant\n%s", is, want)
	}
	if m := r.Requests[1].Sides[0].Unclear; len(m) != 1 || m[0].Place() != "b.yaml:8" {
		t.Errorf("%+v", m)
	}
}
