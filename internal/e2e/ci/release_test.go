//go:build linux

package ci

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"trueup/internal/e2e/harness"
)

// releaseFile is what these tests look at of .goreleaser.yaml.
type releaseFile struct {
	Version int `yaml:"version"`
	Before  struct {
		Hooks []string `yaml:"hooks"`
	} `yaml:"before"`
	Builds []struct {
		Main    string   `yaml:"main"`
		GOOS    []string `yaml:"goos"`
		GOARCH  []string `yaml:"goarch"`
		Env     []string `yaml:"env"`
		Flags   []string `yaml:"flags"`
		LDFlags []string `yaml:"ldflags"`
		ModTime string   `yaml:"mod_timestamp"`
	} `yaml:"builds"`
	Archives []struct {
		BuildsInfo releaseInfo `yaml:"builds_info"`
		Files      []struct {
			Src  string      `yaml:"src"`
			Dst  string      `yaml:"dst"`
			Info releaseInfo `yaml:"info"`
		} `yaml:"files"`
	} `yaml:"archives"`
	Packages []struct {
		Formats   []string `yaml:"formats"`
		MTime     string   `yaml:"mtime"`
		BuildHost struct {
			Name string `yaml:"buildhost"`
		} `yaml:"rpm"`
		Contents []struct {
			Dst  string      `yaml:"dst"`
			Info releaseInfo `yaml:"file_info"`
		} `yaml:"contents"`
	} `yaml:"nfpms"`
	Release struct {
		Disable bool `yaml:"disable"`
	} `yaml:"release"`
}

type releaseInfo struct {
	Owner string `yaml:"owner"`
	Group string `yaml:"group"`
	MTime string `yaml:"mtime"`
}

// TestReleaseHolds what its users are promised, built so that the same commit gives
// the same bytes.
func TestReleaseHolds(t *testing.T) {
	t.Parallel()
	var r releaseFile
	readYAML(t, ".goreleaser.yaml", &r)
	if r.Version != 2 || len(r.Builds) != 1 || len(r.Archives) != 1 || len(r.Packages) != 1 || !r.Release.Disable {
		t.Fatalf("the configuration is %+v", r)
	}
	b := r.Builds[0]
	if b.Main != "." || !slices.Equal(b.GOOS, []string{"linux", "darwin", "windows"}) || !slices.Equal(b.GOARCH, []string{"amd64", "arm64"}) {
		t.Errorf("built is %s for %v on %v", b.Main, b.GOOS, b.GOARCH)
	}
	if !slices.Contains(b.Env, "CGO_ENABLED=0") || b.ModTime != "{{ .CommitTimestamp }}" {
		t.Errorf("built with %v at %s", b.Env, b.ModTime)
	}
	flags := strings.Join(b.Flags, " ") + " -ldflags='" + strings.Join(b.LDFlags, " ") + "' "
	if flags != "-trimpath -buildvcs=true -ldflags='-s -w' " || !strings.Contains(harness.ReadText(t, "install.sh"), flags) {
		t.Errorf("built with %s, and by install.sh with other flags", flags)
	}
	packed := map[string]string{}
	infos := []releaseInfo{r.Archives[0].BuildsInfo}
	for _, f := range r.Archives[0].Files {
		packed[f.Src] = f.Dst
		infos = append(infos, f.Info)
	}
	for _, info := range infos {
		if info != (releaseInfo{"root", "root", "{{ .CommitDate }}"}) {
			t.Errorf("a file of the archives is %+v", info)
		}
	}
	want := map[string]string{
		"LICENSE": "", "README.md": "", "CHANGELOG.md": "", ".release/THIRD-PARTY-LICENSES": "THIRD-PARTY-LICENSES",
		".release/completions/*": "completions", ".release/man/*": "man/man1",
	}
	if !maps.Equal(packed, want) || !slices.Equal(r.Before.Hooks, []string{".ci/package .release"}) {
		t.Errorf("the archives hold %v, made by %v", packed, r.Before.Hooks)
	}
	p := r.Packages[0]
	if !slices.Equal(p.Formats, []string{"deb", "rpm"}) || p.MTime != "{{ .CommitDate }}" || p.BuildHost.Name == "" {
		t.Errorf("the packages are %+v", p)
	}
	for _, c := range p.Contents {
		if c.Info.MTime != "{{ .CommitDate }}" {
			t.Errorf("%s of the packages is of %q", c.Dst, c.Info.MTime)
		}
	}
}

// TestImageIsBare: it has neither a shell nor a package, and runs as nobody of the
// machine.
func TestImageIsBare(t *testing.T) {
	t.Parallel()
	text := harness.ReadText(t, "Dockerfile")
	for _, line := range []string{"FROM scratch", "USER 65532:65532", `ENTRYPOINT ["/usr/bin/trueup"]`, "COPY $TARGETPLATFORM/trueup /usr/bin/trueup"} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the Dockerfile does not say %s", line)
		}
	}
	if regexp.MustCompile(`(?m)^(RUN|ADD|CMD|SHELL|EXPOSE|VOLUME) `).MatchString(text) || strings.Count(text, "FROM ") != 1 {
		t.Errorf("the image holds more than it should:\n%s", text)
	}
}

// TestReleaseIsMadeByHand: what releases is started by a person, for a commit of main
// after all checks, builds twice, and hands the host's token to nothing but the end.
func TestReleaseIsMadeByHand(t *testing.T) {
	t.Parallel()
	var w workflow
	readYAML(t, filepath.Join(".github", "workflows", "release.yml"), &w)
	if !slices.Equal(w.triggers(), []string{"workflow_dispatch"}) || w.Concurrency.Cancel {
		t.Errorf("it runs on %v, %+v", w.On, w.Concurrency)
	}
	text := harness.ReadText(t, filepath.Join(".github", "workflows", "release.yml"))
	for _, part := range []string{"needs: check", "run: .ci/run", `.ci/release "$VERSION" "$RUNNER_TEMP/again"`, "git merge-base --is-ancestor HEAD origin/main"} {
		if !strings.Contains(text, part) {
			t.Errorf("release.yml does not say %s", part)
		}
	}
	steps := w.Jobs["release"].Steps
	for i, s := range steps {
		if (s.Env["GH_TOKEN"] != "") != (i == len(steps)-1) {
			t.Errorf("step %q: the host's token is %q", s.Name, s.Env["GH_TOKEN"])
		}
	}
}
