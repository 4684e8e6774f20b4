package manifest

import (
	"strings"
	"testing"
)

// TestUnreachableByPrecedence: only if the first location may win, the order of locations matters.
func TestUnreachableByPrecedence(t *testing.T) {
	const text = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec: {hostname: h.example.com, locations: [{path: /*}, {path: /a}]}\n"
	set, findings, err := Load(t.Context(), []PathSource{{Data: []byte(text)}}, LoadSettings{})
	if err != nil || len(findings) > 0 {
		t.Fatal(findings, err)
	}
	for precedence, want := range map[string]string{
		"":              "/* takes all requests of /a below it if the first match wins; the platform does not document which match wins",
		"first-in-list": "/* takes all requests of /a below it",
		"longest-path":  "", "longest-host": "",
	} {
		advice, _ := Advise(set.Objects[0], set.Objects[0].Tree(), LoadSettings{Precedence: precedence})
		var got []string
		for _, f := range advice {
			got = append(got, f.Message)
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%s: %q, want %q", precedence, text, want)
		}
	}
}
