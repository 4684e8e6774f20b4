package plan_test

import (
	"slices"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
)

func TestTake(t *testing.T) {
	cdn, _ := kind.FindKind("cdn")
	overrides := []plan.Override{
		{Kind: "CDN", Path: "spec.upstreams.integrity", ReadOnly: true},
		{Kind: "CDN", Path: "spec.tls.auto", Ignore: true},
		{Kind: "CDN", Path: "spec.extra", Type: "text"},
	}
	for name, tt := range map[string]struct {
		live, want string
		all        bool
		left       []string
	}{
		"what the schema knows, in its types": {
			live: `{"hostname":"a","tls":{"forced":true,"auto":"true","of":"the server"},"extra":7}`,
			want: `{"hostname":"a","tls":{"forced":"true"}}`, left: []string{"extra", "tls.of"},
		},
		"everything": {
			live: `{"hostname":"a","tls":{"forced":true,"auto":"true","of":"the server"},"extra":7,"no":null}`,
			want: `{"extra":"7","hostname":"a","tls":{"forced":"true","of":"the server"}}`, all: true,
		},
		"elements keep what is documented": {
			live: `{"locations":[{"path":"/*","note":1,"headers":{"X-A":"b"},"cache":{"edgeTTL":60,"x":null}}],` +
				`"upstreams":[{"name":"b","integrity":"i"},{"name":"a","hostHeader":"h","servers":[{"host":"h","port":443,"passive":true}]}]}`,
			want: `{"locations":[{"cache":{"edgeTTL":"60"},"headers":{"X-A":"b"},"path":"/*"}],` +
				`"upstreams":[{"name":"a","servers":[{"host":"h","port":"443"}]},{"name":"b"}]}`,
			left: []string{"locations[].note", "upstreams[].hostHeader", "upstreams[].integrity", "upstreams[].servers[].passive"},
		},
		"the server's own stays out of everything": {
			live: `{"upstreams":[{"name":"a","integrity":"i"}]}`, want: `{"upstreams":[{"name":"a"}]}`, all: true,
		},
		"nothing is dropped where nothing is carried over": {
			live: `{"firewall":{"rules":[{"name":"r","priority":3,"action":{"type":"captcha","captcha":{"level":2},"other":1},` +
				`"constraints":[[{"type":"country","country":{"expected":["IR"],"x":1},"negate":true}]]}]}}`,
			want: `{"firewall":{"rules":[{"action":{"captcha":{"level":2},"type":"captcha"},` +
				`"constraints":[[{"country":{"expected":["IR"],"x":1},"negate":true,"type":"country"}]],"name":"r"}]}}`,
			left: []string{"firewall.rules[].action.other", "firewall.rules[].priority"},
		},
		"nor where elements can't be told apart": {
			live: `{"upstreams":[{"name":"a","new":1,"servers":[{"host":"h","port":80,"id":1},{"host":"h","port":"80","id":2}]}],` +
				`"locations":[{"path":"/*","note":1},{"path":"/*","note":2}]}`,
			want: `{"locations":[{"note":1,"path":"/*"},{"note":2,"path":"/*"}],` +
				`"upstreams":[{"name":"a","servers":[{"host":"h","id":1,"port":"80"},{"host":"h","id":2,"port":"80"}]}]}`,
			left: []string{"upstreams[].new"},
		},
		"what is not of the documented type": {
			live: `{"locations":{"a":1},"tls":"on","firewall":[{"x":1}]}`, want: `{"firewall":[{"x":1}],"locations":{"a":1},"tls":"on"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := canon.Decode([]byte(tt.live))
			if err != nil {
				t.Fatal(err)
			}
			live := canon.Encode(tree)
			got, left := plan.ManageableSpec(cdn, overrides, live, tt.all)
			if string(got) != tt.want || !slices.Equal(left, tt.left) {
				t.Errorf("Take gives %s and leaves %q, want\n%s and %q", got, left, tt.want, tt.left)
			}
			if !plan.NeedsNoRequest(cdn, overrides, ledger.Record{}, got, kind.LiveObject{Spec: live}) {
				t.Error("a plan of it would not be empty")
			}
		})
	}
}

func TestInOrder(t *testing.T) {
	cdn, _ := kind.FindKind("cdn")
	got := plan.SortSpecSets(cdn, nil, []byte(`{"locations":[{"path":"/b"},{"path":"/a"}],"upstreams":[{"name":"b","servers":null},{"name":"a"}]}`))
	if want := `{"locations":[{"path":"/b"},{"path":"/a"}],"upstreams":[{"name":"a"},{"name":"b","servers":null}]}`; string(got) != want {
		t.Errorf("in order it is %s", got)
	}
}
