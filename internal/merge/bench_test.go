package merge

import (
	"fmt"
	"strings"
	"testing"
)

// benchSpec is a specification of about 4.5 kB: twelve locations, four
// upstreams of two servers, six rules.
func benchSpec(edgeTTL string) string {
	var locations, upstreams, rules []string
	for i := range 12 {
		ttl := "3600"
		if i == 7 {
			ttl = edgeTTL
		}
		locations = append(locations, fmt.Sprintf(`{"path":"/p%d/*","action":"proxy_http","upstream":"u%d","host":"www.example.com","ttl":%q,`+
			`"cache":{"level":"standard","on":true},"cors":{"enabled":"true","allowOrigins":"*","allowMethods":"GET, HEAD"},"headers":{}}`, i, i%4, ttl))
	}
	for i := range 4 {
		upstreams = append(upstreams, fmt.Sprintf(`{"name":"u%d","scheme":"https","servers":[{"host":"a%d.example.com","port":"443","weight":"1"},{"host":"b.example.com","port":"443","weight":"2"}]}`, i, i))
	}
	for i := range 6 {
		rules = append(rules, fmt.Sprintf(`{"name":"r%d","enabled":true,"action":{"type":"limit","limit":{"rate":100,"period":60}},"constraints":[[{"type":"ip","ip":{"expected":"10.0.0.%d","operator":"equals"}}]]}`, i, i))
	}
	return fmt.Sprintf(`{"hostname":"shop.example.com","tls":{"forced":"true","auto":"true"},"locations":[%s],"upstreams":[%s],"rules":[%s]}`,
		strings.Join(locations, ","), strings.Join(upstreams, ","), strings.Join(rules, ","))
}

func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct{ name, ttl string }{{"equal", "3600"}, {"one change", "60"}} {
		b.Run(c.name, func(b *testing.B) {
			spec := benchSpec("3600")
			in := Input{
				Rules: specRules(), Applied: decode(b, spec),
				Desired: decode(b, spec), Live: decode(b, benchSpec(c.ttl)),
			}
			b.SetBytes(int64(len(spec)))
			b.ReportAllocs()
			for b.Loop() {
				if res := Compare(in); (res.Patch == nil) != (c.name == "equal") {
					b.Fatal("not the patch that was expected")
				}
			}
		})
	}
}
