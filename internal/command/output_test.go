package command

import (
	"os"
	"path/filepath"
	"testing"

	"trueup/internal/config"
	"trueup/internal/report"
)

func TestPlaceOfARun(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".git", "envs/prod/manifests", "envs/new"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "envs", "prod", "trueup.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("envs/prod", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]report.FolderInRepo{
		"":                    {Top: top, Folder: "."},
		"envs/new":            {Top: top, Folder: "envs/new"},
		"envs/prod":           {Top: top, Folder: "envs/prod", Project: "trueup.yaml"},
		"envs/prod/manifests": {Top: top, Folder: "envs/prod/manifests", Project: "../trueup.yaml"},
		"link":                {Top: top, Folder: "envs/prod", Project: "trueup.yaml"},
	} {
		a := NewRun(config.Env{Cwd: filepath.Join(top, dir)})
		if got := a.folderInRepo(); got != want {
			t.Errorf("%q is at %+v, want %+v", dir, got, want)
		}
		// A project above the folder that -C names is another one.
		a = NewRun(config.Env{Cwd: top})
		if a.Chdir, a.Cwd = dir, top; dir == "envs/prod/manifests" {
			want.Project = ""
		}
		if got := a.folderInRepo(); got != want {
			t.Errorf("-C %q is at %+v, want %+v", dir, got, want)
		}
	}
}
