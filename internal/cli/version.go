package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// build is what a program says of how it was built. All of it comes from Go and
// git, so the same commit says the same wherever it is built.
type build struct {
	Version string `json:"version"`
	// Commit and Date, in RFC 3339, are those of the commit, and empty where the
	// source was not in a repository. Modified says that files differed from it.
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:  "version",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runVersion(a) },
	}
}

func runVersion(a *app) error {
	info, _ := debug.ReadBuildInfo()
	b := buildOf(info)
	switch a.global.output {
	case "text":
		return a.out.Printf("%s\n", b.String())
	case "json":
		return a.out.JSON(b)
	}
	return fmt.Errorf("-o is %q: version prints text or json", a.global.output)
}

// buildOf reads what Go left in the program; nil is nothing.
func buildOf(info *debug.BuildInfo) build {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	settings := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return build{
		Version: cmp.Or(info.Main.Version, "(devel)"),
		Commit:  settings["vcs.revision"], Date: settings["vcs.time"], Modified: settings["vcs.modified"] == "true",
		Go: info.GoVersion, Platform: settings["GOOS"] + "/" + settings["GOARCH"],
	}
}

// String is the build in one line that begins with the program and its version.
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

// toolName is the program and its version, as plans and records name it.
func toolName() string {
	info, _ := debug.ReadBuildInfo()
	return "trueup " + buildOf(info).Version
}
