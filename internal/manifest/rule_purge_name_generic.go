package manifest

import (
	"fmt"
	"strings"
	"unicode"

	"trueup/internal/diag"
)

func purgeNameGeneric() Rule {
	return Rule{
		Name:     "purge-name-generic",
		Severity: diag.Warning,
		Summary:  "The name of a purge says nothing of its occasion, so it will be wanted again.",
		Why: "A purge's name is unique among the purge requests of the workspace (docs/platform.md 2.3), and " +
			"trueup sends each name once, for good. Somebody else may have used such a name from the console " +
			"or another repository; the next purge will need another one anyway.",
		Fix: "Name the release, ticket or date, such as rel-42 or 20261121-logo.",
		Bad: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: purge
spec:
  hostname: shop.example.com
  paths:
    - /*
`,
		Good: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: 20261121-logo
spec:
  hostname: shop.example.com
  paths:
    - /*
`,
		object: only(purging, checkPurgeNameGeneric),
	}
}

func checkPurgeNameGeneric(s *subject) {
	if generic(s.Name) {
		s.report("metadata.name", fmt.Sprintf("the purge name %q is not likely to be unique, and a name works only once", s.Name),
			"name the release, ticket or date, such as rel-42 or 20261121-logo")
	}
}

// genericWords are names that people give to any purge at all.
const genericWords = " purge cache clear clean flush invalidate refresh test tmp temp new my all everything now today " +
	"cdn web site static release deploy latest hotfix fix update example sample request foo bar "

// generic reports whether a name has nothing but generic words and at most one
// digit.
func generic(name string) bool {
	digits := 0
	for _, r := range name {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if digits > 1 {
		return false
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) > 1 && !strings.Contains(genericWords, " "+word+" ") {
			return false
		}
	}
	return true
}
