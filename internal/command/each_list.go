package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strconv"

	"github.com/spf13/cobra"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/report"
)

// listedProject is a project in JSON (schemas/projects.schema.json).
type listedProject struct {
	Path      string          `json:"path"`
	Workspace *kind.Workspace `json:"workspace,omitempty"`
	Objects   *int            `json:"objects,omitempty"`
	Ledger    string          `json:"ledger,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// checkList rejects what has no meaning with --list.
func (o eachOptions) checkList(cmd *cobra.Command, words []string) error {
	wrong := []error{
		errorIf(len(words) > 0, "--list runs nothing: remove it, or what is after --"),
		errorIf(o.matrix && o.Shard.Of > 0, "--matrix lists all shards: remove --shard"),
	}
	for _, name := range []string{"results", "jobs", "max-failures"} {
		wrong = append(wrong, errorIf(cmd.Flags().Changed(name), "--%s does nothing with --list: remove it", name))
	}
	return errors.Join(wrong...)
}

// listProjects lists projects with what their manifests have. A project that can't be read fails alone.
func listProjects(ctx context.Context, run *Run, o eachOptions) (doc report.Document, err error) {
	found, err := findFleet(ctx, run, o, projectCommandLine{command: listCommand})
	if err != nil {
		return doc, err
	}
	for _, gone := range found.Removed {
		run.Log(slog.LevelWarn, gone+" was a project before, and its objects are still live: delete them on the platform, or restore its trueup.yaml")
	}
	if o.matrix {
		return shardMatrix(len(found.Projects)), nil
	}
	contents, err := readProjectContents(ctx, run, &found)
	if err != nil {
		return doc, err
	}
	list, rows := []listedProject{}, [][]string{{"PROJECT", "WORKSPACE", "OBJECTS", "LEDGER"}}
	for i, p := range found.Projects {
		row, objects := listedProject{Path: p.Path, Ledger: p.Settings.Ledger.Store}, "?"
		if p.Err == nil {
			row.Workspace = &p.Settings.Workspace
		}
		if err := cmp.Or(contents[i].Err, p.Err); err != nil {
			row.Error, doc.ExitCode = err.Error(), diag.ExitInvalid
			run.Log(slog.LevelError, row.Error)
		} else {
			row.Objects, objects = &contents[i].Objects, strconv.Itoa(contents[i].Objects)
		}
		for _, f := range p.Warnings {
			run.Log(slog.LevelWarn, fmt.Sprintf("%s:%d:%d: %s [%s]", path.Join(p.Path, f.Path), f.Line, f.Column, f.Message, f.Rule))
		}
		list = append(list, row)
		rows = append(rows, []string{p.Path, cmp.Or(p.Settings.Workspace.Name, "?"), objects, cmp.Or(row.Ledger, "none")})
	}
	doc.Data = map[string]any{"format": "trueup.projects/v1", "projects": list, "facts": found.FleetChanges}
	doc.Text = func(out report.LineWriter, _ report.FormatOptions) {
		if len(list) == 0 {
			out.Printf("No project is selected.\n")
			return
		}
		out.Table("", rows)
	}
	return doc, nil
}

// A shard has at most perShard projects, up to maxShards shards: to start a job takes longer than to plan
// some projects.
const (
	perShard  = 50
	maxShards = 20
)

// shardMatrix returns the shards for so many projects, as one line. There is at least one, because CI services reject an
// empty matrix. A project that can't be read fails in its shard.
func shardMatrix(projects int) report.Document {
	shards := make([]string, min(max(1, (projects+perShard-1)/perShard), maxShards))
	for i := range shards {
		shards[i] = config.Shard{Index: i + 1, Of: len(shards)}.String()
	}
	line, _ := json.Marshal(shards) // they are text
	return report.Document{Data: shards, Text: func(out report.LineWriter, _ report.FormatOptions) { out.JSONLine("", line) }}
}

// readProjectContents reads the manifests of all projects. Projects with the same hostname get an error.
func readProjectContents(ctx context.Context, run *Run, found *config.Fleet) ([]config.ProjectContents, error) {
	reading := run.startPhase("reading manifests")
	defer reading.end()
	return found.ReadContents(ctx, run.API.Parallelism)
}
