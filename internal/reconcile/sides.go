package reconcile

import (
	"trueup/internal/canon"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/effect"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/routing"
)

// GitSide returns the CDNs of the manifests.
func GitSide(l config.LoadedProject) routing.Side {
	cdns := diag.MapList(l.Set.Objects, func(o *manifest.Object) *routing.CDN { return o.CDN() })
	return routing.Side{Name: routing.Git, Site: routing.NewSite(cdns...)}
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
