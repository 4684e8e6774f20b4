package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// doctoring is one look at everything. What could not be had is said by the
// check of it, and the rest is looked at without.
type doctoring struct {
	app   *app
	found diagnosis

	project    project
	projectErr error
	// set are the manifests, nil where they can't be read.
	set      *manifest.Set
	findings diag.List
	setErr   error

	settings    settings
	settingsErr error
	// world holds where to look; its origins are the addresses that are right.
	// worldErr is why there is no sandbox to look at.
	world    *world
	worldErr error
	// ledger is nil where its store can't be one.
	ledger    *ledger.Ledger
	ledgerErr error
	// wrong is what is wrong with the address of an area, reach what one
	// request to it showed, and token why there is none.
	wrong map[kind.Area]error
	reach map[kind.Area]bool
	token map[kind.Area]error
}

// check is one thing to look at.
type check struct {
	group, name string
	run         func(context.Context) finding
}

// checks is the table of all checks, in the order in which they are shown.
func (d *doctoring) checks() []check {
	all := []check{
		{"project", "trueup.yaml", d.checkProject},
		{"project", "manifests", d.checkManifests},
		{"project", "editor", d.checkEditor},
		{"project", "configuration", d.checkSettings},
	}
	machine := []check{{"machine", "git", d.checkGit}, {"machine", "terminal", d.checkTerminal}}
	if d.worldErr != nil {
		return append(all, machine...)
	}
	for _, area := range areas() {
		v := &visit{doctoring: d, area: area}
		all = append(
			all,
			check{string(area), "token", v.checkToken},
			check{string(area), "connection", v.checkConnection},
			check{string(area), "certificate", v.checkCertificate},
			check{string(area), "clock", v.checkClock},
		)
		for _, k := range kind.All() {
			if k.Area == area {
				all = append(all, check{string(area), k.Name, func(ctx context.Context) finding { return v.checkKind(ctx, k) }})
			}
		}
	}
	all = append(all, check{"ledger", "store", d.checkLedger}, check{"ledger", "history", d.checkHistory})
	for _, area := range areas() {
		all = append(all, check{"ledger", "duplicates, " + string(area), func(context.Context) finding { return d.checkProof(area) }})
	}
	return append(all, machine...)
}

// newDoctoring reads what is at hand: files, flags and environment.
func newDoctoring(ctx context.Context, a *app) *doctoring {
	d := &doctoring{app: a, wrong: map[kind.Area]error{}, reach: map[kind.Area]bool{}, token: map[kind.Area]error{}}
	d.found = diagnosis{
		Format: "trueup.doctor/v1", Sandbox: a.global.sandbox,
		Origins: map[kind.Area]string{}, Proofs: map[kind.Area]ledger.Proof{},
	}
	d.project, d.projectErr = a.findProject()
	d.loadManifests(ctx)
	d.open(ctx)
	if d.worldErr != nil {
		d.found.Settings = []shownSetting{}
		return d
	}
	if l, err := d.world.book(ctx); err == nil {
		d.ledger, d.found.Ledger.Store = l, d.world.ledger.Store
	} else {
		// What is no store may hold a password.
		d.ledgerErr = err
	}
	d.found.Settings = d.shownSettings()
	if d.project.exists() || a.global.sandbox {
		d.found.Workspace = &d.world.workspace
	}
	for area, origin := range d.world.origins {
		d.found.Origins[area] = origin
	}
	return d
}

func (d *doctoring) close() { d.world.close() }

// loadManifests reads what the project names; without a project there may be
// anything here.
func (d *doctoring) loadManifests(ctx context.Context) {
	if !d.project.exists() {
		return
	}
	l, err := d.app.load(ctx, nil, false)
	d.set, d.findings, d.setErr = l.set, l.findings, err
}

// open prepares the world as a run does, but goes on after what is wrong. No
// real platform and no real ledger stands in for a sandbox (docs/design.md 0.13).
func (d *doctoring) open(ctx context.Context) {
	a := d.app
	if a.global.sandbox {
		set := d.set
		if set == nil {
			set = &manifest.Set{}
		}
		if d.world, d.worldErr = a.enterSandbox(ctx, d.project, set); d.worldErr != nil {
			d.world = &world{}
		}
		return
	}
	d.settings, d.settingsErr = a.settings()
	roots, err := d.settings.trusted()
	if err != nil {
		d.settingsErr = errors.Join(d.settingsErr, err)
	}
	d.world, d.wrong = a.point(d.settings, d.project)
	d.world.api.RootCAs = roots
}

func (d *doctoring) checkProject(context.Context) finding {
	switch {
	case d.projectErr != nil:
		return finding{Status: failed, code: exitError, Says: d.projectErr.Error(), Fix: "see docs/configuration.md"}
	case d.project.exists() && d.world.pinned() != nil:
		return finding{Status: failed, code: exitError, Says: d.world.pinned().Error()}
	case d.project.exists():
		return finding{Status: good, Says: filepath.Join(d.project.dir, projectFile)}
	case d.app.global.sandbox:
		return finding{Status: skipped, Says: "none; the sandbox does not need one"}
	}
	return finding{
		Status: failed, code: exitError, Says: "there is none " + d.app.searched() + ", so trueup does not know the workspace",
		Fix: "run trueup init, or try --sandbox",
	}
}

func (d *doctoring) checkManifests(context.Context) finding {
	switch {
	case d.setErr != nil:
		return finding{Status: failed, code: exitError, Says: inOneLine(d.setErr), Fix: "correct manifests: in trueup.yaml"}
	case d.set == nil:
		return finding{Status: skipped, Says: "no trueup.yaml says where they are"}
	case d.findings.HasErrors():
		return finding{Status: failed, code: exitError, Says: "they have errors, so apply would send nothing", Fix: "trueup validate shows them"}
	}
	return finding{Status: good, Says: diag.Plural(len(d.set.Objects), "object", "objects")}
}

func (d *doctoring) checkSettings(context.Context) finding {
	switch {
	case d.worldErr != nil:
		return finding{Status: failed, code: exitOf(d.worldErr), Says: inOneLine(d.worldErr)}
	case d.settingsErr != nil:
		return finding{Status: failed, code: exitError, Says: inOneLine(d.settingsErr)}
	case d.app.global.sandbox:
		return finding{Status: good, Says: "the sandbox has its own addresses and tokens"}
	}
	if above := d.settings.above(); len(above) > 0 {
		return finding{Status: warned, Says: strings.Join(above, "; "), Fix: "unset it to use the profile's"}
	}
	if d.settings.profile.name == "" {
		return finding{Status: good, Says: "no profile: flags, environment and defaults"}
	}
	return finding{Status: good, Says: "profile " + d.settings.profile.name + " of " + d.settings.profile.file}
}

// checkLedger reads the ledger's first record, as every run does.
func (d *doctoring) checkLedger(ctx context.Context) finding {
	if !d.project.exists() && !d.app.global.sandbox {
		return finding{Status: skipped, Says: "no trueup.yaml says where it is"}
	}
	says := &d.found.Ledger
	err := d.ledgerErr
	if err == nil {
		var g ledger.Genesis
		g, err = d.ledger.Usable(ctx, d.areas()...)
		says.ID = g.LedgerID
		for area, proof := range g.Proofs {
			d.found.Proofs[area] = proof
		}
	}
	problem := ledger.Problem(err)
	switch {
	case problem != nil:
		says.Problem, says.Fix = problem.Problem, problem.Fix
		return finding{Status: failed, code: exitNeedsPerson, Says: problem.Problem, Fix: problem.Fix}
	case err != nil:
		view := ledger.Unreadable(err)
		says.Problem, says.Fix = view.Problem, view.Fix
		return finding{Status: failed, code: exitOf(err), Says: inOneLine(errors.New(view.Problem)), Fix: view.Fix}
	}
	return finding{Status: good, Says: "readable, and is " + says.ID + "; writing was not tested"}
}

// checkHistory looks whether this machine would notice a ledger that was rolled back.
func (d *doctoring) checkHistory(context.Context) finding {
	switch {
	case d.found.Ledger.ID == "" || d.found.Ledger.Problem != "":
		return finding{Status: skipped, Says: "the ledger is not there", follows: true}
	case d.ledger.Remembers():
		return finding{Status: good, Says: "seen on this machine before, so trueup would notice a rollback"}
	}
	return finding{Status: skipped, Says: "never seen on this machine, so trueup would not notice a rollback"}
}

// areas are those that the ledger must be bound to: of the manifests, or all where there
// are none.
func (d *doctoring) areas() []kind.Area {
	if d.set == nil || len(d.set.Objects) == 0 {
		return areas()
	}
	return areasOf(d.set)
}

// checkProof tells what is known of second requests of the same name.
func (d *doctoring) checkProof(area kind.Area) finding {
	if d.found.Ledger.ID == "" || d.found.Ledger.Problem != "" {
		return finding{Status: skipped, Says: "needs the ledger", follows: true}
	}
	f := finding{Status: skipped, Says: proofText(area, d.found.Proofs)}
	if _, ok := d.found.Proofs[area]; ok {
		f.Status = good
	}
	return f
}

// checkGit looks for the programs that a ledger in git needs.
func (d *doctoring) checkGit(ctx context.Context) finding {
	needed := strings.HasPrefix(d.world.ledger.Store, "git:")
	says, err := git.Version(ctx)
	switch {
	case err != nil && needed:
		return finding{Status: failed, code: exitError, Says: "git is not installed or not in PATH, and the ledger needs it", Fix: "install git"}
	case err != nil:
		return finding{Status: skipped, Says: "git is not installed, and is not needed here"}
	}
	if _, err := exec.LookPath("ssh"); err != nil && needed {
		return finding{Status: warned, Says: says + ", and there is no ssh", Fix: "install ssh if the remote's address needs it"}
	}
	return finding{Status: good, Says: says}
}

// checkTerminal says what the run takes its surroundings for.
func (d *doctoring) checkTerminal(context.Context) finding {
	a := d.app
	says := "standard output is not a terminal"
	if a.env.Width > 0 {
		says = fmt.Sprintf("%d columns", a.env.Width)
	}
	if a.useColor(a.env.Width > 0) {
		says += ", in colour"
	} else {
		says += ", without colour"
	}
	if a.inCI() {
		says += ", in CI"
	}
	return finding{Status: good, Says: says}
}
