package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionSaysWhatWasBuilt(t *testing.T) {
	settings := []debug.BuildSetting{
		{Key: "GOARCH", Value: "arm64"},
		{Key: "GOOS", Value: "linux"},
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-11-21T09:00:00Z"},
	}
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v1.2.3"}, Settings: settings}
	modified := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v1.2.3+dirty"}, Settings: append(settings, debug.BuildSetting{Key: "vcs.modified", Value: "true"})}
	for want, info := range map[string]*debug.BuildInfo{
		"trueup v1.2.3, commit 0123456789ab of 2026-11-21T09:00:00Z, go1.26.8, linux/arm64":                 info,
		"trueup v1.2.3+dirty, commit 0123456789ab of 2026-11-21T09:00:00Z, modified, go1.26.8, linux/arm64": modified,
		"trueup (devel), go1.26.8, linux/arm64":                                                             {GoVersion: "go1.26.8", Settings: settings[:2]},
	} {
		if got := buildOf(info).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := buildOf(nil).Version; got != "(devel)" {
		t.Errorf("without a word of Go the version is %s", got)
	}
}
