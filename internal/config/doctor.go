package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// EffectiveSetting is an effective setting, without any secret.
type EffectiveSetting struct {
	Name string `json:"name"`
	// Value is empty if nothing is set.
	Value string `json:"value"`
	// Origin is the flag, the variable, the place in a file, or default.
	Origin string `json:"origin"`
	// Optional settings are not shown if they are not set.
	Optional bool `json:"-"`
}

// DoctorReport is what doctor shows (schemas/doctor.schema.json).
type DoctorReport struct {
	Format   string `json:"format"`
	Result   string `json:"result"`
	ExitCode int    `json:"exitCode"`
	Sandbox  bool   `json:"sandbox"`
	// Settings and Checks are in the order in which they are shown.
	Settings  []EffectiveSetting   `json:"settings"`
	Checks    []DoctorCheck        `json:"checks"`
	Workspace *kind.Workspace      `json:"workspace,omitempty"`
	Origins   map[kind.Area]string `json:"origins"`
	Ledger    struct {
		Store   string `json:"store,omitempty"`
		ID      string `json:"id,omitempty"`
		Problem string `json:"problem,omitempty"`
		Fix     string `json:"fix,omitempty"`
	} `json:"ledger"`
	// Proofs say where a refusal of duplicates was seen.
	Proofs map[kind.Area]ledger.DuplicateProof `json:"proofs"`
}

// DoctorCheck is a check, and how it ended.
type DoctorCheck struct {
	// Group is project, an area or ledger.
	Group  string      `json:"group"`
	Name   string      `json:"check"`
	Status CheckStatus `json:"status"`
	Says   string      `json:"says"`
	Fix    string      `json:"fix,omitempty"`
	// Follows is true if another check says why there is nothing to say.
	Follows bool `json:"-"`
	code    int  // the exit code of a failure
}

// CheckStatus is how a check ended, in one word.
type CheckStatus string

// The statuses of checks.
const (
	CheckOK      CheckStatus = "ok"
	CheckWarned  CheckStatus = "warn"
	CheckFailed  CheckStatus = "fail"
	CheckSkipped CheckStatus = "skipped"
)

func passedCheck(says string) DoctorCheck  { return DoctorCheck{Status: CheckOK, Says: says} }
func skippedCheck(says string) DoctorCheck { return DoctorCheck{Status: CheckSkipped, Says: says} }

// skippedDependentCheck skips a check for a reason that another check gives.
func skippedDependentCheck(says string) DoctorCheck {
	return DoctorCheck{Status: CheckSkipped, Says: says, Follows: true}
}

func warnedCheck(says, fix string) DoctorCheck {
	return DoctorCheck{Status: CheckWarned, Says: says, Fix: fix}
}

func failedCheck(code int, says, fix string) DoctorCheck {
	if code != diag.ExitAuth && code != diag.ExitNeedsPerson {
		code = diag.ExitError
	}
	return DoctorCheck{Status: CheckFailed, code: code, Says: says, Fix: fix}
}

// doctorChecker makes the checks. If something is wrong, it checks the rest.
type doctorChecker struct {
	Options
	project    Project
	projectErr error
	set        *manifest.Set // nil if the manifests can't be read
	findings   diag.List
	setErr     error
	report     DoctorReport
	// platform is nil if the sandbox can't be opened, and ledger if its store is wrong.
	platform    *Platform
	sandboxErr  error
	ledger      *ledger.Ledger
	ledgerErr   error
	settings    Settings
	settingsErr error
	addressErrs map[kind.Area]error // say what is wrong with the address of an area
}

// RunDoctor makes all checks.
func RunDoctor(ctx context.Context, o Options) DoctorReport {
	e := &doctorChecker{Options: o, report: DoctorReport{
		Format: "trueup.doctor/v1", Sandbox: o.Sandbox, Settings: []EffectiveSetting{},
		Origins: map[kind.Area]string{}, Proofs: map[kind.Area]ledger.DuplicateProof{},
	}}
	if e.project, e.projectErr = o.FindProject(); e.project.Exists() {
		var l LoadedProject
		l, e.setErr = o.LoadProject(ctx, nil)
		e.set, e.findings = l.Set, l.Findings
	}
	r := &e.report
	if e.openAll(ctx); e.platform != nil {
		defer e.platform.Close()
		r.Origins, r.Settings = e.platform.Ledger.Origins, e.effectiveSettings()
		if e.ledgerErr == nil { // what is no store may have a password
			r.Ledger.Store = e.platform.Ledger.Store
		}
		if e.project.Exists() || e.Sandbox {
			r.Workspace = &e.platform.Workspace
		}
	}
	e.checkAll(ctx)
	for _, f := range r.Checks {
		r.ExitCode = diag.WorstExit(r.ExitCode, f.code)
	}
	r.ExitCode = diag.OrInterrupted(ctx, r.ExitCode)
	r.Result = diag.ExitName(r.ExitCode)
	return *r
}

// checkAll checks everything, in the order in which it is shown.
func (e *doctorChecker) checkAll(ctx context.Context) {
	e.addCheck("project", ProjectFile, e.checkProject())
	e.addCheck("project", "manifests", e.checkManifests())
	e.addCheck("project", "configuration", e.checkSettings())
	if e.sandboxErr == nil {
		for _, area := range kind.Areas() {
			(&areaChecks{doctorChecker: e, area: area}).checkAll(ctx)
		}
		e.addCheck("ledger", "store", e.checkLedger(ctx))
		for _, area := range kind.Areas() {
			e.addCheck("ledger", "duplicates, "+string(area), e.checkProof(area))
		}
	}
}

func (e *doctorChecker) addCheck(group, check string, f DoctorCheck) {
	f.Group, f.Name = group, check
	e.report.Checks = append(e.report.Checks, f)
}

func (e *doctorChecker) checkProject() DoctorCheck {
	switch exists := e.project.Exists(); {
	case e.projectErr != nil:
		return failedCheck(diag.ExitError, e.projectErr.Error(), "correct the file; trueup explain --schema project describes it")
	case exists && e.platform != nil && e.platform.Pin.CheckWorkspace(e.platform.Workspace) != nil:
		return failedCheck(diag.ExitError, e.platform.Pin.CheckWorkspace(e.platform.Workspace).Error(), "")
	case exists:
		return passedCheck(filepath.Join(e.project.Dir, ProjectFile))
	case e.Sandbox:
		return skippedCheck("none; the sandbox does not need one")
	}
	return failedCheck(diag.ExitError, "there is no trueup.yaml "+e.SearchedFolders()+", so trueup does not know the workspace", "run trueup init, or try --sandbox")
}

func (e *doctorChecker) checkManifests() DoctorCheck {
	switch {
	case e.setErr != nil:
		return failedCheck(diag.ExitError, diag.OneLine(e.setErr), "correct manifests: in trueup.yaml")
	case e.set == nil:
		return skippedCheck("no trueup.yaml names the manifests")
	case e.findings.HasErrors():
		return failedCheck(diag.ExitError, "the manifests have errors, so apply would send nothing", "trueup validate shows them")
	}
	return passedCheck(diag.Plural(len(e.set.Objects), "object", "objects"))
}

func (e *doctorChecker) checkSettings() DoctorCheck {
	switch {
	case e.sandboxErr != nil:
		return failedCheck(diag.ExitOf(e.sandboxErr), diag.OneLine(e.sandboxErr), "")
	case e.settingsErr != nil:
		return failedCheck(diag.ExitError, diag.OneLine(e.settingsErr), "")
	case e.Sandbox:
		return passedCheck("the sandbox has its own addresses and tokens")
	case len(e.settings.OverriddenVariables()) > 0:
		return warnedCheck(strings.Join(e.settings.OverriddenVariables(), "; "), "unset it to use the profile's")
	case e.settings.Profile.Name == "":
		return passedCheck("no profile: flags, environment and defaults")
	}
	return passedCheck("profile " + e.settings.Profile.Name + " of " + e.settings.Profile.File)
}

// checkLedger reads the first record of the ledger, as every run does.
func (e *doctorChecker) checkLedger(ctx context.Context) DoctorCheck {
	if !e.project.Exists() && !e.Sandbox {
		return skippedCheck("no trueup.yaml names a ledger")
	}
	shown, err := &e.report.Ledger, e.ledgerErr
	if err == nil {
		needed := e.usedAreas()
		if len(needed) == 0 {
			needed = kind.Areas()
		}
		var g ledger.Genesis
		g, err = e.ledger.ReadUsable(ctx, needed...)
		shown.ID = g.LedgerID
		maps.Copy(e.report.Proofs, g.Proofs)
	}
	if err == nil {
		return passedCheck("readable, with the id " + shown.ID + "; writing was not tested")
	}
	code := diag.ExitOf(err)
	if problem := ledger.ProblemOf(err); problem != nil {
		code, shown.Problem, shown.Fix = diag.ExitNeedsPerson, problem.Problem, problem.Fix
	} else {
		view := ledger.UnreadableView(err)
		shown.Problem, shown.Fix = diag.OneLine(errors.New(view.Problem)), view.Fix
	}
	return failedCheck(code, shown.Problem, shown.Fix)
}

// usedAreas returns the areas that have manifests.
func (e *doctorChecker) usedAreas() []kind.Area { return cmp.Or(e.set, &manifest.Set{}).Areas() }

// checkProof says what is known of second requests with the same name.
func (e *doctorChecker) checkProof(area kind.Area) DoctorCheck {
	if e.report.Ledger.ID == "" || e.report.Ledger.Problem != "" {
		return skippedDependentCheck("needs the ledger")
	}
	if proof, proven := e.report.Proofs[area]; proven {
		return passedCheck("rejected, " + proof.String())
	}
	if kind.RequestKind().Area == area {
		return skippedCheck("unknown; trueup doctor --probe-duplicates HOSTNAME finds out")
	}
	return skippedCheck("unknown, and there is no harmless way to test it")
}

// openAll opens the platform and the ledger, and continues after what is wrong. For a sandbox it reads
// no setting of the real platform.
func (e *doctorChecker) openAll(ctx context.Context) {
	if e.Sandbox {
		e.platform, e.sandboxErr = e.OpenSandboxPlatform(ctx, e.project, cmp.Or(e.set, &manifest.Set{}))
		if e.sandboxErr != nil {
			return
		}
	} else {
		e.settings, e.settingsErr = e.ResolveSettings(e.project)
		e.platform, e.addressErrs = e.RealPlatform(e.settings, e.project)
		var err error
		e.platform.API.RootCAs, err = e.settings.RootCAs()
		e.settingsErr = errors.Join(e.settingsErr, err)
	}
	e.ledger, e.ledgerErr = e.platform.OpenLedger(ctx)
}

// effectiveSettings returns the settings that a run would use, and who chose each.
func (e *doctorChecker) effectiveSettings() (list []EffectiveSetting) {
	if e.Sandbox {
		for _, area := range kind.Areas() {
			list = append(list, EffectiveSetting{Name: string(area) + ".url", Value: e.platform.Ledger.Origins[area], Origin: "--sandbox"})
		}
		return append(list, EffectiveSetting{Name: "ledger.store", Value: e.platform.Ledger.Store, Origin: "--sandbox"})
	}
	add := func(name, value, origin string) *EffectiveSetting {
		if value == "" {
			origin = ""
		}
		list = append(list, EffectiveSetting{Name: name, Value: value, Origin: cmp.Or(origin, "default")})
		return &list[len(list)-1]
	}
	s, w := e.settings, e.platform
	add("profile", s.Profile.Name, s.ProfileFrom)
	ws := ""
	if e.project.Exists() {
		ws = fmt.Sprintf("%s (%s)", e.project.Workspace.Name, e.project.Workspace.UUID)
	}
	add("workspace", ws, ProjectFile)
	add("workspace.pin", w.Pin.Workspace, w.Pin.Origin).Optional = true
	for _, area := range kind.Areas() {
		url, token, source := s.URLs[area], s.Tokens[area], ""
		if e.addressErrs[area] != nil {
			url.Value = "not a usable address"
		}
		if !token.IsZero() {
			source = token.Source()
		}
		add(string(area)+".url", url.Value, url.Origin)
		add(string(area)+".token", source, token.Origin)
	}
	store, origin := w.Ledger.Store, ProjectFile
	if e.ledgerErr != nil {
		store = "not a usable store"
	}
	if w.Ledger.StoreFromEnv {
		origin = "TRUEUP_LEDGER"
	}
	add("ledger.store", store, origin)
	add("caFile", s.CAFile.Value, s.CAFile.Origin).Optional = true
	add("proxy", s.Proxy.Value, s.Proxy.Origin).Optional = true
	return list
}

// When something is worth a warning.
const (
	expiresSoon = 14 * 24 * time.Hour
	clocksApart = 5 * time.Minute
)

type areaChecks struct {
	*doctorChecker
	area kind.Area
	seen api.Reachability
	// connected is true if the area answered, and hasToken if there is a token for it.
	connected, hasToken bool
}

func (c *areaChecks) checkAll(ctx context.Context) {
	e, first := c.endpoint(), true
	isNeeded := e.Base != nil || c.addressErrs[c.area] != nil || e.Ask != nil || !e.Token.IsZero() || slices.Contains(c.usedAreas(), c.area)
	check := func(name string, run func(context.Context) DoctorCheck) {
		f := DoctorCheck{Status: CheckSkipped, Says: "no manifest needs it", Follows: !first}
		if isNeeded {
			f = run(ctx)
		}
		c.addCheck(string(c.area), name, f)
		first = false
	}
	check("token", c.checkToken)
	check("connection", c.checkConnection)
	check("certificate", c.checkCertificate)
	check("clock", c.checkClock)
	for _, k := range kind.AllKinds() {
		if k.Area == c.area {
			check(k.Name, func(ctx context.Context) DoctorCheck { return c.checkKind(ctx, k) })
		}
	}
}

func (c *areaChecks) endpoint() api.Endpoint { return c.platform.API.Endpoints[c.area] }

func (c *areaChecks) checkToken(ctx context.Context) DoctorCheck {
	e := c.endpoint()
	switch {
	case !e.Token.IsZero():
		c.hasToken = true
		return passedCheck("the sandbox's own")
	case e.Ask == nil:
		return failedCheck(diag.ExitAuth, "no token is set", "set "+api.VariableName(c.area, "TOKEN")+", or token in a profile")
	}
	if err := c.platform.AdmitAreas(ctx, c.area); err != nil {
		if problem := ledger.ProblemOf(err); problem != nil {
			return failedCheck(diag.ExitNeedsPerson, "trueup does not send it: "+problem.Problem, problem.Fix)
		}
		return failedCheck(diag.ExitError, "trueup does not send it: "+err.Error(), "")
	}
	if _, err := e.Ask(ctx); err != nil {
		return failedCheck(diag.ExitAuth, err.Error(), "")
	}
	c.hasToken = true
	return passedCheck("there is one, from " + c.settings.Tokens[c.area].Source())
}

// checkConnection sends a request without a token.
func (c *areaChecks) checkConnection(ctx context.Context) DoctorCheck {
	if wrong := c.addressErrs[c.area]; wrong != nil {
		return failedCheck(diag.ExitError, wrong.Error(), "")
	}
	if c.endpoint().Base == nil {
		return failedCheck(diag.ExitError, "no address is set", "set "+api.VariableName(c.area, "URL")+", or url in a profile")
	}
	reader := api.NewReader(c.platform.API)
	defer reader.Close()
	var err error
	if c.seen, err = reader.CheckReachability(ctx, c.area); err != nil {
		return failedCheck(diag.ExitError, err.Error(),
			"check the address; HTTPS_PROXY or proxy in a profile names a proxy, TRUEUP_CA_FILE or caFile a certificate authority to trust")
	}
	c.connected = true
	says := "answered in " + c.seen.Took.Round(time.Millisecond).String()
	if c.seen.TLS != "" {
		says += ", " + c.seen.TLS
	}
	if c.seen.Proxy != "" {
		says += ", through the proxy " + c.seen.Proxy
	}
	return passedCheck(says)
}

func (c *areaChecks) checkCertificate(context.Context) DoctorCheck {
	switch {
	case c.seen.Expires.IsZero() && c.connected:
		return skippedDependentCheck("none: plain http on loopback")
	case c.seen.Expires.IsZero():
		return skippedDependentCheck("not seen")
	}
	left := c.seen.Expires.Sub(c.Now())
	says := fmt.Sprintf("issued by %s, valid until %s", c.seen.Issuer, c.seen.Expires.UTC().Format(time.DateOnly))
	days := diag.Plural(int(left.Hours()/24), "day", "days")
	switch {
	case left <= 0:
		return failedCheck(diag.ExitError, says+": it has expired", "ask the operator of the platform to renew it; if it was renewed, this machine's clock is wrong")
	case left < expiresSoon:
		return warnedCheck(says, fmt.Sprintf("it expires in %s: ask the operator of the platform to renew it", days))
	}
	return passedCheck(says + ", " + days + " from now")
}

func (c *areaChecks) checkClock(context.Context) DoctorCheck {
	server := c.seen.Clock.Server
	switch {
	case !c.connected:
		return skippedDependentCheck("not seen")
	case server.IsZero():
		return warnedCheck("answers have no Date, so trueup uses this machine's clock", "keep this machine's clock synchronised")
	}
	ahead := server.Sub(c.seen.Clock.Wall)
	if ahead.Abs() <= clocksApart {
		return passedCheck(fmt.Sprintf("at most %s apart", (ahead.Abs() + time.Second).Truncate(time.Second)))
	}
	word := "ahead of"
	if ahead < 0 {
		word = "behind"
	}
	return warnedCheck(fmt.Sprintf("the platform's is %s %s this machine's", ahead.Abs().Round(time.Minute), word), "set this machine's clock")
}

func (c *areaChecks) checkKind(ctx context.Context, k *kind.Kind) DoctorCheck {
	switch {
	case !k.Documents(kind.List):
		return skippedCheck(untriedVerbs(k))
	case !c.connected || !c.hasToken:
		return skippedDependentCheck("needs a connection and a token")
	case c.report.Workspace == nil:
		return skippedDependentCheck("needs a workspace")
	}
	cfg := c.platform.API
	cfg.Retry.Tries = 1
	reader := api.NewReader(cfg)
	defer reader.Close()
	hasAny, err := reader.HasAny(ctx, k)
	if question, fix := c.report.Workspace.EmptyListQuestion(k); err == nil && question != "" && !hasAny && !c.Sandbox {
		return warnedCheck(question, fix)
	}
	switch {
	case err == nil && hasAny:
		return passedCheck("may list; " + untriedVerbs(k))
	case err == nil:
		return passedCheck("may list (the list is empty); " + untriedVerbs(k))
	}
	f := failedCheck(diag.ExitOf(err), err.Error(), "")
	switch answer := api.AsError(err); {
	case answer.Status == http.StatusForbidden:
		f.Fix = fmt.Sprintf("use the token of a user who may manage %s objects of the workspace %s", k.Name, c.platform.API.Workspace.Name)
	case answer.Class == api.Misdirected:
		f.Fix = "compare workspace: in trueup.yaml with the workspaces section of your profile in the web console, and the address with the platform's documentation"
	}
	return f
}

// untriedVerbs names the verbs that were not tried, and the role that they need.
func untriedVerbs(k *kind.Kind) string {
	var verbs []string
	for i, verb := range []kind.Verb{kind.Create, kind.Patch, kind.Delete} {
		if k.Documents(verb) {
			verbs = append(verbs, []string{"create", "patch", "delete"}[i])
		}
	}
	says := "not tried: " + strings.Join(verbs, ", ")
	if k.Role != "" {
		says += ", which needs the role " + k.Role
	}
	return says
}
