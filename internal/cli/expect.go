package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/exit"
	"trueup/internal/files"
	"trueup/internal/plan"
)

// maxDifferences is how many lines say what is not as the expected plan says.
const maxDifferences = 20

// expectation is what --expect says of the plan that may be applied; the zero one
// is met by any.
type expectation struct {
	digest string
	// plan is nil where only the digest is known.
	plan *plan.Plan
}

func (e expectation) set() bool { return e.digest != "" }

// expectation reads FILE or sha256:… of --expect. Nothing of a file is ever sent:
// it is only compared.
func (a *app) expectation(arg string) (expectation, error) {
	switch {
	case arg == "":
		return expectation{}, nil
	case strings.HasPrefix(arg, "sha256:"):
		var sum canon.Sum
		if err := sum.UnmarshalText([]byte(arg)); err != nil {
			return expectation{}, fmt.Errorf("--expect: %w", err)
		}
		return expectation{digest: sum.String()}, nil
	}
	p, err := a.readPlan(arg)
	if err == nil && p.Offline {
		err = exit.With(exit.Stale, errors.New("it was made with --offline and does not know what is live"))
	}
	if err != nil {
		return expectation{}, exit.With(exit.Of(err), fmt.Errorf("--expect %s: %w; nothing was sent: make a new plan with plan --out FILE", arg, err))
	}
	return expectation{digest: p.Digest, plan: p}, nil
}

// readPlan reads the file of a plan; one that is not as it was written has the
// code of a plan that is not the expected one.
func (a *app) readPlan(name string) (*plan.Plan, error) {
	f, err := os.OpenFile(a.full(name), os.O_RDONLY|files.NoWait, 0)
	if err != nil {
		return nil, files.WithoutPath(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, files.WithoutPath(err)
	}
	content, err := contentOf(f, info)
	if err != nil {
		return nil, exit.With(exit.Stale, err)
	}
	p, err := plan.Decode(content)
	if err != nil {
		return nil, exit.With(exit.Stale, err)
	}
	return p, nil
}

func contentOf(f io.Reader, info fs.FileInfo) ([]byte, error) {
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() == 0:
		return nil, errors.New("it is empty: the run that should have written it made no plan")
	}
	content, err := io.ReadAll(files.AtMost(f, plan.MaxFile))
	if err != nil {
		return nil, files.WithoutPath(err)
	}
	return content, nil
}

// against says in what a plan is not the expected one, in lines for a person, or
// nothing.
func (e expectation) against(now *plan.Plan) []string {
	if !e.set() || e.plan == nil && e.digest == now.Digest {
		return nil
	}
	if e.plan == nil {
		return []string{
			fmt.Sprintf("this is not the expected plan, so nothing was sent: its digest is %s, expected %s", now.Digest, e.digest),
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

// asExpected tells whoever looks on that the plan is the one that was approved.
func (a *app) asExpected(e expectation) {
	if e.set() && !a.global.quiet {
		a.log(slog.LevelInfo, "this is the expected plan, "+e.digest)
	}
}
