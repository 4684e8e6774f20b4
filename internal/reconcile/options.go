package reconcile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"trueup/internal/apply"
	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// Options choose what to plan. Most are flags.
type Options struct {
	// Options are those that need no manifests, in part of ParseNames; PrepareSession adds the rest.
	plan.Options
	ReadOnly    bool                  // set by commands that change nothing
	Offline     bool                  // compare with the base alone: no token, platform or ledger is needed
	All         bool                  // also list the kinds that no manifest is of
	EachArea    bool                  // compare what can be read if an area can't: Unread has the rest
	PastErrors  bool                  // go on with the files that have no errors; for commands that change nothing
	Whole       bool                  // keep the specs of live objects that are not in git
	More        []manifest.PathSource // manifests that are not in git
	Paths       []string              // the PATH arguments
	Report      func(apply.Event)     // gets the events of apply
	Accept      []string              // what a person accepts, in the forms of Acceptances
	BaseRef     string
	DespiteHold string        // why the apply goes on despite a hold; empty if it does not
	SkipApplied bool          // make no plan if the ledger says that all of this was applied
	Wait        time.Duration // how long apply waits until objects are ready or gone
}

// AcceptOption is what trueup does only if a person accepts it.
type AcceptOption struct{ Form, Meaning string }

// What a person can accept.
const (
	takeOver    = "take-over"
	recreate    = "recreate"
	emptyLive   = "empty-live"
	normalised  = "normalised"
	olderCommit = "older-commit"
)

// Acceptances returns all of them.
func Acceptances() []AcceptOption {
	return []AcceptOption{
		{takeOver + "=KIND/NAME", "git owns its lists: apply drops live elements that git lacks"},
		{recreate + "=KIND/NAME", "apply creates it again after it was deleted, with other data"},
		{emptyLive, "continue even if no object in the ledger is live"},
		{normalised, "send purges even if the server did not keep the changes before them"},
		{olderCommit, "apply a commit that is older than the one that was applied last"},
	}
}

// accepts reports whether a person accepts something that is about no object.
func (o Options) accepts(what string) bool { return slices.Contains(o.Accept, what) }

// ParseNames reads what --target and --accept name.
func (o *Options) ParseNames() (err error) {
	if o.Targets, err = kind.ParseFilter(o.Patterns...); err != nil {
		return fmt.Errorf("--target is %w", err)
	}
	named := map[string][]string{}
	for _, value := range o.Accept {
		form, name, isNamed := strings.Cut(value, "=")
		if isNamed {
			named[form] = append(named[form], name)
			form += "=KIND/NAME"
		}
		if !slices.ContainsFunc(Acceptances(), func(a AcceptOption) bool { return a.Form == form }) {
			return fmt.Errorf("--accept is %q: write %s=KIND/NAME, %s=KIND/NAME, %s, %s or %s", value, takeOver, recreate, emptyLive, normalised, olderCommit)
		}
	}
	if o.TakeOver, err = ParseKeys("--accept "+takeOver, named[takeOver]); err != nil {
		return err
	}
	o.AllowEmptyLive = o.accepts(emptyLive)
	o.AllowRecreate, err = ParseKeys("--accept "+recreate, named[recreate])
	return err
}

// CheckMatches rejects an option that names no manifest: with a typing error, trueup must not report that
// there is nothing to do.
func (o Options) CheckMatches(set *manifest.Set) error {
	for _, value := range o.Accept {
		_, name, named := strings.Cut(value, "=")
		if key, _ := kind.ParseKey(name); named && set.Find(key) == nil { // ParseNames has read it
			return fmt.Errorf("--accept %s names no manifest%s", value, diag.DidYouMean(name, diag.MapList(kind.KeysOf(set.Objects), kind.Key.String)))
		}
	}
	return config.CheckPatterns(o.Patterns, set)
}

// leaveOutBroken returns the manifests of files without errors, and the files that have some. There are no such files if
// the run can't go on without them.
func (o Options) leaveOutBroken(l config.LoadedProject) (sound *manifest.Set, broken []string) {
	if !o.PastErrors {
		return nil, nil
	}
	for _, f := range l.Findings {
		switch {
		case f.Severity != diag.Error:
		case f.Path == "":
			return nil, nil
		case !slices.Contains(broken, f.Path):
			broken = append(broken, f.Path)
		}
	}
	sound = l.Set.WithoutFiles(broken)
	if len(sound.Objects) == 0 || config.CheckPatterns(o.Patterns, sound) != nil {
		return nil, nil
	}
	return sound, broken
}

// ParseKeys returns the objects that a flag names.
func ParseKeys(flag string, values []string) (map[kind.Key]bool, error) {
	named := map[kind.Key]bool{}
	for _, v := range values {
		key, err := kind.ParseKey(v)
		if err != nil {
			return nil, fmt.Errorf("%s is %w", flag, err)
		}
		named[key] = true
	}
	return named, nil
}

// maxDifferences limits the lines of DifferencesFrom.
const maxDifferences = 20

// ExpectedPlan is the plan of --expect. The zero value allows any plan.
type ExpectedPlan struct {
	Digest string
	file   string // has the plan; empty if only the digest is known
}

// ReadExpectedPlan reads FILE or sha256:… of --expect; full is the absolute path of FILE. trueup compares the plan in
// the file, and never sends it. It reads the file again for differences, and holds no second plan until then.
func ReadExpectedPlan(arg, full string) (ExpectedPlan, error) {
	switch {
	case arg == "":
		return ExpectedPlan{}, nil
	case strings.HasPrefix(arg, "sha256:"):
		var sum canon.Sum
		if err := sum.UnmarshalText([]byte(arg)); err != nil {
			return ExpectedPlan{}, fmt.Errorf("--expect: %w", err)
		}
		return ExpectedPlan{Digest: sum.String()}, nil
	}
	p, err := ReadPlan(full)
	if err == nil && p.Offline {
		err = diag.WithExit(diag.ExitStale, errors.New("it was made with --offline and does not know what is live"))
	}
	if err != nil {
		return ExpectedPlan{}, fmt.Errorf("--expect %s: %w; nothing was sent: make a new plan with plan --out FILE", arg, err)
	}
	return ExpectedPlan{Digest: p.Digest, file: full}, nil
}

// ReadPlan reads the file of a plan. If it was changed, the error has the exit code Stale.
func ReadPlan(full string) (*plan.Plan, error) {
	f, info, err := files.Open(full)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var p *plan.Plan
	switch {
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case info.Size() == 0:
		err = errors.New("it is empty: the run that should have written it made no plan")
	default:
		var content []byte
		if content, err = io.ReadAll(files.LimitReader(f, plan.MaxFile)); err == nil {
			p, err = plan.DecodePlan(content)
		}
	}
	if err != nil {
		return nil, diag.WithExit(diag.ExitStale, files.WithoutPath(err))
	}
	return p, nil
}

// DifferencesFrom returns the differences of a plan from the expected one, as lines for a person, or nil.
func (e ExpectedPlan) DifferencesFrom(now *plan.Plan) []string {
	if e.Digest == "" || e.Digest == now.Digest {
		return nil
	}
	expected, err := ReadPlan(e.file)
	if err != nil || expected.Digest != e.Digest {
		return []string{
			fmt.Sprintf("this is not the expected plan, so nothing was sent: its digest is %s, expected %s", now.Digest, e.Digest),
			"manifests, the ledger, live objects, the target or options changed since. To see which, save the plan (plan --out FILE) and use apply --expect FILE",
		}
	}
	lines := plan.Differences(expected, now)
	if more := len(lines) - maxDifferences; more > 0 {
		lines = append(lines[:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return append([]string{
		"this is not the expected plan, so nothing was sent: review a new plan, and expect that one if it is right",
	}, lines...)
}
