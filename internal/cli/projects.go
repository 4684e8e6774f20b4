package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/fleet"
	"trueup/internal/kind"
	"trueup/internal/report"
)

func newProjects(a *app) *cobra.Command {
	var selected *fleet.Selection
	var matrix string
	cmd := a.command("projects [DIR]", func(ctx context.Context, args []string) (report.Document, error) {
		dir, err := a.folder(args)
		if err != nil {
			return report.Document{}, err
		}
		found, err := selected.In(ctx, dir, "")
		switch {
		case err != nil:
			return report.Document{}, err
		case matrix != "":
			return a.matrix(found, matrix), nil
		}
		contents, err := a.contents(ctx, &found)
		if err != nil {
			return report.Document{}, err
		}
		return a.projects(found, contents), nil
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		return refuse(matrix != "" && selected.Shard.Of > 0, "use either --matrix, which makes shards, or --shard, which is one of them")
	}
	f := cmd.Flags()
	selected = registerSelection(f)
	f.StringVar(&matrix, "matrix", "", "print the shards that the projects need as a matrix for `SERVICE`: github or gitlab")
	oneOfFlag(f, "matrix", "github", "gitlab")
	return cmd
}

// contents reads the manifests of all projects. Projects with the same hostname get an error.
func (a *app) contents(ctx context.Context, found *fleet.Fleet) ([]fleet.Contents, error) {
	reading := a.begin("reading manifests")
	defer reading.end()
	return found.Read(ctx, a.global.parallelism)
}

// folder returns the folder that DIR names, or else that of -C or the current one.
func (a *app) folder(args []string) (string, error) {
	dir, shown := a.dir(), "-C "+a.global.dir
	if len(args) > 0 {
		dir, shown = a.full(args[0]), args[0]
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", shown, files.WithoutPath(err))
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a folder: name the folder that has the projects", shown)
	}
	return filepath.EvalSymlinks(dir) // a search follows no link
}

// projectRow is a project in JSON (schemas/projects.schema.json).
type projectRow struct {
	Path      string          `json:"path"`
	Workspace *kind.Workspace `json:"workspace,omitempty"`
	Objects   *int            `json:"objects,omitempty"`
	Ledger    string          `json:"ledger,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// projects lists projects with what their manifests have. A project that can't be read fails alone.
func (a *app) projects(found fleet.Fleet, contents []fleet.Contents) (doc report.Document) {
	list, rows := []projectRow{}, [][]string{{"PROJECT", "WORKSPACE", "OBJECTS", "LEDGER"}}
	for i, p := range found.Projects {
		row := projectRow{Path: p.Path, Ledger: p.Settings.Ledger.Store}
		if p.Err == nil {
			row.Workspace = &p.Settings.Workspace
		}
		objects := "?"
		if err := cmp.Or(contents[i].Err, p.Err); err != nil {
			row.Error, doc.ExitCode = err.Error(), exit.Invalid
			a.log(slog.LevelError, row.Error)
		} else {
			row.Objects, objects = &contents[i].Objects, strconv.Itoa(contents[i].Objects)
		}
		list = append(list, row)
		rows = append(rows, []string{p.Path, cmp.Or(p.Settings.Workspace.Name, "?"), objects, cmp.Or(row.Ledger, "none")})
	}
	a.warnOfRemoved(found)
	doc.Data = map[string]any{"format": "trueup.projects/v1", "projects": list, "facts": found.Facts}
	doc.Text = func(out report.Lines, _ report.Options) {
		if len(list) == 0 {
			out.Printf("No project is selected.\n")
			return
		}
		out.Table("", rows)
	}
	return doc
}

// warnOfRemoved names the projects that are gone: nothing manages their objects any more.
func (a *app) warnOfRemoved(found fleet.Fleet) {
	for _, path := range found.Removed {
		a.log(slog.LevelWarn, fmt.Sprintf("%s was a project before, and its objects are still live: delete them on the platform, or restore its trueup.yaml", path))
	}
}

// A shard has at most perShard projects, up to maxShards shards: to start a job takes longer than to plan
// some projects.
const (
	perShard  = 50
	maxShards = 20
)

// matrix returns the shards as one line for a CI service. There is at least one, because services reject an empty
// matrix. A project that can't be read fails in its shard.
func (a *app) matrix(found fleet.Fleet, service string) report.Document {
	n := min(max(1, (len(found.Projects)+perShard-1)/perShard), maxShards)
	shards := make([]string, n)
	for i := range shards {
		shards[i] = fleet.Shard{Index: i + 1, Of: n}.String()
	}
	a.warnOfRemoved(found)
	var data any = map[string]any{"shard": shards}
	if service == "gitlab" {
		data = map[string]any{"shard": map[string]any{"parallel": map[string]any{"matrix": []any{map[string]any{"SHARD": shards}}}}}
	}
	line, err := json.Marshal(data)
	if err != nil {
		panic(err) // it is text
	}
	return report.Document{Data: data, Text: func(out report.Lines, _ report.Options) { out.JSONLine("", line) }}
}
