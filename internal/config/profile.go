package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/api"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/project"
)

const maxFile = 1 << 20

// Config is the user's profiles file. Nothing in a repository changes it (schemas/config.schema.json).
type Config struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Profiles   map[string]Profile `json:"profiles"`
}

// Profile is one set of addresses and tokens.
type Profile struct {
	Delivery AreaSettings `json:"delivery"`
	Compute  AreaSettings `json:"compute"`
	CAFile   string       `json:"caFile"`
	Proxy    string       `json:"proxy"`

	Name  string         `json:"-"` // Name is empty if no profile was chosen. File is the profiles file.
	File  string         `json:"-"`
	lines map[string]int // has the lines of all fields of the file
}

// AreaSettings are an area's address, and where its token comes from.
type AreaSettings struct {
	URL   string      `json:"url"`
	Token TokenSource `json:"token"`
}

func (p Profile) area(area kind.Area) AreaSettings {
	if area == kind.Compute {
		return p.Compute
	}
	return p.Delivery
}

func (p Profile) origin(field string) string {
	at := p.File
	if line := p.lines["profiles."+p.Name+"."+field]; line > 0 {
		at = fmt.Sprintf("%s:%d", p.File, line)
	}
	return "profile " + p.Name + " at " + at
}

// path returns the whole path of a file in the profile. A relative one starts from the folder of
// the profiles file, never from the one that trueup runs in.
func (p Profile) path(name string) string { return absolute(filepath.Dir(p.File), name) }

// stdin stands for standard input in the name of a token's file.
const stdin = "-"

func absolute(dir, name string) string {
	if name == "" || name == stdin {
		return name
	}
	return files.Absolute(dir, name)
}

// file returns the path of the profiles file, empty if the environment names no folder.
func (o Options) file() string {
	if dir := o.folder("XDG_CONFIG_HOME", ".config"); dir != "" {
		return filepath.Join(dir, "config.yaml")
	}
	return ""
}

// Profiles returns the names of the user's profiles, sorted; none if the file can't be used.
func (o Options) Profiles() []string {
	if cfg, err := read(o.file()); err == nil {
		return slices.Sorted(maps.Keys(cfg.Profiles))
	}
	return nil
}

// profile returns the profile that --profile or TRUEUP_PROFILE names, and which of the two it was. Without one the
// profile is empty.
func (o Options) profile() (p Profile, from string, err error) {
	chosen, file := first(Setting{o.Profile, "--profile"}, Setting{o.Getenv("TRUEUP_PROFILE"), "TRUEUP_PROFILE"}), o.file()
	name, from := chosen.Value, chosen.Origin
	if name == "" {
		return p, from, nil
	}
	if file == "" {
		return p, from, fmt.Errorf("%s is %s, but trueup can't find your profiles file: set HOME or XDG_CONFIG_HOME", from, name)
	}
	cfg, err := read(file)
	p, ok := cfg.Profiles[name]
	switch names := slices.Sorted(maps.Keys(cfg.Profiles)); {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s is %s, but the file %s does not exist: create it (docs/configuration.md)", from, name, file)
	case err != nil:
		err = fmt.Errorf("%s: %w", file, err)
	case !ok:
		err = fmt.Errorf("%s is %s, but %s has no such profile; it has: %s%s",
			from, name, file, cmp.Or(strings.Join(names, ", "), "none"), manifest.DidYouMean(name, names))
	default:
		p.File = file
		return p, from, nil
	}
	return Profile{}, from, err
}

// read reads the file that chooses where tokens go: only the user and root may be able to write it.
func read(file string) (Config, error) {
	data, info, err := files.Read(file, maxFile)
	if err != nil {
		return Config{}, err
	}
	if uid, known := ownerOf(info); known && uid != 0 && uid != os.Geteuid() {
		return Config{}, fmt.Errorf("it belongs to user %d, who could redirect your tokens: make yourself its owner", uid)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return Config{}, fmt.Errorf("other users can write to it (mode %04o) and redirect your tokens: chmod go-w %s", mode, file)
	}
	return Parse(data)
}

// Parse reads the text of a profiles file strictly, and checks all of its profiles.
func Parse(data []byte) (Config, error) {
	var cfg Config
	if err := project.UnmarshalStrict(data, "config", &cfg); err != nil {
		return cfg, err
	}
	if cfg.APIVersion != "trueup/v1" || cfg.Kind != "Config" {
		return cfg, errors.New("not a profiles file: write apiVersion: trueup/v1 and kind: Config")
	}
	lines := map[string]int{}
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) == nil && len(doc.Content) > 0 {
		addLines(lines, "", doc.Content[0])
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Profiles)) {
		p := cfg.Profiles[name]
		if err := p.check(); err != nil {
			return cfg, fmt.Errorf("profiles.%s.%w", name, err)
		}
		p.Name, p.lines = name, lines
		cfg.Profiles[name] = p
	}
	return cfg, nil
}

// check returns what is wrong, beginning with the name of the field.
func (p Profile) check() error {
	for _, area := range kind.Areas() {
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

// addLines adds the line of each field below a node. Fields of fields are joined by dots.
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
