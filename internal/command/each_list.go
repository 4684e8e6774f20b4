package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"

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

// listProjects lists projects. One that can't be read, or contradicts another, has an error.
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
	list, rows := []listedProject{}, [][]string{{"PROJECT", "WORKSPACE", "LEDGER"}}
	for _, p := range found.Projects {
		row := listedProject{Path: p.Path, Workspace: &p.Settings.Workspace, Ledger: p.Settings.Ledger.Store}
		if p.Err != nil {
			row.Workspace, row.Error, doc.ExitCode = nil, p.Err.Error(), diag.ExitInvalid
			run.Log(slog.LevelError, row.Error)
		}
		list = append(list, row)
		rows = append(rows, []string{p.Path, cmp.Or(p.Settings.Workspace.Name, "?"), cmp.Or(row.Ledger, "none")})
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
