package config

import "testing"

func TestIsDotGit(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".GIT": true, ".Git": true, ".git ": true, ".git.": true, ".git. .": true, "git~1": true, "GIT~2": true,
		".g\u200cit": true, ".git\ufeff": true, ".git::$INDEX_ALLOCATION": true, ".git:a": true,
		"git": false, ".github": false, ".gitignore": false, ".gitmodules": false, "a.git": false, "git~": false, "git~1a": false, "~1": false, "": false, ".": false, "..": false, "/": false,
	} {
		if got := isDotGit(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
