package yamledit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

const shop = `# the shop
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

// purgeOf returns a manifest whose spec is the text, indented by two.
func purgeOf(spec string) string {
	return "apiVersion: delivery/v2.1\nkind: Purge\nmetadata: {name: p}\nspec:\n" + spec
}

func anyName() *rapid.Generator[string] { return rapid.StringMatching(`[a-zA-Z .\[\]"~/é]{0,6}`) }

func anyMapping() *rapid.Generator[map[string]any] {
	return rapid.MapOfN(anyName(), rapid.Deferred(anyValue), 2, 7)
}

func anyValue() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.IntRange(-1000, 1000), func(n int) any { return json.Number(strconv.Itoa(n)) }),
		rapid.Map(rapid.StringMatching(`[ -~é]{0,8}`), func(s string) any { return s }),
		rapid.Map(rapid.SliceOfN(rapid.Deferred(anyValue), 0, 4), func(s []any) any { return s }),
		rapid.Map(rapid.MapOfN(anyName(), rapid.Deferred(anyValue), 0, 4), func(m map[string]any) any { return m }),
	)
}

func exampleManifests(f *testing.F) [][]byte {
	f.Helper()
	names, err := filepath.Glob("../../examples/manifests/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	var all [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

// corpus returns a folder of the test corpus.
func corpus(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("TRUEUP_CORPUS")
	if root == "" {
		t.Skip("TRUEUP_CORPUS is not set: it names the folder of the test corpus")
	}
	return filepath.Join(root, name)
}
