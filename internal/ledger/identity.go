package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"trueup/internal/kind"
)

// ProblemError says why a ledger can't be used, and what to do. It is no fault
// of the ledger's files: those are plain errors.
type ProblemError struct {
	Problem, Fix string
	// Elsewhere says that the ledger is of another workspace or platform, so
	// that this run may be pointed at the wrong one.
	Elsewhere bool
}

func (e *ProblemError) Error() string { return e.Problem }

// Problem is the problem that keeps a ledger from being used; nil where the
// error is another one.
func Problem(err error) *ProblemError {
	var problem *ProblemError
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, ErrDamaged):
		return &ProblemError{Problem: err.Error(), Fix: fixDamaged}
	}
	return nil
}

// Unreadable is the view of a ledger that can't be read: what became of requests
// is not known, and none is planned.
func Unreadable(err error) View {
	return View{
		Problem: "it can't be read, so trueup does not know what was sent: " + err.Error(),
		Fix:     "run trueup again when the ledger can be reached, or allow this run to read it",
	}
}

// The things to do about most problems.
const (
	fixProject = "correct ledger: and workspace: in trueup.yaml, or restore the ledger that it names"
	fixDamaged = "restore the damaged files from a copy: trueup ledger verify lists them; without a copy, see docs/ledger.md"
	fixAnew    = "restore it: trueup ledger import FILE; or start a new one: remove its id from trueup.yaml, and run trueup ledger init, which asks what was sent before"
)

// problem judges what reading the genesis gave: what keeps the ledger from being
// used for the areas, or the error if it could not be read.
func (l *Ledger) problem(genesis Genesis, err error, areas []kind.Area) (*ProblemError, error) {
	if p := l.refusedHere(); p != nil {
		return p, nil
	}
	if errors.Is(err, ErrNoGenesis) {
		return l.missing(), nil
	}
	if err != nil {
		return nil, err
	}
	if p := l.foreign(genesis); p != nil {
		return p, nil
	}
	for _, area := range areas {
		if genesis.Origins[area] == "" {
			return l.unbound(genesis, area), nil
		}
	}
	if l.cfg.ID == "" {
		return &ProblemError{
			Problem: "trueup.yaml does not say which ledger is expected",
			Fix:     fmt.Sprintf("write id: %s below ledger: in trueup.yaml", genesis.LedgerID),
		}, nil
	}
	return nil, nil
}

// refusedHere says why no ledger may be used, whatever is in the store.
func (l *Ledger) refusedHere() *ProblemError {
	switch {
	case l.store == nil:
		return &ProblemError{
			Problem: "no ledger is configured",
			Fix:     "run trueup ledger init, which says what to write into trueup.yaml",
		}
	case l.local && l.cfg.InCI && !l.cfg.EphemeralOK:
		return &ProblemError{
			Problem: "trueup refuses a ledger in a file in CI: a runner's disk is lost after the run, together with the record of what was sent",
			Fix:     "use a ledger that all runs share; if the runner keeps its disk, add --ledger-ephemeral-ok",
		}
	}
	return nil
}

func (l *Ledger) missing() *ProblemError {
	if l.cfg.ID == "" {
		return &ProblemError{
			Problem: fmt.Sprintf("there is no ledger at %s", l.cfg.Store),
			Fix:     "run trueup ledger init",
		}
	}
	return &ProblemError{
		Problem: fmt.Sprintf("ledger %s is missing at %s, so trueup does not know what was sent", l.cfg.ID, l.cfg.Store),
		Fix:     fixAnew,
	}
}

// foreign says how a genesis is of another project or platform, or nil.
func (l *Ledger) foreign(g Genesis) *ProblemError {
	if p := cmp.Or(l.otherLedger(g), l.otherWorkspace(g)); p != nil {
		return p
	}
	for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
		if g.Origins[area] == "" {
			continue
		}
		if p := l.otherOrigin(g, area); p != nil {
			return p
		}
	}
	return nil
}

// otherLedger says that a genesis is not that of the expected ledger, or nil.
func (l *Ledger) otherLedger(g Genesis) *ProblemError {
	switch l.cfg.ID {
	case "", g.LedgerID:
		return nil
	}
	if g.LedgerID == l.cfg.ID+restoring {
		return &ProblemError{
			Problem: fmt.Sprintf("ledger %s at %s is being restored, or its restore was interrupted", l.cfg.ID, l.cfg.Store),
			Fix:     "wait for it, or import the same export again with trueup ledger import, which continues",
		}
	}
	return &ProblemError{
		Problem: fmt.Sprintf("the ledger at %s is %s, and trueup.yaml names %s", l.cfg.Store, g.LedgerID, l.cfg.ID),
		Fix:     fixProject,
	}
}

// otherWorkspace says that a genesis is of another workspace, or nil. Either name of
// it stands in addresses.
func (l *Ledger) otherWorkspace(g Genesis) *ProblemError {
	here := l.cfg.Workspace
	name := cmp.Or(g.WorkspaceName, here.Name)
	if g.Workspace == here.UUID && name == here.Name {
		return nil
	}
	return &ProblemError{
		Problem: fmt.Sprintf("ledger %s belongs to workspace %s (%s), and trueup.yaml names %s (%s)", g.LedgerID, name, g.Workspace, here.Name, here.UUID),
		Fix:     "a ledger belongs to one workspace: name another store for this one, such as git:refs/trueup/ledger-NAME, or " + fixProject, Elsewhere: true,
	}
}

// otherOrigin says that the configured address of an area is not that of a
// genesis, or nil. A genesis without any address was made before there was one.
func (l *Ledger) otherOrigin(g Genesis, area kind.Area) *ProblemError {
	bound, configured := g.Origins[area], l.cfg.Origins[area]
	switch {
	case configured == "" || bound == configured || len(g.Origins) == 0:
		return nil
	case bound == "":
		return l.unbound(g, area)
	}
	return &ProblemError{
		Problem: fmt.Sprintf("ledger %s was made for the %s area at %s, and the configured address is %s", g.LedgerID, area, bound, configured),
		Fix:     "use the address that the ledger was made for. If the platform has moved, run trueup ledger init at a terminal; for another platform, create another ledger", Elsewhere: true,
	}
}

// unbound says that a genesis has no address of an area.
func (l *Ledger) unbound(g Genesis, area kind.Area) *ProblemError {
	fix := fmt.Sprintf("if %s is right, run trueup ledger init, which adds it to the ledger", l.cfg.Origins[area])
	if l.cfg.Origins[area] == "" {
		fix = fmt.Sprintf("set TRUEUP_%s_URL, and run trueup ledger init, which adds it to the ledger", strings.ToUpper(string(area)))
	}
	return &ProblemError{
		Problem: fmt.Sprintf("ledger %s is bound to no address of the %s area, so trueup won't send purges or snapshots there", g.LedgerID, area),
		Fix:     fix, Elsewhere: len(g.Origins) > 0 && l.cfg.Origins[area] != "",
	}
}

// Admit reports whether a token may be sent to an area: nil where the ledger was
// made for the workspace and the configured address, and where there is no ledger.
// What it was made for must be known, unless the user named the
// workspace: a ledger that is missing or can't be read is an error too.
func (l *Ledger) Admit(ctx context.Context, area kind.Area) error {
	if l.store == nil {
		return nil
	}
	g, err := l.genesis(ctx)
	switch {
	case err == nil:
		if p := cmp.Or(l.otherWorkspace(g), l.otherOrigin(g, area)); p != nil {
			return p
		}
		return nil
	case errors.Is(err, ErrStore):
		return err
	case l.cfg.WorkspaceFromEnv, errors.Is(err, ErrNoGenesis) && l.cfg.ID == "" && !l.cfg.StoreFromEnv:
		// In the second case none was made yet.
		return nil
	case ctx.Err() != nil:
		return err
	}
	const none = "trueup sends no token, because only the ledger knows where tokens may go"
	const pin = "set TRUEUP_WORKSPACE to the UUID of the right workspace"
	p := cmp.Or(l.refusedHere(), Problem(err))
	switch {
	case p == nil && errors.Is(err, ErrNoGenesis):
		p = l.missing()
	case p == nil:
		return fmt.Errorf("%w; %s: allow this run to read the ledger, or %s", err, none, pin)
	}
	return &ProblemError{Problem: p.Problem + "; " + none, Fix: p.Fix + "; or " + pin}
}

// genesis is the one that was read last, or else is read now.
func (l *Ledger) genesis(ctx context.Context) (Genesis, error) {
	l.mu.Lock()
	known := l.known
	l.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	return l.readGenesis(ctx)
}

func (l *Ledger) readGenesis(ctx context.Context) (Genesis, error) {
	g, err := l.store.ReadGenesis(ctx)
	if err == nil {
		l.mu.Lock()
		l.known = &g
		l.mu.Unlock()
	}
	return g, err
}

// normalOrigins checks the addresses and writes each in one way, so that a
// trailing slash is no other platform. What could hold a secret is left out.
func normalOrigins(origins map[kind.Area]string) (map[kind.Area]string, error) {
	out := make(map[kind.Area]string, len(origins))
	for area, address := range origins {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		if err != nil || u.Scheme == "" || u.Host == "" {
			// The address is not repeated: it may hold a password.
			return nil, fmt.Errorf("address of the %s area is not of the form https://host/path", area)
		}
		port := u.Port()
		if port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
			u.Host = strings.TrimSuffix(u.Host, ":"+port)
		}
		out[area] = u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/")
	}
	return out, nil
}

// areasOf returns the areas of the keys' kinds.
func areasOf(keys []kind.Key) ([]kind.Area, error) {
	seen := map[kind.Area]bool{}
	for _, key := range keys {
		k, err := kindOf(key)
		if err != nil {
			return nil, err
		}
		seen[k.Area] = true
	}
	var areas []kind.Area
	for _, area := range []kind.Area{kind.Compute, kind.Delivery} {
		if seen[area] {
			areas = append(areas, area)
		}
	}
	return areas, nil
}

// kindOf finds the kind of a key, whose name must be spelled as in the table:
// another spelling would be another record of the same object.
func kindOf(key kind.Key) (*kind.Kind, error) {
	k, ok := kind.Named(key.Kind)
	if !ok || k.Name != key.Kind {
		return nil, fmt.Errorf("ledger: %q is not a kind", key.Kind)
	}
	return k, nil
}
