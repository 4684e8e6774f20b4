package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"trueup/internal/api"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/project"
)

// maxOwnFile bounds the user's own files, in bytes.
const maxOwnFile = 1 << 20

// userConfig is the user's own file: where to, and with which token. No
// repository has a say in it (schemas/config.schema.json).
type userConfig struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Profiles   map[string]profile `json:"profiles"`
}

// profile is one set of addresses and tokens.
type profile struct {
	Delivery areaSettings `json:"delivery"`
	Compute  areaSettings `json:"compute"`
	CAFile   string       `json:"caFile"`
	Proxy    string       `json:"proxy"`

	// name is empty where no profile was chosen.
	name string
	// file is where it stands, lines the line of each of its fields.
	file  string
	lines map[string]int
}

// areaSettings are an area's address and where its token comes from.
type areaSettings struct {
	URL   string      `json:"url"`
	Token tokenSource `json:"token"`
}

// area returns the settings of an area.
func (p profile) area(area kind.Area) areaSettings {
	if area == kind.Compute {
		return p.Compute
	}
	return p.Delivery
}

// origin says where a field of the profile stands.
func (p profile) origin(field string) string {
	at := p.file
	if line := p.lines[field]; line > 0 {
		at = fmt.Sprintf("%s:%d", p.file, line)
	}
	return "profile " + p.name + " at " + at
}

// path is a name in the profile as the whole path: a relative one starts from
// the folder of the file, never from the folder that the program runs in.
func (p profile) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(p.file), name)
}

// userConfigPath is where the user's own file is looked for, "" where the
// environment names no place.
func (a *app) userConfigPath() string {
	dir := a.env.Getenv("XDG_CONFIG_HOME")
	if home := a.env.Getenv("HOME"); !filepath.IsAbs(dir) && filepath.IsAbs(home) {
		dir = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "trueup", "config.yaml")
}

// profile returns the profile that --profile or TRUEUP_PROFILE names, and which
// of the two it was; without one an empty profile.
func (a *app) profile() (profile, string, error) {
	name, from := a.global.profile, "--profile"
	if name == "" {
		name, from = a.env.Getenv("TRUEUP_PROFILE"), "TRUEUP_PROFILE"
	}
	if name == "" {
		return profile{}, "", nil
	}
	file := a.userConfigPath()
	if file == "" {
		return profile{}, from, fmt.Errorf("%s is %s, but trueup can't find your profiles file: set HOME or XDG_CONFIG_HOME", from, name)
	}
	data, err := readUserConfig(file)
	if errors.Is(err, fs.ErrNotExist) {
		return profile{}, from, fmt.Errorf("%s is %s, and there is no %s: write it (docs/configuration.md)", from, name, file)
	}
	if err != nil {
		return profile{}, from, fmt.Errorf("%s: %w", file, err)
	}
	cfg, err := parseUserConfig(data)
	if err != nil {
		return profile{}, from, fmt.Errorf("%s: %w", file, err)
	}
	p, ok := cfg.Profiles[name]
	if !ok {
		names := slices.Sorted(maps.Keys(cfg.Profiles))
		return profile{}, from, fmt.Errorf("%s is %s, and %s has no such profile, but %s%s",
			from, name, file, cmp.Or(strings.Join(names, ", "), "none"), didYouMean(name, names))
	}
	p.name, p.file, p.lines = name, file, linesBelow(data, "profiles", name)
	return p, from, nil
}

// readUserConfig reads the file that may choose where tokens go: nobody but the
// user and root may be able to write it.
func readUserConfig(file string) ([]byte, error) {
	data, info, err := files.Read(file, maxOwnFile)
	if err != nil {
		return nil, err
	}
	if uid, known := ownerOf(info); known && uid != 0 && uid != ownID() {
		return nil, fmt.Errorf("it belongs to user %d, who could redirect your tokens: make yourself its owner", uid)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return nil, fmt.Errorf("other users can write to it (mode %04o) and redirect your tokens: chmod go-w %s", mode, file)
	}
	return data, nil
}

// parseUserConfig reads the file strictly and checks all of its profiles.
func parseUserConfig(data []byte) (userConfig, error) {
	var cfg userConfig
	if err := project.UnmarshalStrict(data, &cfg); err != nil {
		return cfg, err
	}
	if cfg.APIVersion != "trueup/v1" || cfg.Kind != "Config" {
		return cfg, errors.New("not a profiles file: write apiVersion: trueup/v1 and kind: Config")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Profiles)) {
		if err := cfg.Profiles[name].check(); err != nil {
			return cfg, fmt.Errorf("profiles.%s.%w", name, err)
		}
	}
	return cfg, nil
}

// check returns what is wrong, beginning with the name of the field.
func (p profile) check() error {
	for _, area := range areas() {
		s := p.area(area)
		if s.URL != "" {
			if _, err := api.ParseBase(s.URL, ""); err != nil {
				return fmt.Errorf("%s.url: %w", area, err)
			}
		}
		if err := s.Token.check(); err != nil {
			return fmt.Errorf("%s.token%w", area, err)
		}
	}
	if strings.HasPrefix(p.CAFile, "~") {
		return fmt.Errorf("caFile is %q: write the whole path, because ~ has no meaning here", p.CAFile)
	}
	if p.Proxy != "" {
		if _, err := parseProxy(p.Proxy); err != nil {
			return fmt.Errorf("proxy: %w", err)
		}
	}
	return nil
}

// areas are the platform's, in the order in which they are shown.
func areas() []kind.Area { return []kind.Area{kind.Compute, kind.Delivery} }

// tokenSource says where a token comes from: one of three, or nowhere.
type tokenSource struct {
	Env  string        `json:"env"`
	File string        `json:"file"`
	Exec *tokenCommand `json:"exec"`
}

// tokenCommand is a program that prints a token.
type tokenCommand struct {
	// Command is the program and its arguments; no shell reads them.
	Command []string `json:"command"`
	Timeout string   `json:"timeout"`
}

// Bounds of how long a token command may take.
const (
	usualExecTime = 10 * time.Second
	mostExecTime  = 5 * time.Minute
)

// timeout is how long the command may take.
func (c tokenCommand) timeout() time.Duration { return project.Duration(c.Timeout, usualExecTime) }

// variableName is what a shell takes for the name of a variable.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

func (s tokenSource) isZero() bool { return s.Env == "" && s.File == "" && s.Exec == nil }

// check returns what is wrong, beginning with the field below token.
func (s tokenSource) check() error {
	switch {
	case s.Env != "" && s.File != "" || s.Exec != nil && s.Env+s.File != "":
		return errors.New(" names several sources: write one of env, file and exec")
	case s.Env != "" && !variableName().MatchString(s.Env):
		// It is not shown: somebody may have written the token itself.
		return errors.New(".env is not the name of a variable: write the name, not the token")
	case strings.HasPrefix(s.File, "~"):
		return fmt.Errorf(".file is %q: write the whole path, because ~ has no meaning here", s.File)
	case s.Exec != nil:
		return s.Exec.check()
	}
	return nil
}

// check returns what is wrong, beginning with the field below token.
func (c tokenCommand) check() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return errors.New(".exec.command is empty: write the program and its arguments as a list")
	}
	if d, err := time.ParseDuration(c.Timeout); c.Timeout != "" && (err != nil || d <= 0 || d > mostExecTime) {
		return fmt.Errorf(".exec.timeout is %q: write a time up to 5m", c.Timeout)
	}
	return nil
}

// linesBelow finds the line of each field below a path of a YAML text; fields of
// fields are joined by dots.
func linesBelow(data []byte, path ...string) map[string]int {
	var doc yaml.Node
	lines := map[string]int{}
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return lines
	}
	node := doc.Content[0]
	for _, step := range path {
		if node = member(node, step); node == nil {
			return lines
		}
	}
	addLines(lines, "", node)
	return lines
}

func addLines(lines map[string]int, prefix string, node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		field := prefix + node.Content[i].Value
		lines[field] = node.Content[i].Line
		addLines(lines, field+".", node.Content[i+1])
	}
}

func member(node *yaml.Node, name string) *yaml.Node {
	if node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return node.Content[i+1]
			}
		}
	}
	return nil
}
