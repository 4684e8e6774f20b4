package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// projectFile is the name of the file that says what a repository manages.
const projectFile = "trueup.yaml"

// project is trueup.yaml: it says what, never where to and never a secret.
type project struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Workspace  kind.Workspace `json:"workspace"`
	Manifests  []string       `json:"manifests"`
	Ledger     struct {
		Store string `json:"store"`
		ID    string `json:"id"`
	} `json:"ledger"`
	Purge struct {
		Window        string `json:"window"`
		DeprecatedURL string `json:"deprecatedURL"`
	} `json:"purge"`
	Overrides []plan.Override `json:"overrides"`

	// dir is the folder of the file; empty where there is none.
	dir string
}

// loadProject reads the nearest trueup.yaml from dir upwards; without one it
// returns an empty project.
func loadProject(dir string) (project, error) {
	for at := dir; ; at = filepath.Dir(at) {
		path := filepath.Join(at, projectFile)
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			if at == filepath.Dir(at) {
				return project{}, nil
			}
			continue
		}
		if err != nil {
			return project{}, err
		}
		p := project{dir: at}
		if err := yaml.UnmarshalStrict(data, &p); err != nil {
			return project{}, withCode(exitInvalid, fmt.Errorf("%s: %w", path, err))
		}
		if err := p.check(); err != nil {
			return project{}, withCode(exitInvalid, fmt.Errorf("%s: %w", path, err))
		}
		return p, nil
	}
}

func (p project) exists() bool { return p.dir != "" }

// check holds the file to what its schema says (schemas/project.schema.json).
func (p project) check() error {
	switch {
	case p.APIVersion != "trueup/v1" || p.Kind != "Project":
		return errors.New("not a project file: write apiVersion: trueup/v1 and kind: Project")
	case p.Workspace.Name == "" || p.Workspace.UUID == "":
		return errors.New("workspace needs name and uuid: copy them from the workspaces section of your profile in the web console")
	}
	if w, err := time.ParseDuration(p.Purge.Window); p.Purge.Window != "" && (err != nil || w < time.Hour || w > 22*time.Hour) {
		return fmt.Errorf("purge.window is %q: write a time between 1h and 22h", p.Purge.Window)
	}
	for i, o := range p.Overrides {
		if err := checkOverride(o); err != nil {
			return fmt.Errorf("overrides[%d]: %w", i, err)
		}
	}
	return nil
}

func checkOverride(o plan.Override) error {
	_, known := kind.Named(o.Kind)
	switch {
	case !known:
		return fmt.Errorf("unknown kind %q", o.Kind)
	case !strings.HasPrefix(o.Path, "spec."):
		return fmt.Errorf("path is %q; write a field below spec, for example spec.locations", o.Path)
	case !slices.Contains([]string{"", "set", "ordered"}, o.Order):
		return fmt.Errorf("order is %q; write set or ordered", o.Order)
	case !slices.Contains([]string{"", "text", "boolean", "number"}, o.Type):
		return fmt.Errorf("type is %q; write text, boolean or number", o.Type)
	}
	return nil
}
