package cli

import (
	"strings"
	"testing"

	"trueup/internal/diag"
)

// TestWhereThereIsNothing: a command that finds neither a project nor a manifest
// says how to get them, and never that all is well alone.
func TestWhereThereIsNothing(t *testing.T) {
	const bare = "warning: there is neither a trueup.yaml nor a manifest here: run trueup init\n"
	dir := t.TempDir()
	for args, want := range map[string]struct {
		code     int
		out, err string
	}{
		"validate":                            {diag.ExitOK, "Validate: no findings, 0 objects.\n", bare},
		"plan --sandbox":                      {diag.ExitOK, "Plan: nothing to do.", bare},
		"drift --sandbox":                     {diag.ExitOK, "Drift: nothing that git manages changed outside git", bare},
		"plan --offline":                      {diag.ExitError, "", bare},
		"plan":                                {diag.ExitError, "", "run trueup init, or try --sandbox"},
		"status purge":                        {diag.ExitOK, "\nledger: there is no trueup.yaml here or above, so trueup knows none\n  fix: run trueup init, or try --sandbox\n", ""},
		"new purge --from-git=x --pages=indx": {diag.ExitError, "", `--pages is "indx" (did you mean index?): write index, clean or files`},
		"fmt --envelope=A/b":                  {diag.ExitError, "", `--envelope is "A/b": write lower-case letters`},
	} {
		code, out, wrong := ran(t, dir, strings.Fields(args)...)
		if code != want.code || !strings.Contains(out, want.out) || !strings.Contains(wrong, want.err) || want.err == "" && wrong != "" {
			t.Errorf("%s: exit %d\n%s%s", args, code, out, wrong)
		}
	}
	empty := projectOf(t, map[string]string{"trueup.yaml": "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: a, uuid: b}\n"})
	if _, _, wrong := ran(t, empty, "validate"); wrong != "warning: there is no manifest here: trueup pull writes them from what is live\n" {
		t.Error(wrong)
	}
}
