package generate

import (
	"bytes"
	"encoding/json"
	"testing"

	"trueup/internal/kind"
)

func TestIgnoredLinesAreAddedOnce(t *testing.T) {
	edit := editGitignore("file:ledger")
	for was, want := range map[string]string{
		"":                       "/.trueup/\n/ledger/\n",
		"*.bak":                  "*.bak\n/.trueup/\n/ledger/\n",
		"a\r\n.trueup\r\n":       "a\r\n.trueup\r\n/ledger/\r\n",
		"/.trueup/\n ledger/ \n": "/.trueup/\n ledger/ \n",
		"# .trueup/\n":           "# .trueup/\n/.trueup/\n/ledger/\n",
	} {
		if got, err := edit([]byte(was)); err != nil || string(got) != want {
			t.Errorf("%q became %q, %v", was, got, err)
		}
	}
}

// TestSchemaInAnotherLayoutIsTheSame: who formats every file of a repository and
// who runs init change nothing of each other.
func TestSchemaInAnotherLayoutIsTheSame(t *testing.T) {
	var dense bytes.Buffer
	if err := json.Compact(&dense, kind.EditorSchema()); err != nil {
		t.Fatal(err)
	}
	got, err := editSchema(dense.Bytes())
	if err != nil || !bytes.Equal(got, dense.Bytes()) {
		t.Errorf("it was written anew: %v", err)
	}
}
