package merge

import (
	"slices"
	"testing"
)

// TestARenamedElementKeepsWhatGitDoesNotMention has what is a rename, in git and outside it, and what is not.
func TestARenamedElementKeepsWhatGitDoesNotMention(t *testing.T) {
	rules := &Rules{Fields: map[string]*Rules{"l": {Key: []string{"host", "path"}, Item: &Rules{}}, "n": {Key: []string{"name"}, Set: true, Item: &Rules{Fields: map[string]*Rules{"name": {Ignore: true}}}}}}
	for name, c := range map[string]struct{ applied, desired, live, patch, changed string }{
		"in git": {
			`{"l":[{"host":"a","path":"/"}]}`, `{"l":[{"host":"b","path":"/"}]}`, `{"l":[{"host":"a","path":"/","x":"1"}]}`,
			`{"l":[{"host":"b","path":"/","x":"1"}]}`, "change l[/].host",
		},
		"outside git": {
			`{"l":[{"host":"a","path":"/"}]}`, `{"l":[{"host":"a","path":"/"}]}`, `{"l":[{"host":"b","path":"/","x":"1"}]}`,
			`{"l":[{"host":"a","path":"/","x":"1"}]}`, "drift-overwritten l[/].host",
		},
		"in git and outside it": {
			`{"l":[{"host":"a","path":"/"}]}`, `{"l":[{"host":"b","path":"/"}]}`, `{"l":[{"host":"c","path":"/","x":"1"}]}`,
			`{"l":[{"host":"b","path":"/"}]}`, "change l[b/] drift-overwritten l[c/]",
		},
		"one of two": {
			`{"l":[{"host":"a","path":"/"}]}`, `{"l":[{"host":"b","path":"/"},{"host":"c","path":"/"}]}`, `{"l":[{"host":"a","path":"/","x":"1"}]}`,
			`{"l":[{"host":"b","path":"/"},{"host":"c","path":"/"}]}`, "removed l[a/] change l[b/] change l[c/]",
		},
		"at another place": {
			`{"l":[{"host":"a","path":"/"},{"host":"o","path":"/x"}]}`, `{"l":[{"host":"o","path":"/x"},{"host":"b","path":"/"}]}`, `{"l":[{"host":"a","path":"/","x":"1"},{"host":"o","path":"/x"}]}`,
			`{"l":[{"host":"o","path":"/x"},{"host":"b","path":"/","x":"1"}]}`, "change l[/].host change l[/x]",
		},
		"a key that an override ignores": {
			`{"n":[{"name":"a","v":1}]}`, `{"n":[{"name":"b","v":1}]}`, `{"n":[{"name":"a","v":1,"x":"1"}]}`, `{"n":[{"name":"b","v":1}]}`, "removed n[a] change n[b]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			res := Compare(Input{Rules: rules, Applied: decode(t, c.applied), Desired: decode(t, c.desired), Live: decode(t, c.live)})
			wantPatch(t, res, c.patch)
			var changed []byte
			for _, ch := range res.Changes {
				changed = append(append(changed, ' '), string(ch.Class)+" "+ch.Path...)
			}
			if got := string(changed[1:]); got != c.changed {
				t.Errorf("got %s, want %s", got, c.changed)
			}
		})
	}
}

// TestHistoryKnowsWhichNameWasApplied: an element of git's past has another name only if the last-applied one has too.
func TestHistoryKnowsWhichNameWasApplied(t *testing.T) {
	rules := &Rules{Fields: map[string]*Rules{"l": {Key: []string{"path"}, Item: &Rules{}}}}
	was := decode(t, `{"l":[{"path":"/a","u":"o","v":"1","ttl":"60"}]}`)
	now := decode(t, `{"l":[{"path":"/b","u":"o","v":"1","ttl":"60"}]}`)
	for applied, touched := range map[string]bool{
		`{"l":[{"path":"/a","u":"o","v":"1","ttl":"120"}]}`: false,
		`{"l":[{"path":"/b","u":"o","v":"1","ttl":"120"}]}`: true,
	} {
		res := Compare(Input{Rules: rules, Applied: decode(t, applied), Desired: now, Live: decode(t, applied)})
		i := slices.IndexFunc(res.Changes, func(c Difference) bool { return c.Path == "l[/b].ttl" })
		if i < 0 {
			t.Fatalf("applied %s: no change of l[/b].ttl in %v", applied, res.Changes)
		}
		if got := NewManifestDiff(rules, was, now).TouchedByGit(res.Changes[i]); got != touched {
			t.Errorf("applied %s: touched %v, want %v", applied, got, touched)
		}
	}
}
