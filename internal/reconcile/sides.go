package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/effect"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/project"
	"trueup/internal/served"
)

// Sides returns the CDNs of the manifests, and those that they had in a base if baseRef names one.
func Sides(ctx context.Context, env Env, l project.Loaded, baseRef string) ([]served.Side, error) {
	sides := []served.Side{git(l)}
	if baseRef == "" {
		return sides, nil
	}
	past := env.History.Past(ctx, baseRef, true)
	if past.Set == nil {
		return nil, fmt.Errorf("--base-ref %s: %s (%s)", baseRef, past.Blame.Problem, past.Blame.Fix)
	}
	if past.Unclear || past.Partial {
		env.Log(slog.LevelWarn, fmt.Sprintf("--base-ref %s: %s", baseRef, past.Blame.Problem))
	}
	return append(sides, base(past, l)), nil
}

func git(l project.Loaded) served.Side { return side(served.Git, l.Set.Objects) }

func side(name string, objects []*manifest.Object) served.Side {
	cdns := make([]*served.CDN, len(objects))
	for i, o := range objects {
		cdns[i] = served.FromManifest(o)
	}
	return served.Side{Name: name, Catalog: served.NewCatalog(cdns...)}
}

// base returns the CDNs that git had before.
func base(past plan.Past, l project.Loaded) served.Side {
	then := slices.Clone(past.Set.Objects)
	for _, o := range l.Set.Objects {
		if past.Same[o.Path] && past.Set.Find(o.Key()) == nil {
			then = append(then, o)
		}
	}
	return side(served.Base, then)
}

// Sides returns the CDNs as they are live, and as apply makes them true to git: with the live fields that git does
// not mention. Without a plan it returns nil.
func (s *Session) Sides() []served.Side {
	if s.Plan == nil {
		return nil
	}
	items := map[string]*plan.Item{}
	for i := range s.Plan.Items {
		items[s.Plan.Items[i].String()] = &s.Plan.Items[i]
	}
	var git, live []*served.CDN
	for _, o := range s.Loaded.Set.Objects {
		cdn := served.FromManifest(o)
		if cdn == nil {
			continue
		}
		now, isLive := s.inputs.Live.Objects[o.Key()]
		switch it := items[cdn.String()]; {
		case it == nil || !isLive:
		case it.Op == plan.None:
			cdn.Site = served.Reader(now.Spec)
		case it.Op == plan.Patch:
			cdn.Site = served.Reader(canon.Bytes(effect.Apply(it.BodySpec(), canon.MustDecode(now.Spec))))
		default:
			cdn.Note = "by its manifest alone, because apply changes nothing (" + string(it.Op) + ")"
		}
		git = append(git, cdn)
	}
	for key, o := range s.inputs.Live.Objects {
		o.Name = key.Name // by which git knows it
		live = append(live, served.FromLive(o))
	}
	for _, o := range s.inputs.Live.Unmanaged {
		live = append(live, served.FromLive(o))
	}
	return []served.Side{{Name: served.Git, Catalog: served.NewCatalog(git...)}, {Name: served.Live, Catalog: served.NewCatalog(live...)}}
}
