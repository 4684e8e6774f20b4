package reconcile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/plan"
)

// maxDifferences limits the lines of Against.
const maxDifferences = 20

// Expectation is the plan of --expect. The zero value allows any plan.
type Expectation struct {
	Digest string
	plan   *plan.Plan // nil if only the digest is known
}

// Expect reads FILE or sha256:… of --expect; full is the absolute path of FILE. trueup compares the plan in
// the file, and never sends it.
func Expect(arg, full string) (Expectation, error) {
	switch {
	case arg == "":
		return Expectation{}, nil
	case strings.HasPrefix(arg, "sha256:"):
		var sum canon.Sum
		if err := sum.UnmarshalText([]byte(arg)); err != nil {
			return Expectation{}, fmt.Errorf("--expect: %w", err)
		}
		return Expectation{Digest: sum.String()}, nil
	}
	p, err := ReadPlan(full)
	if err == nil && p.Offline {
		err = exit.With(exit.Stale, errors.New("it was made with --offline and does not know what is live"))
	}
	if err != nil {
		return Expectation{}, fmt.Errorf("--expect %s: %w; nothing was sent: make a new plan with plan --out FILE", arg, err)
	}
	return Expectation{Digest: p.Digest, plan: p}, nil
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
		if content, err = io.ReadAll(files.AtMost(f, plan.MaxFile)); err == nil {
			p, err = plan.Decode(content)
		}
	}
	if err != nil {
		return nil, exit.With(exit.Stale, files.WithoutPath(err))
	}
	return p, nil
}

// Against returns the differences of a plan from the expected one, as lines for a person, or nil.
func (e Expectation) Against(now *plan.Plan) []string {
	if e.Digest == "" || e.plan == nil && e.Digest == now.Digest {
		return nil
	}
	if e.plan == nil {
		return []string{
			fmt.Sprintf("this is not the expected plan, so nothing was sent: its digest is %s, expected %s", now.Digest, e.Digest),
			"manifests, the ledger, live objects, the target or options changed since. To see which, save the plan (plan --out FILE) and use apply --expect FILE",
		}
	}
	lines := plan.Differences(e.plan, now)
	if len(lines) == 0 {
		return nil
	}
	if more := len(lines) - maxDifferences; more > 0 {
		lines = append(lines[:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return append([]string{
		"this is not the expected plan, so nothing was sent: review a new plan, and expect that one if it is right",
	}, lines...)
}
