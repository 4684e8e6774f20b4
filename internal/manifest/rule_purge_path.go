package manifest

import (
	"fmt"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/purge"
)

func purgePath() Rule {
	return Rule{
		Name:     "purge-path",
		Severity: diag.Error,
		Summary:  "A path of a purge does not start with /, or has * before its last character.",
		Why: "A path that ends in * is a prefix path and any other is absolute; * may only be the last " +
			"character (docs/platform.md 2.3). The host belongs in spec.hostname.",
		Fix: "Start the path with /, and put * only at its end.",
		Bad: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /img/*/large.png
`,
		Good: `apiVersion: delivery/v2.1
kind: Purge
metadata:
  name: rel-42
spec:
  hostname: shop.example.com
  paths:
    - /img/*
`,
		object: only(purging, checkPurgePath),
	}
}

func checkPurgePath(s *subject) {
	for at, path := range texts(s.Tree, "spec", "paths") {
		err := purge.CheckPath(path)
		if err == nil || path == "" {
			continue
		}
		s.report(at, fmt.Sprintf("the path %q %v", path, err), mendPath(path))
	}
}

// mendPath says which valid path would purge at least what was meant, and that
// it purges more where it does: nobody should widen a purge without knowing.
func mendPath(path string) string {
	if _, rest, found := strings.Cut(path, "://"); found {
		_, rest, _ = strings.Cut(rest, "/")
		path = rest
	}
	path = "/" + strings.TrimLeft(path, "/")
	before, after, found := strings.Cut(path, "*")
	switch {
	case !found:
		return "write " + path
	case strings.Trim(after, "*") == "":
		return "write " + before + "*"
	case before == "/":
		return "write out the paths: /* would purge the whole hostname"
	}
	return "write " + before + "*, which purges more, or write out the paths"
}
