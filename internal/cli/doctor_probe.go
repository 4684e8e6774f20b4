package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"trueup/internal/doctor"
	"trueup/internal/exit"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/purge"
	"trueup/internal/reconcile"
	"trueup/internal/report"
)

// probeSource is what findings call the manifest of the probe.
const probeSource = "--probe-duplicates"

// probe is a request that is sent twice.
type probe struct {
	*reconcile.Session
	app  *app
	kind *kind.Kind
	key  kind.Key
	item plan.Item
}

// runProbe sends a harmless request as apply would, and once more (docs/design.md 0.7).
func runProbe(ctx context.Context, a *app, opts doctorOptions) error {
	k, ok := doctor.Probed(kind.Delivery)
	if !ok {
		return errors.New("no kind of request can be used for this probe")
	}
	name := "trueup-probe-" + uuid.NewString()[:8]
	text, err := probeManifest(k, name, opts.probe)
	if err != nil {
		return err
	}
	s, doc, err := a.prepare(ctx, "doctor", planOptions{more: []manifest.Source{{Data: text, Display: probeSource}}}, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if doc.ExitCode != exit.OK {
		return a.emit(doc)
	}
	p := &probe{Session: s, app: a, kind: k, key: kind.Key{Kind: k.Name, Name: name}}
	return p.run(ctx, doc, opts)
}

// probeManifest returns a purge of a path that does not exist.
func probeManifest(k *kind.Kind, name, hostname string) ([]byte, error) {
	spec := purge.Spec{Hostname: hostname, Paths: []string{"/.well-known/" + name}}.Tree()
	delete(spec, "subdomains")
	return json.Marshal(map[string]any{
		"apiVersion": k.APIVersion, "kind": k.Name, "metadata": map[string]any{"name": name}, "spec": spec,
	})
}

func (p *probe) run(ctx context.Context, doc report.Document, opts doctorOptions) error {
	a := p.app
	if view := p.View(); view.Problem != "" {
		return a.fail(doc, exit.With(exit.NeedsPerson, fmt.Errorf("%s: %s", view.Problem, view.Fix)))
	}
	if p.terms().Proven {
		return p.tell(ctx, "nothing sent: the platform is already known to refuse a second request of the same name\n")
	}
	p.Plan = p.Plan.Only(p.key)
	p.item = p.Plan.Items[0]
	doc.Plan = p.Plan
	if p.Plan.Sends() && !opts.autoApprove {
		if err := a.confirm(doc, false); err != nil {
			return a.fail(doc, err)
		}
	}
	a.sending = true
	result := p.Apply(ctx, reconcile.ApplyOptions{})
	if code := reconcile.ExitCode(result); code != exit.OK {
		doc.Apply, doc.ExitCode = &result, code
		return a.emit(doc)
	}
	return p.again(ctx)
}

func (p *probe) terms() ledger.Terms { return p.View().Terms[p.kind.Area] }

// again sends what was accepted once more, and records how it was refused. Any
// other answer proves nothing.
func (p *probe) again(ctx context.Context) error {
	client := p.Platform.Client(0)
	defer client.Close()
	records, err := p.Ledger.Look(ctx, []kind.Key{p.key})
	if err != nil {
		return err
	}
	if err := client.Turn(ctx, p.kind); err != nil {
		return err
	}
	now, err := p.Clock(client)(ctx, p.kind)
	if err != nil {
		return fmt.Errorf("the platform's time: %w", err)
	}
	if first := records[p.key].FirstClaimAt; first == nil || !p.terms().MaySend(*first, now) {
		return fmt.Errorf("nothing proven: %s was sent only once, because this run was paused for too long", p.key)
	}
	_, err = client.Create(ctx, p.kind, p.item.Request.Body)
	var refused interface {
		Exists() bool
		HTTPStatus() int
	}
	switch {
	case err == nil:
		return fmt.Errorf("the platform accepted %s a second time, so it may execute duplicates: trueup will keep asking a person about requests that got no answer", p.key)
	case !errors.As(err, &refused) || !refused.Exists():
		return fmt.Errorf("the second %s was not refused as a duplicate; if this answer means a duplicate, describe it in purge.duplicate of trueup.yaml: %w", p.key, err)
	}
	proof := ledger.Proof{At: now.Now.UTC(), Name: p.key.Name, HTTP: refused.HTTPStatus(), By: p.app.config().Claim().Actor}
	if err := p.Ledger.Prove(ctx, p.kind.Area, proof); err != nil {
		return ledgerError(err)
	}
	return p.tell(ctx, "%s: a second request of the same name is refused%s\nfrom now on trueup sends a request that got no answer again under its name, while that is safe\n",
		p.kind.Area, doctor.Proven(proof))
}

// tell says that there is a proof. As JSON it is the report of doctor.
func (p *probe) tell(ctx context.Context, format string, args ...any) error {
	if p.app.global.output == "json" {
		return runDoctor(ctx, p.app)
	}
	return p.app.out.Printf(format, args...)
}
