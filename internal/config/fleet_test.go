package config

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestShards: each project is in one shard, and shards are about as large as each other.
func TestShards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prefix, of := rapid.String().Draw(t, "prefix"), rapid.IntRange(1, 30).Draw(t, "of")
		const paths = 600
		sizes := make([]int, of+1)
		for i := range paths {
			sizes[shardOf(t, fmt.Sprintf("%s%d", prefix, i), of)]++
		}
		share := 1 / float64(of)
		for i, n := range sizes[1:] {
			// Seven standard deviations of a fair draw.
			if math.Abs(float64(n)-paths*share) > 7*math.Sqrt(paths*share*(1-share)) {
				t.Fatalf("shard %d of %d has %d of %d", i+1, of, n, paths)
			}
		}
	})
}

func shardOf(t *rapid.T, path string, of int) (found int) {
	for i := 1; i <= of; i++ {
		if (Shard{i, of}).Has(path) {
			if found != 0 {
				t.Fatalf("%q is in %d and %d of %d", path, found, i, of)
			}
			found = i
		}
	}
	if found == 0 {
		t.Fatalf("%q is in no shard of %d", path, of)
	}
	return found
}

// TestShardsStay: another version must not send projects to other shards while an earlier one runs.
func TestShardsStay(t *testing.T) {
	var got []string
	for _, path := range []string{".", "shops/eu", "shops/us", "blog", "ümlaut"} {
		for i := 1; i <= 20; i++ {
			if (Shard{i, 20}).Has(path) {
				got = append(got, fmt.Sprint(i))
			}
		}
	}
	if want := "15 19 15 11 17"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}

func TestSetShard(t *testing.T) {
	var s Shard
	for _, text := range []string{"1/1", "1/20", "20/20"} {
		if err := s.Set(text); err != nil || s.String() != text {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "1", "0/3", "4/3", "-1/3", "1/0", "1/", "/2", "a/b", "1/2/3", "0+1/20", "01/2", "1 / 2", "1/99999999999999999999", "3+1/3", "-1+1/3", "+1/3", "1+2/3"} {
		if err := s.Set(text); err == nil || !strings.Contains(err.Error(), "write I/N") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"shops", "shops", true},
		{"shops", "shops/eu", true},
		{"shops/", "shops/eu/web", true},
		{"./shops", "shops/eu", true},
		{"shops/*", "shops", false},
		{"shops/*", "shops/eu/web", true},
		{"*/eu", "shops/eu", true},
		{"*/eu", "a/shops/eu", false},
		{"*", "shops/eu", true},
		{"shop", "shops", false},
		{".", ".", true},
		{".", "shops", true},
		{"eu", "shops/eu", false},
	} {
		if got := MatchesPath(c.glob, c.path); got != c.want {
			t.Errorf("%s, %s: %t", c.glob, c.path, got)
		}
	}
}
