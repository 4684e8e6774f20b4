package config

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
)

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
		return failedCheck(diag.ExitAuth, "no token is set", "set "+VariableName(c.area, "TOKEN")+", or token in a profile")
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
		return failedCheck(diag.ExitError, "no address is set", "set "+VariableName(c.area, "URL")+", or url in a profile")
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
