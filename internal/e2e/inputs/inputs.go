// Package inputs has what tests of several packages read: manifests, random values, the examples and the corpus.
package inputs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Shop is the manifest of a CDN.
const Shop = `# the shop
apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
  namespace: acme
spec:
  hostname: shop.example.com
  firewall:
    enabled: false
  locations:
    - path: "/*"
      action: proxy_http
      upstream: origin
      cache:
        edgeTTL: "3600"
  upstreams:
    - name: origin
      scheme: https
      servers:
        - {host: origin.example.net, port: "443", weight: "1"}
  tls:
    enabled: "true"
`

// PurgeOf returns a manifest whose spec is the text, indented by two.
func PurgeOf(spec string) string {
	return "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: p}\nspec:\n" + spec
}

// AnyName draws the name of a field.
func AnyName() *rapid.Generator[string] { return rapid.StringMatching(`[a-zA-Z .\[\]"~/é]{0,6}`) }

// AnyMapping draws an object of decoded JSON.
func AnyMapping() *rapid.Generator[map[string]any] {
	return rapid.MapOfN(AnyName(), rapid.Deferred(AnyValue), 2, 7)
}

// AnyValue draws decoded JSON.
func AnyValue() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.IntRange(-1000, 1000), func(n int) any { return json.Number(strconv.Itoa(n)) }),
		rapid.Map(rapid.StringMatching(`[ -~é]{0,8}`), func(s string) any { return s }),
		rapid.Map(rapid.SliceOfN(rapid.Deferred(AnyValue), 0, 4), func(s []any) any { return s }),
		rapid.Map(rapid.MapOfN(AnyName(), rapid.Deferred(AnyValue), 0, 4), func(m map[string]any) any { return m }),
	)
}

// Examples returns the manifests of examples/manifests, for a test of a package in internal.
func Examples(tb testing.TB) [][]byte {
	tb.Helper()
	names, err := filepath.Glob("../../examples/manifests/*.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var all [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

// Corpus returns a folder of the test corpus. Without a corpus it skips the test.
func Corpus(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("TRUEUP_CORPUS")
	if root == "" {
		tb.Skip("TRUEUP_CORPUS is not set: it names the folder of the test corpus")
	}
	return filepath.Join(root, name)
}
