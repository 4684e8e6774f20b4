package ledger

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"trueup/internal/kind"
)

// TestElsewhere: only a ledger of another workspace or platform says that the
// run may be pointed at the wrong one.
func TestElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*Config)
		elsewhere bool
	}{
		"ours":            {func(*Config) {}, false},
		"missing":         {func(c *Config) { c.Store = "file:other" }, false},
		"other id":        {func(c *Config) { c.ID = "else" }, false},
		"other workspace": {func(c *Config) { c.Workspace.UUID = "w2" }, true},
		"other address":   {func(c *Config) { c.Origins[kind.Delivery] = "https://test.example.com/delivery/v2.1" }, true},
	} {
		cfg := made(t)
		c.change(&cfg)
		v, err := open(t, cfg).ReadView(t.Context(), []kind.Key{purgeKey})
		if err != nil || v.Elsewhere != c.elsewhere {
			t.Errorf("%s: elsewhere %t, %v", name, v.Elsewhere, err)
		}
	}
}

// TestAdmit: a token goes where the ledger was made for. Where that is not known it
// goes nowhere, unless the user named the workspace.
func TestAdmit(t *testing.T) {
	elsewhere := "https://else.example.com/delivery/v2.1"
	damaged := func(c *Config) {
		must(t, os.WriteFile(genesisOf(*c), []byte("{"), 0o600))
	}
	for name, c := range map[string]struct {
		change func(*Config)
		// says is why none goes, "" where one does; pinned is the same where the
		// environment names the workspace.
		says, pinned string
	}{
		"ours":            {func(*Config) {}, "", ""},
		"no ledger":       {func(c *Config) { c.Store = "" }, "", ""},
		"other address":   {func(c *Config) { c.Origins[kind.Delivery] = elsewhere }, "the configured address is " + elsewhere, "the configured address"},
		"other area":      {func(c *Config) { c.Origins[kind.Compute] = elsewhere }, "", ""},
		"no address":      {func(c *Config) { delete(c.Origins, kind.Delivery) }, "", ""},
		"other workspace": {func(c *Config) { c.Workspace.UUID = "w2" }, "trueup.yaml names acme (w2)", "trueup.yaml names acme (w2)"},
		"other name":      {func(c *Config) { c.Workspace.Name = "else" }, "trueup.yaml names else (", "trueup.yaml names else ("},
		"another id":      {func(c *Config) { c.ID = "else" }, "", ""},
		"another id and address": {
			func(c *Config) { c.ID, c.Origins[kind.Delivery] = "else", elsewhere }, "the configured address", "the configured address",
		},
		"no id and another workspace":     {func(c *Config) { c.ID, c.Workspace.UUID = "", "w2" }, "names acme (w2)", "names acme (w2)"},
		"none yet":                        {func(c *Config) { c.Store, c.ID = "file:other", "" }, "", ""},
		"none yet, and it is to be there": {func(c *Config) { c.Store, c.ID, c.StoreFromEnv = "file:other", "", true }, "there is no ledger at file:other", ""},
		"missing":                         {func(c *Config) { c.Store = "file:other" }, "folder on another machine, or was removed here: file:other", ""},
		"damaged":                         {damaged, "damaged", ""},
		"refused in CI":                   {func(c *Config) { c.LosesDisk = true }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := made(t)
			c.change(&cfg)
			for pinned, says := range map[bool]string{false: c.says, true: c.pinned} {
				cfg.WorkspaceFromEnv = pinned
				err := open(t, cfg).AdmitArea(t.Context(), kind.Delivery)
				if says == "" && err != nil || says != "" && (ProblemOf(err) == nil || !strings.Contains(err.Error(), says)) {
					t.Errorf("pinned %t: %v, want %q", pinned, err, says)
				}
			}
		})
	}
}

// TestAdmitAreaOfLater: an area that the ledger does not know is elsewhere, until
// Init took its address in; a ledger without any address bound nothing.
func TestAdmitAreaOfLater(t *testing.T) {
	cfg := testConfig(t.TempDir())
	compute := cfg.Origins[kind.Compute]
	delete(cfg.Origins, kind.Compute)
	g, err := CreateLedger(t.Context(), cfg)
	must(t, err)
	cfg.ID, cfg.Origins[kind.Compute] = g.LedgerID, compute
	if err := open(t, cfg).AdmitArea(t.Context(), kind.Compute); ProblemOf(err) == nil {
		t.Errorf("admitted: %v", err)
	}
	_, err = CreateLedger(t.Context(), cfg)
	must(t, err)
	must(t, open(t, cfg).AdmitArea(t.Context(), kind.Compute))

	none := testConfig(t.TempDir())
	origins := none.Origins
	none.Origins = nil
	g, err = CreateLedger(t.Context(), none)
	must(t, err)
	none.ID, none.Origins = g.LedgerID, origins
	must(t, open(t, none).AdmitArea(t.Context(), kind.Compute))
}

// TestInitReplacesNothingByItself: neither an address nor the workspace's name, unless
// it gets an error.
func TestInitReplacesNothingByItself(t *testing.T) {
	for what, change := range map[string]func(*Config){
		"address of the delivery area https://api.example.com/delivery/v2.1 https://new.example.com": func(c *Config) {
			c.Origins[kind.Delivery] = "https://new.example.com"
		},
		"name of the workspace acme renamed": func(c *Config) { c.Workspace.Name = "renamed" },
	} {
		cfg := made(t)
		change(&cfg)
		refused := errors.New("no")
		for _, rebind := range []func(string, string, string) error{nil, func(string, string, string) error { return refused }} {
			cfg.Rebind = rebind
			if _, err := CreateLedger(t.Context(), cfg); err == nil || rebind != nil && !errors.Is(err, refused) {
				t.Errorf("%s: %v", what, err)
			}
			if err := open(t, cfg).AdmitArea(t.Context(), kind.Delivery); ProblemOf(err) == nil {
				t.Errorf("%s: it was replaced all the same: %v", what, err)
			}
		}
		var asked []string
		cfg.Rebind = func(what, from, to string) error {
			asked = append(asked, what+" "+from+" "+to)
			return nil
		}
		g, err := CreateLedger(t.Context(), cfg)
		must(t, err)
		if !slices.Equal(asked, []string{what}) || g.Seq != 2 {
			t.Errorf("asked %q, want %q; seq %d", asked, what, g.Seq)
		}
		must(t, open(t, cfg).AdmitArea(t.Context(), kind.Delivery))
	}
	// A ledger of before knows no name, which binds nothing until Init took it in.
	cfg := made(t)
	file := genesisOf(cfg)
	packed, err := os.ReadFile(file)
	must(t, err)
	text := unpacked(t, packed)
	old := regexp.MustCompile(`,?\s*"workspaceName": ?"acme"`).ReplaceAll(text, nil)
	if bytes.Equal(old, text) {
		t.Fatalf("there is no name in %s", text)
	}
	must(t, os.WriteFile(file, resealed(old), 0o600))
	must(t, open(t, cfg).AdmitArea(t.Context(), kind.Compute))
	_, err = CreateLedger(t.Context(), cfg)
	must(t, err)
	cfg.Workspace.Name = "other"
	if err := open(t, cfg).AdmitArea(t.Context(), kind.Compute); ProblemOf(err) == nil {
		t.Errorf("admitted: %v", err)
	}
}
