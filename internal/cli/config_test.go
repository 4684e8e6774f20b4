package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"trueup/internal/command"
	"trueup/internal/config"
	"trueup/internal/kind"
	"trueup/schemas"
)

const configHead = "apiVersion: trueup/v1\nkind: Config\n"

func publishedSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	for _, name := range []string{name, "result.schema.json", "plan.schema.json"} { // which it may refer to
		text, err := schemas.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("mem:///"+name, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	return c.MustCompile("mem:///" + name)
}

// TestNoTokenIsGivenElsewhere: an endpoint of the real platform gives its
// token only for the workspace that the environment allows and the ledger was made for.
// Where it gives none, it does not ask for one either.
func TestNoTokenIsGivenElsewhere(t *testing.T) {
	s := newStage(t)
	text, err := os.ReadFile(filepath.Join(s.dir, config.ProjectFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ vars, says string }{
		{"", ""},
		{"TRUEUP_WORKSPACE=" + workspace.UUID, ""},
		{"TRUEUP_WORKSPACE=other", "TRUEUP_WORKSPACE allows only other"},
		{"TRUEUP_LEDGER=file:none", "there is no ledger at file:none|is missing at file:none"},
		{"TRUEUP_LEDGER=s4://x", "is not of the form"},
		{"TRUEUP_DELIVERY_URL=https://else.example.com", "was made for the delivery area at http://127.0.0.1"},
	} {
		a := command.NewRun(s.env(io.Discard, io.Discard))
		usual := a.Getenv
		reads := 0 // of the token
		a.Getenv = func(name string) string {
			key, value, _ := strings.Cut(c.vars, "=")
			switch name {
			case key:
				return value
			case "TRUEUP_DELIVERY_TOKEN":
				reads++
				return canary
			}
			return usual(name)
		}
		p, err := config.ParseProject(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Dir = s.dir
		set, err := a.ResolveSettings(p)
		if err != nil {
			t.Fatal(err)
		}
		w, _ := a.RealPlatform(set, p)
		reads = 0
		token, err := w.API.Endpoints[kind.Delivery].Ask(t.Context())
		w.Close()
		given, asked := !token.IsZero(), reads > 0
		if given != (c.says == "") || asked != given || !given && !regexp.MustCompile(c.says).MatchString(err.Error()) {
			t.Errorf("%s: given %t, asked for %t, %v", c.vars, given, asked, err)
		}
	}
}
