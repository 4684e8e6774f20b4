package generate

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFileNameOf(t *testing.T) {
	for name, want := range map[string]string{
		"shop":            "^shop$",
		"www.example.com": `^www\.example\.com$`,
		"a_b-c.9":         `^a_b-c\.9$`,
		"console":         "^console$",
		"Shop":            "^%[0-9a-f]{16}-shop$",
		"a/b":             "^%[0-9a-f]{16}-a_b$",
		"..":              `^%[0-9a-f]{16}-_\.$`,
		".git":            "^%[0-9a-f]{16}-_git$",
		"-rf":             "^%[0-9a-f]{16}-_rf$",
		"nul.example.com": `^%[0-9a-f]{16}-nul\.example\.com$`,
		"\u00e9 b\n":      "^%[0-9a-f]{16}-__b_$",
	} {
		if got := fileNameOf(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%q is in %s, want %s", name, got, want)
		}
	}
}

// TestFileNamesAreSafeAndNeverCollide, whatever the platform calls its objects,
// on file systems too that do not tell letters by their case.
func TestFileNamesAreSafeAndNeverCollide(t *testing.T) {
	safe := regexp.MustCompile(`^[a-z0-9_%][a-z0-9._%-]*$`)
	seen := map[string]string{}
	check := func(t interface {
		Helper()
		Errorf(string, ...any)
	}, name string,
	) {
		t.Helper()
		file := fileNameOf(name) + ".yaml"
		if !safe.MatchString(file) || len(file) > 140 || !filepath.IsLocal(file) || filepath.Base(file) != file {
			t.Errorf("%q is in %q", name, file)
		}
		if other, taken := seen[strings.ToLower(file)]; taken && other != name {
			t.Errorf("%q and %q are both in %q", name, other, file)
		}
		seen[strings.ToLower(file)] = name
	}
	long := strings.Repeat("x", 200)
	for _, name := range []string{long, long + "y", long + "Y", "%-", "%2d", "a", "A", "%41", "%61", "prn", "PRN", "%70rn"} {
		check(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.OneOf(rapid.StringMatching(`[aA./%\\-]{1,6}`), rapid.StringN(1, 300, 300)).Draw(t, "name"))
	})
}
