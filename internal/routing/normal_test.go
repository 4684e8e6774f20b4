package routing

import (
	"strings"
	"testing"
)

func TestNormal(t *testing.T) {
	for path, want := range map[string]string{
		"": "/", "/": "/", "/a?b=/../c": "/a", "/a#b?c": "/a", "a": "/a",
		"/./a/.": "/a/", "/a/../b": "/b", "/a/..": "/", "/..": "/", "/../../a": "/a", "/a/%2e%2E/b": "/b", "/...": "/...",
		"//a": "//a", "/a//../b": "/a/b", `\a\..\b`: "/b", "/a/./": "/a/",
		"/%7ea%41": "/~aA", "/a%2fb": "/a%2Fb", "/a%2Fb/..": "/", "/%5c": "/%5C", "/a%3fb": "/a%3Fb",
		"/100%": "/100%25", "/%zz": "/%25zz", "/%": "/%25", "/%2": "/%252", "/%+1": "/%25+1",
		"/ä b": "/%C3%A4%20b", "/a:b@c,d;e=f": "/a:b@c,d;e=f", "/a*": "/a*", "/a\x00": "/a%00", `/"<>`: "/%22%3C%3E",
	} {
		if got := NormalizePath(path); got != want {
			t.Errorf("Normal(%q) = %q, want %q", path, got, want)
		}
	}
}

func FuzzNormal(f *testing.F) {
	for _, path := range []string{"/a/../b", "/%2e%2e/%2F", "//..//.", `\%`, "/%25%32", "/.%2e", "?#"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := NormalizePath(path)
		if got[0] != '/' || strings.ContainsAny(got, "?#\\ ") || strings.Contains(got+"/", "/../") || strings.Contains(got+"/", "/./") {
			t.Errorf("Normal(%q) = %q", path, got)
		}
		if again := NormalizePath(got); again != got {
			t.Errorf("Normal(%q) = %q, and of that %q", path, got, again)
		}
		if before, _, _ := strings.Cut(path, "?"); NormalizePath(before) != got && !strings.Contains(before, "#") {
			t.Errorf("Normal(%q) = %q, but %q without its query", path, got, NormalizePath(before))
		}
	})
}
