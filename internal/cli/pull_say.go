package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"trueup/internal/exit"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/report"
)

// toStdout writes all objects to standard output; what there is to say of them
// goes to standard error, and nothing is recorded.
func (p *pulling) toStdout() error {
	var drafts []manifest.Draft
	for _, item := range p.items {
		if item.verdict == pullNew {
			drafts = append(drafts, item.draft)
			continue
		}
		p.app.log(slog.LevelWarn, fmt.Sprintf("%s is %s: %s", item.key, item.verdict, item.why()))
	}
	if text := p.leftOut(); text != "" {
		p.app.log(slog.LevelInfo, text)
	}
	p.app.code = p.code()
	text, err := manifest.Write(drafts...)
	if err != nil {
		return err
	}
	return p.app.out.Source(text)
}

// why is the reason of a verdict, with what to do about it.
func (item *pulled) why() string {
	if item.fix == "" {
		return item.reason
	}
	return item.reason + "; " + item.fix
}

// code is the exit code of the whole.
func (p *pulling) code() int {
	code := exit.OK
	if p.cut {
		return exit.Partial
	}
	for _, item := range p.items {
		switch {
		case item.verdict == pullRefused:
			return exit.Partial
		case p.opts.diff && (item.verdict == pullNew || item.verdict == pullDiffers):
			code = exit.Changes
		}
	}
	return code
}

// say tells what became of each object.
func (p *pulling) say() error {
	p.app.code = p.code()
	if p.app.global.output == "json" {
		return p.app.out.JSON(p.result())
	}
	var rows [][]string
	for _, item := range p.items {
		rows = append(rows, []string{string(item.verdict), item.key.String(), cmp.Or(item.file, "-"), item.note()})
	}
	var err error
	if p.app.global.sandbox {
		err = p.app.out.Printf("%s\n\n", report.Banner)
	}
	err = errors.Join(err, p.app.out.Marked(rows, p.look()), p.sayDiffs())
	if len(rows) > 0 {
		err = errors.Join(err, p.app.out.Printf("\n"))
	}
	if text := p.leftOut(); text != "" {
		err = errors.Join(err, p.app.out.Printf("%s\n", text))
	}
	return errors.Join(err, p.app.out.Printf("Pull: %s.\n", p.summary()), p.sayNext())
}

// note is what else there is to say of an object in its line.
func (item *pulled) note() string {
	switch item.verdict {
	case pullDiffers:
		return fmt.Sprintf("live differs from it: see pull %s/%s --diff", item.live.Kind.Short, item.key.Name)
	case pullReplaced:
		return "its comments, labels and annotations are lost"
	case pullWritten, pullNew, pullSame, pullGoing, pullRefused:
	}
	return item.why()
}

func (p *pulling) look() report.Options {
	return report.Options{Color: p.app.useColor(p.app.env.Width > 0), Width: p.app.env.Width}
}

// sayDiffs shows how manifests differ from what would be written.
func (p *pulling) sayDiffs() error {
	if !p.opts.diff {
		return nil
	}
	for _, item := range p.items {
		if item.verdict != pullDiffers {
			continue
		}
		git := item.draft
		git.Spec = plan.InOrder(git.Kind, p.project.Overrides, item.has.Spec)
		before, err := manifest.Write(git)
		if err == nil {
			err = errors.Join(p.app.out.Printf("\n"), p.app.out.Diff(item.has.Path, before, item.text, p.look()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leftOut says which fields of live are in no manifest.
func (p *pulling) leftOut() string {
	objects := map[string]int{}
	for _, item := range p.items {
		for _, field := range item.taken.Left {
			if item.verdict == pullWritten || item.verdict == pullReplaced || item.verdict == pullNew {
				objects[field]++
			}
		}
	}
	if len(objects) == 0 {
		return ""
	}
	const most = 12
	fields := slices.Sorted(maps.Keys(objects))
	more := ""
	if len(fields) > most {
		more = fmt.Sprintf(", and %d more", len(fields)-most)
		fields = fields[:most]
	}
	return fmt.Sprintf("Left out, because the schema does not know them (apply leaves them alone): %s%s. --all-fields writes them.",
		strings.Join(fields, ", "), more)
}

// summary counts the verdicts.
func (p *pulling) summary() string {
	count := map[pullVerdict]int{}
	adopted := 0
	for _, item := range p.items {
		count[item.verdict]++
		if item.adopt {
			adopted++
		}
	}
	var parts []string
	for _, v := range []pullVerdict{pullWritten, pullReplaced, pullNew, pullSame, pullDiffers, pullGoing, pullRefused} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	if len(parts) == 0 {
		return "nothing is live"
	}
	if adopted > 0 {
		parts = append(parts, fmt.Sprintf("%d adopted into the ledger", adopted))
	}
	return strings.Join(parts, ", ")
}

// sayNext says what is left to do.
func (p *pulling) sayNext() error {
	var err error
	wrote := slices.ContainsFunc(p.items, func(item *pulled) bool { return item.verdict == pullWritten })
	if slices.ContainsFunc(p.items, func(item *pulled) bool { return item.adopt }) {
		err = p.app.out.Printf("Git now owns these objects: removing a field from a manifest\nremoves it from the platform.\n")
	}
	if p.view.Problem != "" && !p.opts.diff {
		err = p.app.out.Printf("The ledger does not know of this yet, so apply won't drop list elements: %s; %s. Then run pull again.\n",
			p.view.Problem, p.view.Fix)
	}
	if at := cmp.Or(p.opts.file, p.opts.dir); wrote && at != "" && !p.project.Reads(p.app.dir(), p.app.full(at)) {
		err = errors.Join(err, p.app.out.Printf("A plan does not read %s: add it to manifests: in trueup.yaml, or name it as a PATH.\n", at))
	}
	return err
}

// pullResult is the result as JSON (schemas/pull.schema.json).
type pullResult struct {
	Format   string       `json:"format"`
	Command  string       `json:"command"`
	Result   string       `json:"result"`
	ExitCode int          `json:"exitCode"`
	Sandbox  bool         `json:"sandbox"`
	Objects  []pullObject `json:"objects"`
	// Ledger says why nothing was adopted, or is empty.
	Ledger string `json:"ledger,omitempty"`
}

type pullObject struct {
	Kind    string      `json:"kind"`
	Name    string      `json:"name"`
	Verdict pullVerdict `json:"verdict"`
	File    string      `json:"file,omitempty"`
	Line    int         `json:"line,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Fix     string      `json:"fix,omitempty"`
	// Left are fields that live has and the manifest lacks.
	Left    []string `json:"leftOut,omitempty"`
	Adopted bool     `json:"adopted"`
}

func (p *pulling) result() pullResult {
	out := pullResult{
		Format: "trueup.pull/v1", Command: "pull", Result: exit.Name(p.app.code), ExitCode: p.app.code, Sandbox: p.app.global.sandbox,
		Objects: []pullObject{}, Ledger: p.view.Problem,
	}
	for _, item := range p.items {
		o := pullObject{
			Kind: item.key.Kind, Name: item.key.Name, Verdict: item.verdict, File: item.file,
			Reason: item.reason, Fix: item.fix, Left: item.taken.Left, Adopted: item.adopt,
		}
		if item.has != nil {
			o.File, o.Line = item.has.Path, item.has.Line
		}
		out.Objects = append(out.Objects, o)
	}
	return out
}
