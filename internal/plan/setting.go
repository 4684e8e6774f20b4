package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/merge"
)

// ProjectSettings is the content of trueup.yaml.
type ProjectSettings struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Workspace  kind.Workspace `json:"workspace"`
	Manifests  []string       `json:"manifests"`
	Ledger     LedgerSettings `json:"ledger"`
	Purge      PurgeSettings  `json:"purge"`
	Platform   struct {
		Precedence string `json:"precedence"`
	} `json:"platform"`
	Overrides  []Override `json:"overrides"`
	Strict     bool       `json:"strict"`     // warnings are errors
	MaxCreates int        `json:"maxCreates"` // creations in an area that trueup applied to before
	MaxDeletes *int       `json:"maxDeletes"` // deletions of one plan
	Rules      string     `json:"rules"`      // a folder with rules of the project, or empty
	// Path is the file as the user knows it. It is empty if there is no project.
	Path string `json:"-"`
}

// DeletesAllowed returns how many objects one plan may delete, by default one.
func (p ProjectSettings) DeletesAllowed() int {
	if p.MaxDeletes == nil {
		return 1
	}
	return *p.MaxDeletes
}

// LedgerSettings name a ledger.
type LedgerSettings struct {
	Store string `json:"store"`
	ID    string `json:"id"`
}

// PurgeSettings are settings for requests that are sent once.
type PurgeSettings struct {
	Window    string            `json:"window"`
	Duplicate DuplicateSettings `json:"duplicate"`
}

// DuplicateSettings say how the platform refuses a name that exists already.
type DuplicateSettings struct {
	Status    []int  `json:"status"`
	BodyRegex string `json:"bodyRegex"`
}

func (s DuplicateSettings) String() string {
	if len(s.Status) == 0 && s.BodyRegex == "" {
		return ""
	}
	return fmt.Sprintf("status %v, bodyRegex %q", s.Status, s.BodyRegex)
}

// ChangedSetting is a setting of trueup.yaml, or a comment that silences a rule, that differs from the base.
type ChangedSetting struct {
	// Path and Line are its place. Line is 0 if it is unknown.
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	// Field names it: workspace.uuid, overrides: CDN spec.tls, trueup:ignore RULE.
	Field string `json:"field"`
	// Was and Now are its values in the base and now; nil is absent.
	Was any `json:"was,omitempty"`
	Now any `json:"now,omitempty"`
	// Consequence is what it does to the plan.
	Consequence string `json:"consequence,omitempty"`
	// Hides are the differences of git and live that the plan does not show because of
	// the setting.
	Hides []HiddenField `json:"hides,omitempty"`
}

// HiddenField is a field in which git and live differ without a line in the plan.
type HiddenField struct {
	kind.Key
	Path string `json:"path"`
	Git  any    `json:"git,omitempty"`
	Live any    `json:"live,omitempty"`
}

// compareSettings returns the settings that differ from the base; a nil was is a base without any.
func (p *Planner) compareSettings(was *ProjectSettings) []ChangedSetting {
	now := p.in.Project
	if now.Path == "" {
		return nil
	}
	if was == nil {
		found := []ChangedSetting{{Path: now.Path, Field: "project", Now: "new", Consequence: "this change adds trueup.yaml, so all its settings are new"}}
		return append(found, p.compareOverrides(nil)...)
	}
	store := "trueup looks only here for what it sent before"
	switch {
	case now.Ledger.Store == "":
		store, now.Ledger.ID = "trueup keeps no record, so it sends no purges or snapshots and detects no removals", was.Ledger.ID
	case was.Ledger.Store == "":
		store = "trueup records here what it sends"
	}
	const purges = "this decides when trueup sends a purge again, or counts it as executed"
	var found []ChangedSetting
	for _, s := range []struct{ field, was, now, consequence string }{
		{"workspace.uuid", was.Workspace.UUID, now.Workspace.UUID, "every request goes to this workspace"},
		{"workspace.name", was.Workspace.Name, now.Workspace.Name, "manifests without a namespace, and snapshots, belong to this workspace"},
		{"ledger.store", was.Ledger.Store, now.Ledger.Store, store},
		{"ledger.id", was.Ledger.ID, now.Ledger.ID, "trueup does not know what another ledger recorded as sent"},
		{
			"manifests", strings.Join(was.Manifests, ", "), strings.Join(now.Manifests, ", "),
			"trueup reads other files: an object whose file it no longer reads looks removed from git",
		},
		{"rules", was.Rules, now.Rules, "trueup checks manifests by the rules in this folder"},
		{"platform.precedence", was.Platform.Precedence, now.Platform.Precedence, "trueup takes this to be the location that serves a request"},
		{"purge.duplicate", was.Purge.Duplicate.String(), now.Purge.Duplicate.String(), purges},
		{"purge.window", was.Purge.Window, now.Purge.Window, purges},
		{"strict", fmt.Sprint(was.Strict), fmt.Sprint(now.Strict), "with true, warnings are errors"},
		{"maxCreates", strconv.Itoa(was.MaxCreates), strconv.Itoa(now.MaxCreates), "a plan may create so many objects where trueup applied before"},
		{"maxDeletes", strconv.Itoa(was.DeletesAllowed()), strconv.Itoa(now.DeletesAllowed()), "apply --prune may delete so many objects"},
	} {
		if s.was != s.now {
			found = append(found, ChangedSetting{Path: now.Path, Field: s.field, Was: orNil(s.was), Now: orNil(s.now), Consequence: s.consequence})
		}
	}
	return append(found, p.compareOverrides(was.Overrides)...)
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// compareOverrides returns the overrides that differ, with the differences that each hides.
func (p *Planner) compareOverrides(was []Override) []ChangedSetting {
	before, after := overridesByPlace(was), overridesByPlace(p.in.Project.Overrides)
	var found []ChangedSetting
	for _, place := range keysOfBoth(before, after) {
		if mustEncode(before[place]) != mustEncode(after[place]) {
			found = append(found, ChangedSetting{
				Path: p.in.Project.Path, Field: "overrides: " + place, Was: before[place], Now: after[place],
			})
		}
	}
	if len(found) > 0 {
		p.addHidden(found, was)
	}
	for i := range found {
		s := &found[i]
		switch n := len(s.Hides); {
		case n > 0:
			s.Consequence = "hides " + countNoun(n, "difference")
		case s.Now == nil:
			s.Consequence = "trueup compares the field as its schema says"
		default:
			s.Consequence = "hides no difference now"
		}
	}
	return found
}

// ChangesOverrides reports whether the overrides of the inputs are not those of the base.
func (past BaseState) ChangesOverrides(in Inputs) bool {
	var was []Override
	if past.Project != nil {
		was = past.Project.Overrides
	}
	return past.Blame.Base != "" && mustEncode(overridesByPlace(was)) != mustEncode(overridesByPlace(in.Project.Overrides))
}

// overridesByPlace returns overrides by their places, "KIND PATH": an object, or a list of several.
func overridesByPlace(overrides []Override) map[string]any {
	places := map[string]any{}
	for _, o := range overrides {
		rest := canon.Object(encodedTree(o))
		delete(rest, "kind")
		delete(rest, "path")
		switch before := places[o.Place()].(type) {
		case nil:
			places[o.Place()] = rest
		case []any:
			places[o.Place()] = append(before, rest)
		default:
			places[o.Place()] = []any{before, rest}
		}
	}
	return places
}

// addHidden adds to the settings the differences that only the base's overrides show: each to the override
// of its place, of one around it, or below it.
func (p *Planner) addHidden(settings []ChangedSetting, was []Override) {
	before := map[string]*merge.Rules{}
	for _, k := range kind.AllKinds() {
		before[k.Name] = RulesFor(k, was)
	}
	for _, o := range p.in.Set.Objects {
		live, rec := p.in.Live.Objects[o.Key()], p.in.Ledger.Records[o.Key()]
		if live.Spec == nil || live.Digest == o.Digest || o.Kind.IsRequestOnly() || !p.isTargeted(o.Key()) {
			continue
		}
		shown := map[string]bool{}
		now, _ := mergeInputOf(p.rules[o.Kind.Name], rec, o.Spec, live)
		for _, c := range merge.Compare(now).Changes {
			shown[c.Path] = true
		}
		then, _ := mergeInputOf(before[o.Kind.Name], rec, o.Spec, live)
		for _, c := range merge.Compare(then).Changes {
			if shown[c.Path] {
				continue
			}
			h := HiddenField{Key: o.Key(), Path: c.Path, Git: c.Desired, Live: c.Live}
			if at := positionOf(c); at != nil && c.Moved {
				h.Git, h.Live = fmt.Sprintf("position %d", at.Desired), fmt.Sprintf("position %d", at.Live)
			}
			place := "overrides: " + h.Kind + " spec." + merge.FieldPath(c.At)
			at := slices.IndexFunc(settings, func(s ChangedSetting) bool { return areRelated(s.Field, place) })
			settings[max(at, 0)].Hides = append(settings[max(at, 0)].Hides, h)
		}
	}
}

// addedSilences returns the comments that silence rules and that the base lacks, with what they hide. Of
// equal ones, those are new that are more than before.
func (p *Planner) addedSilences(out *Plan, past BaseState) []ChangedSetting {
	hushed := slices.Concat(p.in.Set.Silenced, out.Silenced)
	var found []ChangedSetting
	for _, o := range p.in.Set.Objects {
		was, known := past.findBefore(o.Key(), o)
		if !known {
			continue
		}
		had := map[[2]string]int{}
		if was != nil {
			for _, s := range was.Silences {
				had[[2]string{s.Rule, s.Reason}]++
			}
		}
		for _, s := range o.Silences {
			same := [2]string{s.Rule, s.Reason}
			if had[same]--; had[same] < 0 {
				found = append(found, ChangedSetting{
					Path: o.Path, Line: s.Line, Field: "trueup:ignore " + s.Rule, Now: s.Reason, Consequence: silencedSentence(s, o, hushed),
				})
			}
		}
	}
	return found
}

// silencedSentence returns a sentence with the messages that a silence hides of an object.
func silencedSentence(s manifest.CommentMark, o *manifest.Object, hushed diag.List) string {
	var texts []string
	for _, f := range hushed {
		if f.Path == o.Path && s.Governs(f) && !slices.Contains(texts, f.Message) {
			texts = append(texts, f.Message)
		}
	}
	if len(texts) == 0 {
		return "hides nothing in this plan"
	}
	return "hides: " + strings.Join(texts, "; ")
}
