package manifest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"trueup/internal/diag"
	"trueup/internal/rules"
)

// heard is what a text gives: what is shown as RULE:LINE, and what is silenced
// as RULE:REASON.
func heard(t *testing.T, text string, opts LoadSettings) (shown, silenced []string) {
	t.Helper()
	set, found, err := Load(context.Background(), []PathSource{{Data: []byte(text)}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, CheckSet(set, opts)...)
	hidden := set.Silenced
	for _, o := range set.Objects {
		advice, more := Advise(o, o.Tree(), LoadSettings{})
		found, hidden = append(found, advice...), append(hidden, more...)
	}
	found.Sort()
	for _, f := range found {
		shown = append(shown, fmt.Sprintf("%s:%d", f.Rule, f.Line))
	}
	for _, f := range hidden {
		silenced = append(silenced, f.Rule+":"+f.Silenced)
	}
	return shown, silenced
}

func TestIgnore(t *testing.T) {
	const head = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec:\n  hostname: shop.example.com\n"
	for _, c := range []struct {
		name, text      string
		shown, silenced []string
	}{
		{
			"the index of the rules", "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\n" + silencing,
			nil,
			[]string{"location-unreachable:the platform takes the longest path", "tls-not-forced:old clients speak plain HTTP"},
		},
		{"no comment", head + "  upstreams: [{name: a}]\n  locations: []\n", []string{"upstream-unused:6"}, nil},
		{
			"behind, in the line", head + "  locations: []\n  upstreams:\n    - name: a # trueup:ignore upstream-unused the one\n    - name: b\n",
			[]string{"upstream-unused:9"},
			[]string{"upstream-unused:the one"},
		},
		{
			"above an element", head + "  locations: []\n  upstreams:\n    # trueup:ignore upstream-unused the one\n    - scheme: https\n      name: a\n    - name: b\n",
			[]string{"upstream-unused:11"},
			[]string{"upstream-unused:the one"},
		},
		{
			"above a field, of all in it", head + "  locations: []\n  # trueup:ignore upstream-unused all of them\n\n  # and a note\n  upstreams:\n    - name: a\n    - name: b\n",
			nil,
			[]string{"upstream-unused:all of them", "upstream-unused:all of them"},
		},
		{
			"at the head", "# a licence\n# trueup:ignore upstream-unused everywhere\n\n" + head + "  locations: []\n  upstreams: [{name: a}]\n",
			nil,
			[]string{"upstream-unused:everywhere"},
		},
		{
			"at the head, before the first line of a document", "# trueup:ignore upstream-unused everywhere\n---\n" + head + "  locations: []\n  upstreams: [{name: a}]\n",
			nil,
			[]string{"upstream-unused:everywhere"},
		},
		{
			"on the first line of a document", "--- # trueup:ignore upstream-unused everywhere\n" + head + "  locations: []\n  upstreams: [{name: a}]\n",
			nil,
			[]string{"upstream-unused:everywhere"},
		},
		{
			"behind the first field", strings.Replace(head, "v2.1\n", "v2.1 # trueup:ignore upstream-unused only here\n", 1) + "  locations: []\n  upstreams: [{name: a}]\n",
			[]string{"upstream-unused:7"},
			nil,
		},
		{
			"in one document of many",
			head + "  locations: []\n  upstreams: [{name: a}]\n---\n# trueup:ignore upstream-unused this one\n" + strings.NewReplacer("name: shop", "name: b", "shop.", "b.").Replace(head) + "  locations: []\n  upstreams: [{name: a}]\n",
			[]string{"upstream-unused:7"},
			[]string{"upstream-unused:this one"},
		},
		{
			"in flow style", head + "  locations: []\n  upstreams: [\n    {name: a}, # trueup:ignore upstream-unused the one\n    {name: b}]\n",
			[]string{"upstream-unused:9"},
			[]string{"upstream-unused:the one"},
		},
		{
			"two in a line", head + "  locations: []\n  upstreams:\n    - name: a # trueup:ignore upstream-unused why # trueup:ignore unknown-field because\n      remark: c\n",
			nil,
			[]string{"unknown-field:because", "upstream-unused:why"},
		},
		{
			"with the line ends of another system", strings.ReplaceAll(head+"  locations: []\n  upstreams:\n    # trueup:ignore upstream-unused why\n    - name: a\n", "\n", "\r\n"),
			nil,
			[]string{"upstream-unused:why"},
		},
		{
			"advice", head + "  tls: # trueup:ignore tls-not-forced: old clients \n    enabled: \"true\"\n",
			nil,
			[]string{"tls-not-forced:old clients"},
		},
		{
			"in texts", head + "  secureLink: {tokenName: \"# trueup:ignore schema x\", expireName: 'a # trueup:ignore x'} # trueup:ignore tls-not-forced y\n  locations:\n    - path: /a\n      headers:\n        a: |\n          # trueup:ignore tls-not-forced x\n        # trueup:ignore unknown-field z\n        b: x#trueup:ignore\n",
			nil,
			nil,
		},
		{
			"in a name and in prose", head + "  # trueup: keeps this true\n  # see trueup:ignore in the rules\n  locations: [] # a # trueup:note\n",
			[]string{"ignore-odd:8"},
			nil,
		},
		{"an unknown rule", head + "  tls: {} # trueup:ignore tls-not-force why\n", []string{"ignore-odd:6"}, nil},
		{"no rule", head + "  tls: {} # trueup:ignore\n", []string{"ignore-odd:6"}, nil},
		{"no reason", head + "  tls: {enabled: \"true\"} # trueup:ignore tls-not-forced\n", []string{"tls-not-forced:6", "ignore-odd:6"}, nil},
		{"an error", head + "  tls: {enabled: \"maybe\"} # trueup:ignore schema why\n", []string{"schema:6", "ignore-odd:6"}, nil},
		{"itself", head + "  tls: {} # trueup:ignore ignore-odd why\n", []string{"ignore-odd:6"}, nil},
		{"a rule of files", head + "  tls: {} # trueup:ignore file-name-case why\n", []string{"ignore-odd:6"}, nil},
		{"a slip", head + "  tls: {} # trueup: Ingore tls-not-forced why\n", []string{"ignore-odd:6"}, nil},
		{"at the end", head + "  tls: {}\n  # trueup:ignore tls-not-forced why\n", []string{"ignore-odd:7"}, nil},
		{"behind a bracket", head + "  tls: {\n    enabled: \"true\"\n  } # trueup:ignore tls-not-forced why\n", []string{"tls-not-forced:6", "ignore-odd:8"}, nil},
		{"of what only a plan tells", head + "  tls: {} # trueup:ignore purge-missing why\n", nil, nil},
		{"in what can't be read", "a: @b\n# trueup:ignore tls-not-forced why\n---\n" + head + "  tls: {enabled: \"true\"}\n", []string{"yaml-syntax:1", "tls-not-forced:9"}, nil},
		{"in a project", "# trueup:ignore nothing\napiVersion: trueup/v1\nkind: Project\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			shown, silenced := heard(t, c.text, LoadSettings{})
			if !slices.Equal(shown, c.shown) || !slices.Equal(silenced, c.silenced) {
				t.Errorf("shown %q, want %q; silenced %q, want %q", shown, c.shown, silenced, c.silenced)
			}
		})
	}
}

// TestIgnoreOfManyObjects: a comment silences a rule of all objects together in
// the one that it stands in, and is not called unused where there is nothing.
func TestIgnoreOfManyObjects(t *testing.T) {
	comment := "# trueup:ignore purge-limits-set posted long ago\n"
	both := manyPrefixes("rel-42", 0, 600) + "---\n" + comment + manyPrefixes("rel-43", 600, 1200)
	if shown, silenced := heard(t, both, LoadSettings{Strict: true}); len(shown) > 0 || len(silenced) != 1 {
		t.Errorf("%q, %q", shown, silenced)
	}
	if shown, _ := heard(t, comment+manyPrefixes("rel-43", 600, 1200), LoadSettings{}); len(shown) > 0 {
		t.Errorf("%q", shown)
	}
}

// TestIgnoreSaysWhatToWrite: what is odd has a fix, and near names are offered.
func TestIgnoreSaysWhatToWrite(t *testing.T) {
	for comment, want := range map[string]string{
		"trueup:ignore upstream-unsued why": "did you mean upstream-unused?",
		"trueup:ignore schema why":          "fix what it finds",
		"trueup:ignore tls-not-forced":      "say why: # trueup:ignore tls-not-forced REASON",
		"trueup:ingore tls-not-forced why":  "write # trueup:ignore RULE REASON",
	} {
		found := findingsOf(t, cdnStart+"  tls: {} # "+comment+"\n", LoadSettings{})
		if len(found) != 1 || !strings.Contains(found[0].Fix, want) || found[0].Severity != diag.Warning || found[0].Column != 11 {
			t.Errorf("%s: %v %s", comment, found, found[0].Fix)
		}
	}
}

// TestManyMarks: comments cost as much as other text, and no more than so many
// are read.
func TestManyMarks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: large, and slow with the race detector")
	}
	text := cdnStart + "  locations:\n" + strings.Repeat("  - path: /a\n    headers: {a: \"# trueup:ignore x\", b: \"\\x23trueup:ignore\"} # trueup:ignore unknown-field why\n", 10_000)
	set, found, err := Load(context.Background(), []PathSource{{FS: fstest.MapFS{"a.yaml": {Data: []byte(text)}}, Path: "a.yaml"}}, LoadSettings{})
	if err != nil || len(set.Objects) != 1 {
		t.Fatal(err, found)
	}
	if !slices.ContainsFunc(found, func(f diag.Finding) bool { return f.Rule == rules.IgnoreOdd && f.Line == 1 }) {
		t.Errorf("%v", found[0])
	}
}
