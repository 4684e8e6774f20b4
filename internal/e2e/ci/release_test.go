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
	Checksum struct {
		Algorithm string `yaml:"algorithm"`
	} `yaml:"checksum"`
	SBOMs []struct {
		Artifacts string `yaml:"artifacts"`
	} `yaml:"sboms"`
	Images []struct {
		Dockerfile string   `yaml:"dockerfile"`
		Images     []string `yaml:"images"`
		Platforms  []string `yaml:"platforms"`
		Files      []string `yaml:"extra_files"`
	} `yaml:"dockers_v2"`
	Release struct {
		Draft bool `yaml:"draft"`
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
	if r.Version != 2 || len(r.Builds) != 1 || len(r.Archives) != 1 || len(r.SBOMs) != 1 || len(r.Images) != 1 {
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
	if flags != "-trimpath -buildvcs=true -ldflags='-s -w' " || !strings.Contains(harness.ReadText(t, "install.sh"), flags) || !strings.Contains(harness.ReadText(t, filepath.Join(".ci", "reproducible")), "go build "+flags) {
		t.Errorf("built with %s, and install.sh or .ci/reproducible with other flags", flags)
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
	if r.Checksum.Algorithm != "sha256" || r.SBOMs[0].Artifacts != "binary" || !r.Release.Draft {
		t.Errorf("checksums are %s, lists of modules are of each %s, draft is %t", r.Checksum.Algorithm, r.SBOMs[0].Artifacts, r.Release.Draft)
	}
}

// TestImageIsBare: it has neither a shell nor a package, runs as nobody of the
// machine, and holds what the configuration hands to it.
func TestImageIsBare(t *testing.T) {
	t.Parallel()
	var r releaseFile
	readYAML(t, ".goreleaser.yaml", &r)
	image, text := r.Images[0], harness.ReadText(t, "Dockerfile")
	for _, line := range []string{"FROM scratch", "USER 65532:65532", `ENTRYPOINT ["/usr/bin/trueup"]`, "COPY $TARGETPLATFORM/trueup /usr/bin/trueup"} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the Dockerfile does not say %s", line)
		}
	}
	if regexp.MustCompile(`(?m)^(RUN|ADD|CMD|SHELL|EXPOSE|VOLUME) `).MatchString(text) || strings.Count(text, "FROM ") != 1 {
		t.Errorf("the image holds more than it should:\n%s", text)
	}
	for _, name := range image.Files {
		if !strings.Contains(text, name) {
			t.Errorf("%s is handed to the image and not in it", name)
		}
	}
	if image.Dockerfile != "Dockerfile" || !slices.Equal(image.Platforms, []string{"linux/amd64", "linux/arm64"}) || !slices.Equal(image.Images, []string{`{{ envOrDefault "IMAGE" "" }}`}) {
		t.Errorf("the image is %+v", image)
	}
}

// TestReleaseIsMadeOfTags: what releases runs on tags alone, after all checks, with
// tools of the versions that docs/releasing.md names.
func TestReleaseIsMadeOfTags(t *testing.T) {
	t.Parallel()
	var w workflow
	readYAML(t, filepath.Join(".github", "workflows", "release.yml"), &w)
	push, _ := w.On.(map[string]any)["push"].(map[string]any)
	if len(push) != 1 || push["tags"] == nil || !slices.Equal(w.triggers(), []string{"push"}) || w.Concurrency.Cancel {
		t.Errorf("it runs on %v, %+v", w.On, w.Concurrency)
	}
	text := harness.ReadText(t, filepath.Join(".github", "workflows", "release.yml"))
	page := harness.ReadText(t, filepath.Join("docs", "releasing.md"))
	for name, form := range map[string]string{"goreleaser": `version: (v[\d.]+)\n`, "syft": `syft@(v[\d.]+)\n`} {
		m := regexp.MustCompile(form).FindStringSubmatch(text)
		if m == nil || !strings.Contains(page, name+" "+m[1]) {
			t.Errorf("docs/releasing.md does not name the version of %s: %v", name, m)
		}
	}
	for _, part := range []string{"needs: check", "run: .ci/run", "run: .ci/reproducible", "git merge-base --is-ancestor HEAD origin/main"} {
		if !strings.Contains(text, part) {
			t.Errorf("release.yml does not say %s", part)
		}
	}
	for _, s := range w.Jobs["release"].Steps {
		if value := s.Env["GITHUB_TOKEN"]; value != "" && !strings.HasPrefix(s.Uses, "goreleaser/goreleaser-action@") {
			t.Errorf("step %q gets the host's token", s.Name)
		}
	}
}
