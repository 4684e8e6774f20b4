package ledger

import (
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
		v, err := open(t, cfg).View(t.Context(), []kind.Key{purgeKey})
		if err != nil || v.Elsewhere != c.elsewhere {
			t.Errorf("%s: elsewhere %t, %v", name, v.Elsewhere, err)
		}
	}
}
