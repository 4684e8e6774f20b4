package merge_test

import (
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/merge"
)

func TestTake(t *testing.T) {
	rules := &merge.Rules{Fields: map[string]*merge.Rules{
		"text": {Type: kind.Text}, "flag": {Type: kind.Bool}, "count": {Type: kind.Number},
		"id": {ReadOnly: true}, "seen": {Ignore: true},
		"servers": {Key: []string{"host", "port"}, Set: true, Item: &merge.Rules{Fields: map[string]*merge.Rules{
			"port": {Type: kind.Text}, "id": {ReadOnly: true},
		}}},
		"paths": {},
	}}
	for _, tt := range []struct{ live, want string }{
		{`{"text":true,"flag":"false","count":"60"}`, `{"count":60,"flag":false,"text":"true"}`},
		{`{"text":1e3,"count":"01","flag":"yes"}`, `{"count":"01","flag":"yes","text":"1000"}`},
		{`{"id":"7","seen":1,"other":null,"text":"x"}`, `{"text":"x"}`},
		{
			`{"servers":[{"host":"b","port":80},{"host":"a","port":443,"id":2},{"host":"a","port":"80"},null]}`,
			`{"servers":[{"host":"a","port":"443"},{"host":"a","port":"80"},{"host":"b","port":"80"}]}`,
		},
		{`{"paths":["/b",null,"/a"]}`, `{"paths":["/b","/a"]}`},
	} {
		live, err := canon.Decode([]byte(tt.live))
		if err != nil {
			t.Fatal(err)
		}
		before := string(canon.Encode(live))
		if got := string(canon.Encode(merge.NormalizeLive(rules, live))); got != tt.want {
			t.Errorf("Take(%s) is %s, want %s", tt.live, got, tt.want)
		}
		if after := string(canon.Encode(live)); after != before {
			t.Errorf("Take changed %s to %s", before, after)
		}
		if !merge.LiveCovers(rules, merge.NormalizeLive(rules, live), live) {
			t.Errorf("%s does not cover what was taken of it", tt.live)
		}
	}
}
