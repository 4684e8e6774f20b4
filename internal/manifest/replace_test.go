package manifest

import (
	"context"
	"strings"
	"testing"

	"trueup/internal/kind"
)

func TestReplaceInKeepsWhatIsAround(t *testing.T) {
	const doc = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: NAME}\nspec: {hostname: NAME.example.com}\n"
	named := func(name string) string { return strings.ReplaceAll(doc, "NAME", name) }
	brackets := `{apiVersion: delivery/v2.1, kind: CDN, metadata: {name: b}, spec: {hostname: b.example.com}}` + "\n"
	k, _ := kind.Named("cdn")
	text, err := Write(Draft{Kind: k, Name: "b", Spec: []byte(`{"hostname":"new.example.com"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ file, want string }{
		"alone":            {"# head\n" + named("b") + "# foot\n", string(text)},
		"first":            {named("b") + "---\n# c\n" + named("c"), string(text) + "---\n# c\n" + named("c")},
		"between":          {named("a") + "--- # one\n\n" + named("b") + "...\n---\n" + named("c"), named("a") + "--- # one\n" + string(text) + "...\n---\n" + named("c")},
		"last":             {"\ufeff" + named("a") + "---\n" + named("b"), "\ufeff" + named("a") + "---\n" + string(text)},
		"behind hyphens":   {named("a") + "--- " + brackets + "---\n" + named("c"), named("a") + "---\n" + string(text) + "---\n" + named("c")},
		"with CRLF around": {strings.ReplaceAll(named("a")+"---\n", "\n", "\r\n") + named("b"), strings.ReplaceAll(named("a")+"---\n", "\n", "\r\n") + strings.ReplaceAll(string(text), "\n", "\r\n")},
		"without an end":   {named("a") + "---\n" + strings.TrimSuffix(named("b"), "\n"), named("a") + "---\n" + string(text)},
	} {
		set, findings, err := Load(context.Background(), []Source{{Data: []byte(tt.file), Display: "-"}}, Options{})
		if err != nil || findings.HasErrors() {
			t.Fatalf("%s: %v, %v", name, err, findings)
		}
		o := set.Find(kind.Key{Kind: "CDN", Name: "b"})
		if got := string(o.ReplaceIn([]byte(tt.file), text)); got != tt.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, tt.want)
		}
	}
}
