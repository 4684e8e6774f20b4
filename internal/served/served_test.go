package served

import (
	"fmt"
	"slices"
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

// TestUnknownHosts: the nearest hostname is searched for the first unknown hosts alone, and once for each.
func TestUnknownHosts(t *testing.T) {
	sides, urls := strangers(2 * maxHints)
	unknown, hints := NewUnknown(sides...), 0
	for _, u := range slices.Concat(urls, urls) {
		if strings.Contains(unknown.Host(u.Host).Error(), "did you mean shop-") {
			hints++
		}
	}
	if hints != 2*maxHints || len(unknown.hints) != maxHints {
		t.Errorf("%d hints of %d searches, want %d of %d", hints, len(unknown.hints), 2*maxHints, maxHints)
	}
}

// BenchmarkUnknownHosts asks for as many unknown hosts as there are CDNs.
func BenchmarkUnknownHosts(b *testing.B) {
	for _, n := range []int{1250, 2500, 5000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			sides, urls := strangers(n)
			for b.Loop() {
				if _, err := Ask(sides, urls, route.Readings()); err == nil {
					b.Fatal("no error")
				}
			}
		})
	}
}

// strangers returns n CDNs, and URLs of n hosts that are like them.
func strangers(n int) ([]Side, []URL) {
	cdns, urls := make([]*CDN, n), make([]URL, n)
	for i := range n {
		cdns[i] = FromLive(kind.Object{Kind: kind.All()[0], Name: fmt.Sprint("shop-", i), Host: fmt.Sprintf("shop-%d.example.com", i), Spec: []byte("{}")})
		host := fmt.Sprintf("shpo-%d.example.com", i)
		urls[i] = URL{Text: "https://" + host + "/", Request: route.Request{Host: host, Path: "/"}}
	}
	return []Side{{Git, NewCatalog(cdns...)}}, urls
}
