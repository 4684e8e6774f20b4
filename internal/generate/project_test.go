package generate

import (
	"strings"
	"testing"

	"trueup/internal/config"
)

// TestLedgerIsAddedOnlyWhereItIsUnderstood: a project file that ends in another
// way than expected is left, and so is one that has another ledger.
func TestLedgerIsAddedOnlyWhereItIsUnderstood(t *testing.T) {
	head := "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: 5a1d}\n"
	const added = "ledger:\n  store: \"file:l\"\n  id: \"7c\"\n"
	for was, want := range map[string]string{
		head:                                   head + added,
		strings.TrimSuffix(head, "\n"):         head + added,
		head + "# the end\n\n\n":               head + "# the end\n" + added,
		strings.ReplaceAll(head, "\n", "\r\n"): strings.ReplaceAll(head+added, "\n", "\r\n"),
		head + "ledger: {id: 9}\n":             head + "ledger: {id: 9}\n",
		head + "ledger: {store: \"file:x\"}\n": head + "ledger: {store: \"file:x\"}\n",
		head + "ledger: {store: \"file:l\"}\n": head + "ledger: {store: \"file:l\"}\n",
		"{apiVersion: trueup/v1, kind: Project, workspace: {name: acme, uuid: 5a1d}}\n": "",
		head + "manifests:\n  - m\n...\n":                                               "",
		head + "ledger:\n":                                                              "",
	} {
		file := Setup{Store: "file:l", ID: "7c"}
		got, err := file.editText([]byte(was))
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%q became %q, %v; want %q", was, got, err, want)
		}
	}
}

// TestIDOfALedger is written behind the store, in the layout that is there, or not
// at all.
func TestIDOfALedger(t *testing.T) {
	const head = "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: a, uuid: b}\n"
	for text, want := range map[string]string{
		"ledger:\n  store: file:l\n":                                        "ledger:\n  store: file:l\n  id: \"x\"\n",
		"ledger: # l\n    # s\n    store: 'file:l' # ours\n":                "ledger: # l\n    # s\n    store: 'file:l' # ours\n    id: \"x\"\n",
		"ledger:\r\n  store: file:l\r\npurge: {}\r\n":                       "ledger:\r\n  store: file:l\r\n  id: \"x\"\r\npurge: {}\r\n",
		"ledger: {store: \"file:l\"} # ours\n":                              "",
		"ledger: { store: file:l }\n":                                       "",
		"ledger:\n  store: >-\n    file:l\n":                                "",
		"ledger:\n  store:\n    file:l\n":                                   "",
		"ledger: {store: file:l,\n}\n":                                      "",
		"\"ledger\": {store: file:l}\n":                                     "",
		"# |\n# ledger: {store: file:m}\nledger:\n  id:\n  store: file:l\n": "",
	} {
		was := []byte(head + text)
		before, err := config.ParseProject(was)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if want == "" {
			want = text
		}
		file := Setup{Store: before.Ledger.Store, ID: "x"}
		if got, err := file.editText(was); err != nil || string(got) != head+want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, head+want)
		}
	}
}
