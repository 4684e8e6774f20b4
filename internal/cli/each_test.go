package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"trueup/internal/diag"
)

// TestAPanicInOneProject is the error of that project alone.
func TestAPanicInOneProject(t *testing.T) {
	s := newStage(t)
	for i := range 3 {
		s.write(fmt.Sprintf("fleet/p%d/trueup.yaml", i), fmt.Sprintf("apiVersion: trueup/v1\nkind: Project\nworkspace: {name: w%d, uuid: 3c9f2b6e-0d51-4a77-8f0e-5b1f7f1f2a9%d}\n", i, i))
		s.write(fmt.Sprintf("fleet/p%d/shop.yaml", i), strings.ReplaceAll(adoptedCDN, "shop", fmt.Sprintf("shop%d", i)))
	}
	var out, errs bytes.Buffer
	env := s.env(&out, &errs)
	var asked atomic.Int64
	env.Getenv = func(name string) string {
		if name == "TRUEUP_ALLOW_OVERRIDES" && asked.Add(1) == 1 {
			panic("a mistake")
		}
		return s.vars[name]
	}
	code := Main(t.Context(), []string{"each", "-C", "fleet", "--sandbox", "--results", "out", "--", "plan"}, env)
	if code != diag.ExitError {
		t.Errorf("exit %d", code)
	}
	if errs.Len() > 0 {
		t.Errorf("standard error is %q", errs.String())
	}
	if !strings.Contains(out.String(), "Results of the projects: 1 error, 2 ok.") || strings.Count(out.String(), "internal error: a mistake. This is a bug in trueup") != 1 {
		t.Errorf("standard output is %q", out.String())
	}
}
