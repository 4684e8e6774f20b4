package command

import (
	"runtime/debug"
	"strings"
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
	const inClone = "$Format:%H %ct %P$\n"
	for want, info := range map[string]*debug.BuildInfo{
		"trueup v1.2.3, commit 0123456789ab of 2026-11-21T09:00:00Z, go1.26.8, linux/arm64":                 info,
		"trueup v1.2.3+dirty, commit 0123456789ab of 2026-11-21T09:00:00Z, modified, go1.26.8, linux/arm64": modified,
		"trueup (devel), go1.26.8, linux/arm64":                                                             {GoVersion: "go1.26.8", Settings: settings[:2]},
	} {
		if got := parseBuildInfo(info, inClone).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	// An archive that was committed elsewhere is of the commit that Go knows.
	const archive = "fedcba9876543210fedcba9876543210fedcba98 1795680000 0123456789abcdef0123456789abcdef01234567\n"
	for commit, info := range map[string]*debug.BuildInfo{"0123456789ab of 2026-11-21T09:00:00Z": info, "fedcba987654 of 2026-11-26T08:00:00Z": {}} {
		if got := parseBuildInfo(info, archive).String(); !strings.Contains(got, ", commit "+commit+", ") {
			t.Errorf("an archive says %s, want %s", got, commit)
		}
	}
	if got := parseBuildInfo(nil, inClone).Version; got != "(devel)" {
		t.Errorf("without a word of Go the version is %s", got)
	}
}
