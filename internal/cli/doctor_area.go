package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"trueup/internal/api"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// When something is worth a warning.
const (
	expiresSoon = 14 * 24 * time.Hour
	clocksApart = 5 * time.Minute
)

// visit is a look at one area.
type visit struct {
	*doctoring
	area kind.Area
	seen api.Reach
}

func (v *visit) endpoint() api.Endpoint { return v.world.api.Endpoints[v.area] }

// needed reports whether a manifest is of the area.
func (v *visit) needed() bool {
	return v.set != nil && slices.ContainsFunc(v.set.Objects, func(o *manifest.Object) bool { return o.Kind.Area == v.area })
}

// unused says that nothing speaks of the area.
func (v *visit) unused() bool {
	e := v.endpoint()
	return e.Base == nil && v.wrong[v.area] == nil && e.Ask == nil && e.Token.IsZero() && !v.needed()
}

func (v *visit) checkToken(ctx context.Context) finding {
	e := v.endpoint()
	switch {
	case v.unused():
		return finding{Status: skipped, Says: "not needed by any manifest"}
	case !e.Token.IsZero():
		return finding{Status: good, Says: "the sandbox's own"}
	case e.Ask == nil:
		v.token[v.area] = errors.New("there is no token")
		return finding{
			Status: failed, code: exitAuth, Says: "there is none",
			Fix: "set " + areaVariable(v.area, "TOKEN") + ", or token in a profile",
		}
	}
	if err := v.world.admit(ctx, v.area); err != nil {
		v.token[v.area] = err
		return noneSent(err)
	}
	if _, err := e.Ask(ctx); err != nil {
		v.token[v.area] = err
		return finding{Status: failed, code: exitAuth, Says: err.Error()}
	}
	return finding{Status: good, Says: "there is one, from " + v.settings.tokens[v.area].source()}
}

// noneSent says why a token may not be sent, and so is not asked for.
func noneSent(err error) finding {
	f := finding{Status: failed, code: exitError, Says: "none is sent: " + err.Error()}
	if problem := ledger.Problem(err); problem != nil {
		f.code, f.Says, f.Fix = exitNeedsPerson, "none is sent: "+problem.Problem, problem.Fix
	}
	return f
}

// checkConnection goes through the name's look-up, the connection and TLS, with
// a request that carries no token.
func (v *visit) checkConnection(ctx context.Context) finding {
	switch {
	case v.unused():
		return finding{Status: skipped, Says: "not needed by any manifest", follows: true}
	case v.wrong[v.area] != nil:
		return finding{Status: failed, code: exitError, Says: v.wrong[v.area].Error()}
	case v.endpoint().Base == nil:
		return finding{Status: failed, code: exitError, Says: "there is no address", Fix: "set " + areaVariable(v.area, "URL") + ", or url in a profile"}
	}
	reader := api.NewReader(v.world.api)
	defer reader.Close()
	var err error
	if v.seen, err = reader.Reach(ctx, v.area); err != nil {
		return finding{Status: failed, code: exitError, Says: v.way(err.Error()), Fix: v.wayFix(err)}
	}
	v.reach[v.area] = true
	says := []string{"an answer in " + v.seen.Took.Round(time.Millisecond).String()}
	if v.seen.TLS != "" {
		says = append(says, v.seen.TLS)
	}
	return finding{Status: good, Says: v.way(strings.Join(says, ", "))}
}

// way adds the proxy that is in the way.
func (v *visit) way(says string) string {
	if v.seen.Proxy != "" && !strings.Contains(says, "proxy") {
		says += ", through the proxy " + v.seen.Proxy
	}
	return says
}

// wayFix is what to do about a connection that failed.
func (v *visit) wayFix(err error) string {
	var invalid x509.CertificateInvalidError
	var other x509.HostnameError
	outOfTime := errors.As(err, &invalid) && invalid.Reason == x509.Expired
	switch {
	case outOfTime && v.seen.Expires.After(v.app.env.Now()):
		return "set this machine's clock"
	case outOfTime:
		// The line of the certificate says what to do.
		return ""
	case errors.As(err, &other):
		return "check the address: the certificate there is for another host"
	case v.seen.Issuer != "":
		return "the certificate is by " + v.seen.Issuer + ": if that is yours, trust it with --ca-file, TRUEUP_CA_FILE or caFile in a profile"
	case strings.Contains(err.Error(), "proxy"):
		return ""
	case v.settings.proxy.Value == "":
		return "check the address; if you use a proxy, set HTTPS_PROXY or proxy in a profile"
	}
	return "check the address"
}

func (v *visit) checkCertificate(context.Context) finding {
	if v.seen.Expires.IsZero() {
		says := "not seen"
		if v.reach[v.area] {
			says = "none: plain http on loopback"
		}
		return finding{Status: skipped, Says: says, follows: true}
	}
	left := v.seen.Expires.Sub(v.app.env.Now())
	says := fmt.Sprintf("by %s, until %s", v.seen.Issuer, v.seen.Expires.UTC().Format(time.DateOnly))
	switch {
	case left <= 0:
		return finding{
			Status: failed, code: exitError, Says: says + ": it has expired",
			Fix: "ask the operator of the platform to renew it; if it was renewed, this machine's clock is wrong",
		}
	case left < expiresSoon:
		return finding{Status: warned, Says: says, Fix: fmt.Sprintf("it expires in %s: ask the operator of the platform to renew it", diag.Plural(int(left.Hours()/24), "day", "days"))}
	}
	return finding{Status: good, Says: fmt.Sprintf("%s, %s from now", says, diag.Plural(int(left.Hours()/24), "day", "days"))}
}

func (v *visit) checkClock(context.Context) finding {
	server := v.seen.Clock.Server
	switch {
	case !v.reach[v.area]:
		return finding{Status: skipped, Says: "not seen", follows: true}
	case server.IsZero():
		return finding{Status: warned, Says: "answers have no Date, so trueup uses this machine's clock", Fix: "keep this machine's clock synchronised"}
	}
	ahead := server.Sub(v.seen.Clock.Wall)
	if ahead.Abs() <= clocksApart {
		return finding{Status: good, Says: fmt.Sprintf("at most %s apart", (ahead.Abs() + time.Second).Truncate(time.Second))}
	}
	word := "ahead of"
	if ahead < 0 {
		word = "behind"
	}
	return finding{
		Status: warned, Says: fmt.Sprintf("the platform's is %s %s this machine's", ahead.Abs().Round(time.Minute), word),
		Fix: "set this machine's clock",
	}
}

// errEnough ends a list of which one object is enough.
var errEnough = errors.New("one is enough")

// checkKind finds out what the token may do to objects of a kind, as far as
// that can be known without writing.
func (v *visit) checkKind(ctx context.Context, k *kind.Kind) finding {
	switch {
	case v.unused():
		return finding{Status: skipped, Says: "not needed by any manifest", follows: true}
	case !k.Can(kind.List) && !k.Can(kind.Get):
		return finding{Status: skipped, Says: untried(k)}
	case !v.reach[v.area] || v.token[v.area] != nil:
		return finding{Status: skipped, Says: "needs a connection and a token", follows: true}
	case v.found.Workspace == nil:
		return finding{Status: skipped, Says: "needs a workspace", follows: true}
	}
	cfg := v.world.api
	cfg.Retry.Tries = 1
	reader := api.NewReader(cfg)
	defer reader.Close()
	may, err := mayRead(ctx, reader, k)
	if err != nil {
		return v.mayNot(k, err)
	}
	return finding{Status: good, Says: "may " + strings.Join(may, " and ") + "; " + untried(k)}
}

// mayRead tries to list objects of a kind, and to get one that does not exist.
func mayRead(ctx context.Context, reader *api.Reader, k *kind.Kind) (may []string, err error) {
	if k.Can(kind.List) {
		_, err := reader.List(ctx, k, func(kind.Object) error { return errEnough })
		switch {
		case err == nil:
			may = append(may, "list (the list is empty)")
		case errors.Is(err, errEnough):
			may = append(may, "list")
		default:
			return nil, err
		}
	}
	if k.Can(kind.Get) {
		_, err := reader.Get(ctx, k, "trueup-doctor-"+uuid.NewString()[:8])
		if answer := new(api.Error); err != nil && (!errors.As(err, &answer) || !answer.NotFound()) {
			return nil, err
		}
		may = append(may, "get")
	}
	return may, nil
}

// mayNot tells why a read failed.
func (v *visit) mayNot(k *kind.Kind, err error) finding {
	f := finding{Status: failed, code: exitOf(err), Says: err.Error()}
	answer := new(api.Error)
	if !errors.As(err, &answer) {
		return f
	}
	switch {
	case answer.Status == http.StatusForbidden:
		f.Fix = fmt.Sprintf("use the token of a user who may manage %s objects of the workspace %s", k.Name, v.world.workspace.Name)
	case answer.Class == api.Misdirected:
		f.Fix = "compare workspace: in trueup.yaml with the workspaces section of your profile in the web console, and the address with the platform's document"
	}
	return f
}

// untried names what was not tried, and what it takes.
func untried(k *kind.Kind) string {
	var verbs []string
	for _, verb := range []struct {
		is   kind.Verb
		name string
	}{{kind.Create, "create"}, {kind.Patch, "patch"}, {kind.Delete, "delete"}} {
		if k.Can(verb.is) {
			verbs = append(verbs, verb.name)
		}
	}
	says := "not tried: " + strings.Join(verbs, ", ")
	if k.Role != "" {
		says += ", which needs the role " + k.Role
	}
	return says
}
