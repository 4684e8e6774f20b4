package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"trueup/internal/blob"
	"trueup/internal/kind"
)

// ProblemError explains why a ledger can't be used. Fix says what to do.
type ProblemError struct {
	Problem, Fix string
	Elsewhere    bool // the ledger belongs to another workspace or platform: this run may use the wrong one
}

func (e *ProblemError) Error() string { return e.Problem }

func newProblem(fix, format string, args ...any) *ProblemError {
	return &ProblemError{Problem: fmt.Sprintf(format, args...), Fix: fix}
}

// ProblemOf returns why a ledger can't be used, or nil for any other error.
func ProblemOf(err error) *ProblemError {
	p, ok := errors.AsType[*ProblemError](err)
	if !ok && errors.Is(err, ErrDamaged) {
		return newProblem("run trueup ledger verify, and restore the files that it names from a copy, or the ledger from an export", "%v", err)
	}
	return p
}

// WithFix adds the fix to the message of a Problem.
func WithFix(err error) error {
	if p := ProblemOf(err); p != nil {
		return fmt.Errorf("%w: %s", err, p.Fix)
	}
	return err
}

// UnreadableView returns the view of a ledger that can't be read. No request is planned with it.
func UnreadableView(err error) View {
	return View{
		Problem: "it can't be read, so trueup does not know what was sent: " + err.Error(),
		Fix:     "run trueup again when the ledger can be reached, or allow this run to read it",
	}
}

const fixProject = "correct ledger: and workspace: in trueup.yaml, or restore the ledger that it names"

// ReadUsable returns the genesis. It returns a *ProblemError unless the ledger exists, belongs to this project, and is
// bound to the platform for the areas.
func (l *Ledger) ReadUsable(ctx context.Context, areas ...kind.Area) (Genesis, error) {
	if p := l.refusedProblem(); p != nil {
		return Genesis{}, p
	}
	g, err := l.readGenesis(ctx)
	if errors.Is(err, ErrNoGenesis) {
		err = l.missingProblem(err)
	}
	if err != nil {
		return Genesis{}, err
	}
	p := l.foreignProblem(g)
	for _, area := range areas {
		if p == nil && g.Origins[area] == "" {
			p = l.unboundProblem(g, area)
		}
	}
	if p == nil && l.cfg.ID == "" {
		p = unexpectedLedgerProblem(g)
	}
	if p != nil {
		return Genesis{}, p
	}
	return g, nil
}

// Create says how to give a ledger to a project that names none.
const Create = "run trueup init --ledger git:refs/trueup/ledger, which creates one"

// refusedProblem returns why this run may use no ledger at all, or nil.
func (l *Ledger) refusedProblem() *ProblemError {
	switch {
	case l.store == nil:
		return newProblem(Create, "no ledger is configured")
	case l.local && l.cfg.LosesDisk:
		return newProblem("use a ledger that all runs share, or set TRUEUP_DISK_IS_KEPT=true if the runner keeps its disk",
			"trueup refuses a ledger in a file in CI: the runner's disk is lost after the run, and the ledger with it")
	}
	return nil
}

func unexpectedLedgerProblem(g Genesis) *ProblemError {
	return newProblem("write id: "+g.LedgerID+" below ledger: in trueup.yaml", "trueup.yaml does not say which ledger is expected")
}

// readGenesis reads the genesis. It returns ErrNoGenesis, too, if the ledger waits for its remote: nothing can be there yet.
func (l *Ledger) readGenesis(ctx context.Context) (Genesis, error) {
	g, err := l.store.ReadGenesis(ctx)
	if l.cfg.ID == "" && blob.LacksRemote(err) {
		err = fmt.Errorf("%w: %w", ErrNoGenesis, err)
	}
	return g, err
}

// missingProblem explains err, an ErrNoGenesis.
func (l *Ledger) missingProblem(err error) *ProblemError {
	switch {
	case blob.LacksRemote(err):
		remote := GitRemote(l.cfg.Store)
		return newProblem(fmt.Sprintf("add it (git remote add %s URL), then run trueup init, which creates the ledger", remote),
			"the ledger %s waits for the git remote %s, which is not here yet", l.cfg.Store, remote)
	case l.cfg.ID == "":
		return newProblem("run trueup ledger init", "there is no ledger at %s", l.cfg.Store)
	case l.local && !l.cfg.StoreFromEnv && !l.HasMemory():
		return newProblem("on the machine that has it, run trueup ledger export and move it to a shared store. If it is lost, run trueup ledger import FILE",
			"this project's ledger is a folder on another machine, or was removed here: %s does not exist, so trueup does not know what was sent", l.cfg.Store)
	}
	return newProblem("restore it: trueup ledger import FILE. Or start a new one: remove its id from trueup.yaml, "+
		"and run trueup ledger init, which asks what was sent before",
		"ledger %s is missing at %s, so trueup does not know what was sent", l.cfg.ID, l.cfg.Store)
}

// foreignProblem returns an error if a genesis belongs to another project or platform, or nil.
func (l *Ledger) foreignProblem(g Genesis) *ProblemError {
	p := cmp.Or(l.otherLedgerProblem(g), l.otherWorkspaceProblem(g))
	for _, area := range kind.Areas() {
		if p == nil && g.Origins[area] != "" {
			p = l.otherOriginProblem(g, area)
		}
	}
	return p
}

func (l *Ledger) otherLedgerProblem(g Genesis) *ProblemError {
	switch {
	case l.cfg.ID == "" || l.cfg.ID == g.LedgerID:
		return nil
	case g.LedgerID == l.cfg.ID+restoring:
		return newProblem("wait for it, or import the same export again with trueup ledger import, which continues",
			"ledger %s at %s is being restored, or its restore was interrupted", l.cfg.ID, l.cfg.Store)
	}
	return newProblem(fixProject, "the ledger at %s is %s, and trueup.yaml names %s", l.cfg.Store, g.LedgerID, l.cfg.ID)
}

// otherWorkspaceProblem compares UUID and name, because addresses contain either.
func (l *Ledger) otherWorkspaceProblem(g Genesis) *ProblemError {
	here := l.cfg.Workspace
	name := cmp.Or(g.WorkspaceName, here.Name)
	if g.Workspace == here.UUID && name == here.Name {
		return nil
	}
	fix := "correct the name and UUID in trueup.yaml. If they are right, name a ledger for that workspace, such as git:refs/trueup/ledger-NAME"
	if g.Workspace == here.UUID {
		fix = "if the workspace was renamed, run trueup ledger init at a terminal, which takes the new name. Otherwise correct it in trueup.yaml"
	}
	p := newProblem(fix, "ledger %s belongs to workspace %s (%s), and trueup.yaml names %s (%s)", l.cfg.Store, name, g.Workspace, here.Name, here.UUID)
	p.Elsewhere = true
	return p
}

// otherOriginProblem returns an error if the configured address of an area differs. A genesis has no address if none was
// configured when it was made.
func (l *Ledger) otherOriginProblem(g Genesis, area kind.Area) *ProblemError {
	bound, configured := g.Origins[area], l.cfg.Origins[area]
	switch {
	case configured == "" || bound == configured || len(g.Origins) == 0:
		return nil
	case bound == "":
		return l.unboundProblem(g, area)
	}
	p := newProblem("use the address that the ledger was made for. If the platform has moved, run trueup ledger init at a terminal; "+
		"for another platform, create another ledger",
		"ledger %s was made for the %s area at %s, and the configured address is %s", g.LedgerID, area, bound, configured)
	p.Elsewhere = true
	return p
}

func (l *Ledger) unboundProblem(g Genesis, area kind.Area) *ProblemError {
	first := fmt.Sprintf("set TRUEUP_%s_URL, and", strings.ToUpper(string(area)))
	if configured := l.cfg.Origins[area]; configured != "" {
		first = fmt.Sprintf("if %s is right,", configured)
	}
	p := newProblem(first+" run trueup ledger init, which adds it to the ledger",
		"ledger %s has no address for the %s area, so trueup sends nothing there", g.LedgerID, area)
	p.Elsewhere = len(g.Origins) > 0 && l.cfg.Origins[area] != ""
	return p
}

// AdmitArea returns nil if trueup may send a token to an area: the ledger belongs to this workspace and the configured
// address, or there is no ledger. If the ledger is missing or unreadable, AdmitArea returns an error unless the user named
// the workspace.
func (l *Ledger) AdmitArea(ctx context.Context, area kind.Area) error {
	if l.store == nil {
		return nil
	}
	g, err := l.readGenesis(ctx)
	noneYet := errors.Is(err, ErrNoGenesis) && l.cfg.ID == "" && !l.cfg.StoreFromEnv
	p := cmp.Or(l.otherWorkspaceProblem(g), l.otherOriginProblem(g, area))
	switch {
	case err == nil && p != nil:
		return p
	case err == nil, !errors.Is(err, ErrStore) && (l.cfg.WorkspaceFromEnv || noneYet):
		return nil
	case errors.Is(err, ErrStore), ctx.Err() != nil:
		return err
	}
	const none = "trueup sends no token, because only the ledger knows where tokens may go"
	const pin = "set TRUEUP_WORKSPACE to the UUID of the right workspace"
	if errors.Is(err, ErrNoGenesis) {
		err = l.missingProblem(err)
	}
	if p = cmp.Or(l.refusedProblem(), ProblemOf(err)); p == nil {
		return fmt.Errorf("%w; %s: allow this run to read the ledger, or %s", err, none, pin)
	}
	return &ProblemError{Problem: p.Problem + "; " + none, Fix: p.Fix + "; or " + pin}
}

// normalizeOrigins rejects malformed addresses, and returns each in one form without user, query and final slash.
func normalizeOrigins(origins map[kind.Area]string) (map[kind.Area]string, error) {
	out := make(map[kind.Area]string, len(origins))
	for area, address := range origins {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme == "" || u.Host == "" {
			// The error does not repeat the address, which may hold a password.
			return nil, fmt.Errorf("address of the %s area is not of the form https://host/path", area)
		}
		if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
			u.Host = strings.TrimSuffix(u.Host, ":"+port)
		}
		out[area] = u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/")
	}
	return out, nil
}

// kindOf returns the kind of a key. It rejects other spellings, which would be other records of the same object.
func kindOf(key kind.Key) (*kind.Kind, error) {
	k, ok := kind.FindKind(key.Kind)
	if !ok || k.Name != key.Kind {
		return nil, fmt.Errorf("ledger: %q is not a kind", key.Kind)
	}
	return k, nil
}
