package served

import (
	"fmt"
	"strings"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
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
	a := cdn(t, "a", "a.example", `{"locations":[{"path":"/*","headers":{"X":"1"}},{"path":"/same"}]}`)
	b := cdn(t, "a", "a.example", `{"locations":[{"path":"/*","headers":{"X":"2"}},{"path":"/same"}],"tls":{"enabled":"true"}}`)
	sides := []Side{{Git, NewCatalog(a, nil)}, {Live, NewCatalog(b)}, {Base, NewCatalog()}}
	u, err := ParseURL("https://a.example/x")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Ask(sides, []URL{u})
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
