package routing_test

import (
	"fmt"
	"testing"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/routing"
)

// manyHosts is a spec of locations for any host, and of a location for each of some hosts.
func manyHosts(locations, hosts int, ttl string) []byte {
	var list []any
	for i := range hosts {
		list = append(list, map[string]any{"path": fmt.Sprintf("/own-%d/*", i%7), "host": fmt.Sprintf("h%d.example.com", i), "upstream": "o"})
	}
	for i := range locations {
		list = append(list, map[string]any{"path": fmt.Sprintf("/section-%d/*", i), "upstream": "o", "cache": map[string]any{"edgeTTL": ttl, "ttlTimeUnit": "second"}})
	}
	return canon.Encode(map[string]any{"hostname": "shop.example.com", "locations": list})
}

// BenchmarkCompare compares a CDN in which every location changes.
func BenchmarkCompare(b *testing.B) {
	for _, size := range [][2]int{{500, 1}, {500, 100}, {5000, 10}} {
		b.Run(fmt.Sprintf("locations=%d/hosts=%d", size[0], size[1]), func(b *testing.B) {
			was, is := manyHosts(size[0], size[1], "60"), manyHosts(size[0], size[1], "70")
			key := kind.Key{Kind: "CDN", Name: "shop"}
			for b.Loop() {
				change := routing.CDNChange{Before: routing.NewCDN(key, was), After: routing.NewCDN(key, is)}
				if r := routing.Compare([]routing.CDNChange{change}, nil, routing.PrecedencesOf("")); len(r.Lines) != 1 {
					b.Fatal(len(r.Lines), r.Lines[0])
				}
			}
		})
	}
}
