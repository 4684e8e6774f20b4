package ledger

import "testing"

// TestShownStoresHaveNoLogin has the forms in which a store may have a user, a password or a signature.
func TestShownStoresHaveNoLogin(t *testing.T) {
	for store, want := range map[string]string{
		"git:https://me:pa55@host/x.git":                 "git:https://***@host/x.git",
		"git:https://me:pa@ss@host/x.git":                "git:https://***@host/x.git",
		"git:me:pa55@host:x.git":                         "git:***@host:x.git",
		"postgres://me:pa55@host/db?password=pa55&ssl=1": "postgres://***@host/db?password=***&ssl=1",
		"azblob://acc/c?sv=1&sig=pa55%2f&se=2":           "azblob://acc/c?sv=1&sig=***&se=2",
		"s3://bucket/p?endpoint=https://h":               "s3://bucket/p?endpoint=https://h",
		"git:refs/trueup/ledger@origin":                  "git:refs/trueup/ledger@origin",
		"file:ledger":                                    "file:ledger",
	} {
		if got := redactStore(store); got != want {
			t.Errorf("%s: %s, want %s", store, got, want)
		}
	}
}
