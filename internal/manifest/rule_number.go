package manifest

import (
	"fmt"
	"iter"
)

// numeric returns the check that each field, where it is text, is a whole
// number from low to high. The message has one %q for the value.
func numeric(owners func(*subject) iter.Seq2[string, map[string]any], low, high uint64, message, fix string, fields ...string) func(*subject) {
	return func(s *subject) {
		for at, owner := range owners(s) {
			for _, field := range fields {
				if value, ok := text(owner, field); ok && !numberIn(value, low, high) {
					s.report(child(at, field), fmt.Sprintf(message, value), fix)
				}
			}
		}
	}
}

// servers yields the servers of all upstreams.
func servers(s *subject) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		for at, upstream := range elements(s.Tree, "spec", "upstreams") {
			for at, server := range elements(upstream, at, "servers") {
				if !yield(at, server) {
					return
				}
			}
		}
	}
}

// caches yields the cache settings of all locations.
func caches(s *subject) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) {
		for at, location := range elements(s.Tree, "spec", "locations") {
			if !yield(child(at, "cache"), mapping(location, "cache")) {
				return
			}
		}
	}
}
