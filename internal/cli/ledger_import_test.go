package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/diag"
)

const rescuedPurge = "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: rel-42}\nspec: {hostname: shop.example.com, paths: [/a]}\n"

// TestARescueRecordIsImported: the ledger is gone when the answer arrives. What
// it lacks is in the output of the run, and import takes it from there.
func TestARescueRecordIsImported(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", adoptedCDN)
	s.must(diag.ExitOK, "apply", "--auto-approve")
	s.write("manifests/rel-42.yaml", rescuedPurge)
	there, away := filepath.Join(s.dir, "ledger"), filepath.Join(s.dir, "away")
	s.server.OnRequest(func(method, path string) {
		if method == "POST" && strings.HasSuffix(path, "/purges") {
			if err := os.Rename(there, away); err != nil {
				t.Error(err)
			}
		}
	})
	code, stdout, stderr := s.run("apply", "--auto-approve")
	if code != diag.ExitNeedsPerson || !strings.Contains(stderr, "trueup: rescue record: {") || !strings.Contains(stdout, "trueup ledger import -") {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	s.server.OnRequest(nil)
	if err := os.Rename(away, there); err != nil {
		t.Fatal(err)
	}
	s.writes()

	// A CI service puts a time before each line, and there is more around it.
	log := "Run trueup apply\n2026-11-21T09:00:00.0Z " + strings.ReplaceAll(stderr, "\n", "\r\n") + "Error: exit code 6\n"
	s.write("run.log", log)
	if out := s.must(diag.ExitOK, "ledger", "import", "run.log"); !strings.Contains(out, "updated: 1") {
		t.Errorf("imported: %s", out)
	}
	if out := s.must(diag.ExitOK, "ledger", "show", "purge/rel-42"); !strings.Contains(out, "was accepted") {
		t.Errorf("after the import: %s", out)
	}
	s.must(diag.ExitOK, "ledger", "verify")
	s.must(diag.ExitOK, "apply", "--auto-approve")
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("sent again: %v", writes)
	}
	if out := s.must(diag.ExitOK, "ledger", "import", "run.log"); !strings.Contains(out, "unchanged: 1") {
		t.Errorf("imported again: %s", out)
	}
}

// TestImportReadsStandardInput: as the message of a run that could not record
// says.
func TestImportReadsStandardInput(t *testing.T) {
	s := newStage(t)
	code, _, stderr := s.run("ledger", "import", "-")
	if code != diag.ExitError || !strings.Contains(stderr, "it is empty") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
