package served

import (
	"fmt"
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/route"
)

func cdn(t *testing.T, name, host, spec string) *CDN {
	t.Helper()
	text, err := canon.Canonical([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	return FromLive(kind.Object{Kind: kind.All()[0], Name: name, Host: host, Spec: text})
}

// TestDiffers: a property differs where its values do, and values that differ never look equal.
func TestDiffers(t *testing.T) {
	a := cdn(t, "a", "a.example", `{"locations":[{"path":"/*","headers":{"X":"1"},"imgsvc":"on"},{"path":"/same"}]}`)
	b := cdn(t, "a", "a.example", `{"locations":[{"path":"/*","headers":{"X":"2"},"imgsvc":{"enabled":true}},{"path":"/same"}],"tls":{"enabled":"true"}}`)
	sides := []Side{{Git, NewCatalog(a, nil)}, {Live, NewCatalog(b)}, {Base, NewCatalog()}}
	u, err := ParseURL("https://a.example/x")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Ask(sides, []URL{u}, route.Readings())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	q := r.Requests[0]
	for _, l := range append(q.Site, q.Answers[0].Lines...) {
		got = append(got, fmt.Sprint(l.What, l.Values, l.Differs))
	}
	want := `served bymap[base:no CDN git:CDN/a live:CDN/a] true
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

// TestListsOfURLs: every wrong line is named, up to ten.
func TestListsOfURLs(t *testing.T) {
	urls, err := ReadURLs("list", strings.NewReader("# a\n\nhttps://a.example/%61?b\nhttp://a.example\n"))
	if err != nil || len(urls) != 2 || urls[0].Path != "/a" || !urls[0].Rewritten || urls[0].From != "list:3" || !urls[1].Plain || urls[1].Rewritten {
		t.Errorf("%+v, %v", urls, err)
	}
	_, err = ReadURLs("list", strings.NewReader(strings.Repeat("/relative\n", 13)))
	if text := fmt.Sprint(err); !strings.HasPrefix(text, "list:1: ") || !strings.HasSuffix(text, "\nand 3 more") {
		t.Error(text)
	}
}

// TestEqualAnswersAreOne: rules that select locations which serve a request alike have one answer, which names both.
func TestEqualAnswersAreOne(t *testing.T) {
	c := cdn(t, "a", "a.example", `{"locations":[{"path":"/*","action":"x"},{"path":"/a*","action":"x"}]}`)
	u, _ := ParseURL("https://a.example/ab")
	r, err := Ask([]Side{{Git, NewCatalog(c)}}, []URL{u}, route.Readings())
	if err != nil {
		t.Fatal(err)
	}
	answers := r.Requests[0].Answers
	if len(answers) != 1 || len(answers[0].Rules) != 3 || answers[0].Lines[0].Values[Git] != "/* or /a*" {
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
	set, _, err := manifest.Load(t.Context(), []manifest.Source{{Data: []byte(text), Display: "a.yaml"}}, manifest.Options{})
	if err != nil || len(set.Objects) != 1 {
		t.Fatal(set, err)
	}
	c := FromManifest(set.Objects[0])
	c.Site = cdn(t, "a", "a.example", `{"locations":[{"path":"/b"},{"path":"/a"},{"path":"/c"}]}`).Site
	for path, want := range map[string]int{"/a": 7, "/b": 8, "/c": 6} {
		u, _ := ParseURL("https://a.example" + path)
		r, err := Ask([]Side{{Git, NewCatalog(c)}, {Base, NewCatalog(FromManifest(set.Objects[0]))}}, []URL{u}, route.Readings())
		if err != nil {
			t.Fatal(err)
		}
		q := r.Requests[0]
		if got := q.Sides[0].Matching[0].Line; got != want {
			t.Errorf("%s is at line %d, want %d", path, got, want)
		}
	}
	c.Site = cdn(t, "a", "a.example", `{}`).Site
	u, _ := ParseURL("https://a.example/a")
	r, err := Ask([]Side{{Git, NewCatalog(c)}, {Base, NewCatalog(FromManifest(set.Objects[0]))}}, []URL{u}, route.Readings())
	if err != nil || r.Requests[0].Answers[0].Lines[0].Place != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWhatIsBeingDeletedServesNothing(t *testing.T) {
	if c := FromLive(kind.Object{Kind: kind.All()[0], Host: "a.example", Terminating: true}); c != nil {
		t.Error(c)
	}
}
