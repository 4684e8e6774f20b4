package command

import (
	"cmp"
	"context"
	_ "embed"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/report"
)

// build is how the program was built, as Go and git know it: the same commit has the same everywhere.
type build struct {
	Format  string `json:"format"`
	Version string `json:"version"`
	// Commit and Date (in RFC 3339) are empty if the source was in no repository. Modified is true if
	// files differed from the commit.
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(run *Run) *cobra.Command {
	return newCommand(run, "version", func(context.Context, []string) (report.Document, error) {
		b := thisBuild()
		return report.Document{Messages: []string{b.String()}, Data: b}, nil
	})
}

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return parseBuildInfo(info, archived)
}

// archived has the commit, its time in seconds and its parents where git made an archive of the source
// (.gitattributes), and a format elsewhere. install.sh reads it, too.
//
//go:embed commit.txt
var archived string

// parseBuildInfo reads what Go left in the program, which may be nil. Go knows no commit where the source was an archive.
func parseBuildInfo(info *debug.BuildInfo, archived string) build {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	settings := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	source := append(strings.Fields(archived), "", "")
	if seconds, err := strconv.ParseInt(source[1], 10, 64); err == nil && settings["vcs.revision"] == "" {
		settings["vcs.revision"], settings["vcs.time"] = source[0], time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	return build{
		Format: "trueup.version/v1", Version: cmp.Or(info.Main.Version, "(devel)"),
		Commit: settings["vcs.revision"], Date: settings["vcs.time"], Modified: settings["vcs.modified"] == "true",
		Go: info.GoVersion, Platform: settings["GOOS"] + "/" + settings["GOARCH"],
	}
}

func (b build) String() string {
	const shortCommit = 12
	parts := []string{"trueup " + b.Version}
	if b.Commit != "" {
		parts = append(parts, "commit "+b.Commit[:min(shortCommit, len(b.Commit))]+" of "+b.Date)
	}
	if b.Modified {
		parts = append(parts, "modified")
	}
	return strings.Join(append(parts, b.Go, b.Platform), ", ")
}

// toolName returns the program and its version, as plans and records name it.
func toolName() string { return "trueup " + thisBuild().Version }

func userAgent() string { return strings.ReplaceAll(toolName(), " ", "/") }
