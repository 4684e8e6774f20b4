package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/routing"
)

// RoutingSides returns the CDNs of the manifests, and those that they had in a base if baseRef names one.
func RoutingSides(ctx context.Context, env SessionEnv, l config.LoadedProject, baseRef string) ([]routing.Side, error) {
	sides := []routing.Side{newSide(routing.Git, l.Set.Objects)}
	if baseRef == "" {
		return sides, nil
	}
	past := env.History.ReadPast(ctx, baseRef, true)
	if past.Set == nil {
		return nil, fmt.Errorf("--base-ref %s: %s (%s)", baseRef, past.Blame.Problem, past.Blame.Fix)
	}
	if past.Unclear || past.Partial {
		env.Log(slog.LevelWarn, fmt.Sprintf("--base-ref %s: %s", baseRef, past.Blame.Problem))
	}
	then := slices.Clone(past.Set.Objects)
	for _, o := range l.Set.Objects {
		if past.Same[o.Path] && past.Set.Find(o.Key()) == nil {
			then = append(then, o)
		}
	}
	return append(sides, newSide(routing.Base, then)), nil
}

func newSide(name string, objects []*manifest.Object) routing.Side {
	cdns := diag.MapList(objects, func(o *manifest.Object) *routing.CDN { return o.CDN() })
	return routing.Side{Name: name, Site: routing.NewSite(cdns...)}
}

// RequestSides returns the CDNs as they are live, and as apply makes them true to git: with the live fields that git does
// not mention. Without a plan it returns nil.
func (s *Session) RequestSides() []routing.Side {
	if s.Plan == nil {
		return nil
	}
	items := map[kind.Key]*plan.Item{}
	for i := range s.Plan.Items {
		items[s.Plan.Items[i].Key] = &s.Plan.Items[i]
	}
	var git, live []*routing.CDN
	for _, o := range s.Loaded.Set.Objects {
		cdn := o.CDN()
		if cdn == nil {
			continue
		}
		now, isLive := s.inputs.Live.Objects[o.Key()]
		switch it := items[o.Key()]; {
		case it == nil || !isLive:
		case it.Op == plan.None:
			cdn.SetSpec(now.Spec)
		case it.Op == plan.Patch:
			cdn.SetSpec(canon.Encode(effect.ApplyPatch(it.BodySpec(), canon.MustDecode(now.Spec))))
		default:
			cdn.Note = "by its manifest alone, because apply changes nothing (" + string(it.Op) + ")"
		}
		git = append(git, cdn)
	}
	for key, o := range s.inputs.Live.Objects {
		o.Name = key.Name // by which git knows it
		live = append(live, liveCDN(o))
	}
	for _, o := range s.inputs.Live.Unmanaged {
		live = append(live, liveCDN(o))
	}
	return []routing.Side{{Name: routing.Git, Site: routing.NewSite(git...)}, {Name: routing.Live, Site: routing.NewSite(live...)}}
}

// liveCDN returns what answers requests, or nil if the object serves nothing.
func liveCDN(o kind.LiveObject) *routing.CDN {
	if o.Kind.IsSendOnce() || o.Host == "" || o.Terminating {
		return nil
	}
	return routing.NewCDN(o.Key(), o.Spec)
}
