package report

import (
	"strings"
	"testing"

	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/view"
)

// TestALostNullIsShown: a null that a list drops is a value like others.
func TestALostNullIsShown(t *testing.T) {
	item := changedItem()
	item.Collateral = []merge.PathValue{{Path: "locations[/api/*].note"}}
	pl := &plan.Plan{Items: []plan.Item{item}}
	for format, want := range map[string]string{"text": "not sent: locations[/api/*].note = null", "markdown": "not sent: locations[/api/*].note = null"} {
		if out := string(render(t, format, Document{Command: "plan", Plan: pl}, view.TextOptions{})); !strings.Contains(out, want) {
			t.Errorf("%s does not say %q:\n%s", format, want, out)
		}
	}
}
