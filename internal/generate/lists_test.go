package generate

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/exit"
	"trueup/internal/manifest"
	"trueup/internal/purge"
)

// TestListsBesideManifests: a list may be among the manifests, as a file that can't be one. Any other error stops it.
func TestListsBesideManifests(t *testing.T) {
	list := manifest.FileText{Path: "lists/urls.yaml", Data: []byte("https://shop.example.com/a\nhttps://other.example.com/b\n")}
	finding := func(path string) diag.Finding {
		return diag.Finding{Path: path, Line: 1, Severity: diag.Error, Rule: "type", Message: "it is a text"}
	}
	for name, c := range map[string]struct {
		cdns     []string
		findings diag.List
		err      string
	}{
		"one has no place":  {[]string{"shop.example.com"}, diag.List{finding("./lists/urls.yaml")}, "1 of 2 addresses could not be placed"},
		"all have":          {[]string{"shop.example.com", "other.example.com"}, nil, ""},
		"no CDN":            {nil, nil, "no hostname of a CDN"},
		"another is broken": {[]string{"shop.example.com"}, diag.List{finding("cdn.yaml")}, "without a trueup.yaml"},
	} {
		var logged []string
		env := PurgeEnv{
			Options:       config.Options{Dir: t.TempDir(), Log: func(_ slog.Level, text string) { logged = append(logged, text) }},
			LoadedProject: config.LoadedProject{Set: &manifest.Set{}, Findings: c.findings},
		}
		src, err := ConvertLists(env, c.cdns, purge.LegacyList{}, []manifest.FileText{list})
		wantCode := exit.Error
		if err == nil {
			err, wantCode = src.CheckPlaces(env), exit.Partial
		}
		switch {
		case c.err == "" && (err != nil || len(src.Wanted) != 2 || logged != nil):
			t.Errorf("%s: %v, %v, logged %q", name, src.Wanted, err, logged)
		case c.err == "":
		case err == nil || !strings.Contains(err.Error(), c.err):
			t.Errorf("%s: %v", name, err)
		case wantCode == exit.Partial && (exit.Of(err) != exit.Partial || len(logged) != 1 || !strings.Contains(logged[0], "lists/urls.yaml:2:")):
			t.Errorf("%s: exit %d, logged %q", name, exit.Of(err), logged)
		}
	}
}

// TestExpandedPaths: the files of the root folder are not taken for paths; a few that are there may be meant.
func TestExpandedPaths(t *testing.T) {
	all, err := filepath.Glob("/*")
	if err != nil || len(all) < 4 {
		t.Skip("this machine has no such root folder")
	}
	if !isExpanded(all) || isExpanded(all[:2]) || isExpanded(append(all, "/img/*")) {
		t.Error(all)
	}
}
