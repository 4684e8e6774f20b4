// Package servers says which real servers of ledgers tests may use.
package servers

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Variable names the variable with the stores on real servers, as TRUEUP_LEDGER would name each. The variables of their
// clients have the credentials.
const Variable = "TRUEUP_TEST_STORES"

// Schemes returns the schemes of the stores that a server can have.
func Schemes() []string { return []string{"s3", "gs", "azblob", "postgres"} }

// Has reports whether there is a server for a scheme.
func Has(scheme string) bool { return find(scheme) != "" }

func find(scheme string) string {
	for store := range strings.FieldsSeq(os.Getenv(Variable)) {
		if strings.HasPrefix(store, scheme+":") {
			return store
		}
	}
	return ""
}

// Store returns a new, empty store of a scheme, and skips the test if there is no server of it.
func Store(t testing.TB, scheme string) string {
	t.Helper()
	store := find(scheme)
	if store == "" {
		t.Skip(Variable + " names no store of the scheme " + scheme)
	}
	return Below(store, uuid.NewString())
}

// Below returns a store within another, with the same parameters.
func Below(store, folder string) string {
	address, query, found := strings.Cut(store, "?")
	if address += "/" + folder; found {
		address += "?" + query
	}
	return address
}

// Environ returns the variables of the stores' clients.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return !slices.ContainsFunc([]string{"AWS_", "AZURE_", "GOOGLE_", "PG"}, func(prefix string) bool { return strings.HasPrefix(v, prefix) })
	})
}
