package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/internal/diag"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/report"
)

// draft makes the manifest of each object, and judges what becomes of it.
func (p *pulling) draft(ctx context.Context) error {
	for _, item := range p.items {
		p.judge(item)
	}
	if err := p.place(); err != nil {
		return err
	}
	drafting := p.app.begin("making manifests")
	defer drafting.end()
	for i, item := range p.items {
		drafting.reached(i, len(p.items))
		var err error
		if item.draft.Kind == nil {
			continue
		}
		if item.text, err = manifest.Write(item.draft); err != nil {
			return err
		}
	}
	return p.refuseInvalid(ctx)
}

// judge says what becomes of an object as far as it can be told by itself.
func (p *pulling) judge(item *pulled) {
	if item.live.Terminating {
		item.verdict, item.reason = pullGoing, "it is being deleted"
		return
	}
	k := item.live.Kind
	item.taken = plan.Take(k, p.project.Overrides, item.live.Spec, p.opts.allFields)
	if !p.settled(item, item.taken.Spec) {
		// What git has managed until now can't be left out: apply would remove it.
		item.taken = plan.Take(k, p.project.Overrides, item.live.Spec, true)
	}
	item.draft = manifest.Draft{Kind: k, Name: item.key.Name, Spec: item.taken.Spec, Head: p.head(item), Silence: silence}
	if !p.project.Exists() {
		item.draft.Namespace = p.world.Workspace.Name
	}
	item.verdict = pullNew
	if item.has == nil {
		return
	}
	item.file, item.verdict = fmt.Sprintf("%s:%d", item.has.Path, item.has.Line), pullSame
	if !p.settled(item, item.has.Spec) {
		item.verdict = pullDiffers
	}
}

// settled reports whether a plan of an object is empty where git has the spec.
func (p *pulling) settled(item *pulled, spec []byte) bool {
	return plan.Settled(item.live.Kind, p.project.Overrides, p.view.Records[item.key], spec, item.live)
}

// place chooses the files, and tells editors of the schema that the project has.
func (p *pulling) place() (err error) {
	isNew := func(item *pulled) bool { return item.verdict == pullNew }
	if p.opts.file == onStdout {
		return nil
	}
	if slices.ContainsFunc(p.items, isNew) {
		if p.target, err = p.findTarget(); err != nil {
			return err
		}
	}
	for _, item := range p.items {
		file := ""
		switch {
		case isNew(item):
			item.file = p.target.Shown(p.fileOf(item))
			file = item.file
		case item.has != nil:
			file = item.has.Path
		}
		if file != "" {
			item.draft.Schema = p.project.SchemaAt(p.app.full(filepath.FromSlash(file)))
		}
	}
	return nil
}

// silence is the reason with which fields are written that the schema does not
// know.
const silence = "live has it"

// head are the lines above a manifest: where it came from. Nothing of them is the
// server's.
func (p *pulling) head(item *pulled) []string {
	origin := "the sandbox"
	if base := p.world.API.Endpoints[item.live.Kind.Area].Base; base != nil && !p.app.global.sandbox {
		origin = base.Scheme + "://" + base.Host
	}
	lines := []string{fmt.Sprintf("From live on %s, by trueup pull: workspace %s of %s.",
		p.world.API.Now().UTC().Format(time.DateOnly), p.world.Workspace.Name, origin)}
	if p.foreign(item) {
		lines = append(lines, "Created outside trueup, for example in the console, so trueup never deletes it.")
	}
	for i, line := range lines {
		lines[i] = report.Clean(line)
	}
	return lines
}

// foreign reports whether an object that is made once is none of ours, as the ledger
// knows.
func (p *pulling) foreign(item *pulled) bool {
	known := p.ledger != nil && p.view.Problem == ""
	return known && item.live.Kind.CreateOnly() && p.view.Records[item.key].State != ledger.Posted
}

func (item *pulled) refuse(reason, fix string) {
	item.verdict, item.reason, item.fix = pullRefused, reason, fix
	if item.has == nil {
		item.file = ""
	}
}

// refuseInvalid refuses objects whose manifests would be invalid among those of
// git, and those of which a plan would not be empty.
func (p *pulling) refuseInvalid(ctx context.Context) error {
	for {
		again, err := p.refuseOnce(ctx)
		if err != nil || !again {
			return err
		}
	}
}

// refuseOnce reports whether it refused any: what is refused may have been what
// made others invalid.
func (p *pulling) refuseOnce(ctx context.Context) (bool, error) {
	sources := slices.Clone(p.sources)
	byPath := map[string]*pulled{}
	for i, item := range p.items {
		if item.verdict != pullNew {
			continue
		}
		path := fmt.Sprintf("\x00%d", i) // no file has that name
		byPath[path] = item
		sources = append(sources, manifest.Source{Data: item.text, Display: path})
	}
	if len(byPath) == 0 {
		return false, nil
	}
	opts := p.project.ManifestOptions(false, p.app.global.parallelism)
	set, findings, err := manifest.Load(ctx, sources, opts)
	if err != nil {
		return false, err
	}
	findings = append(findings, manifest.Check(set, opts)...)
	refused := false
	for _, f := range findings {
		item := byPath[f.Path]
		switch {
		case f.Severity != diag.Error:
		case item == nil: // such as that there are too many
			return false, invalid(diag.List{f}, "nothing was written")
		case item.verdict == pullNew:
			item.refuseFor(f)
			refused = true
		}
	}
	p.proveEmpty(set, byPath)
	return refused, nil
}

// refuseFor refuses an object for an error of its manifest.
func (item *pulled) refuseFor(f diag.Finding) {
	item.refuse(withField(f), "fix it where it was created and pull again, or keep it out of git; see trueup explain "+f.Rule)
}

func withField(f diag.Finding) string {
	if strings.Contains(f.Message, f.Field) {
		return fmt.Sprintf("%s [%s]", f.Message, f.Rule)
	}
	return fmt.Sprintf("%s: %s [%s]", f.Field, f.Message, f.Rule)
}

// proveEmpty refuses manifests that do not say what is live, as they are read.
func (p *pulling) proveEmpty(set *manifest.Set, byPath map[string]*pulled) {
	for _, item := range byPath {
		if item.verdict != pullNew {
			continue
		}
		o := set.Find(item.key)
		if o == nil || !p.settled(item, o.Spec) {
			item.refuse("the manifest would not describe what is live", "this is a bug in trueup: report it with the platform's answer (-v)")
		}
	}
}
