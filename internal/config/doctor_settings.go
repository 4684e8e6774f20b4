package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// openAll opens the platform and the ledger, and continues after what is wrong. For a sandbox it reads
// no setting of the real platform.
func (e *doctorChecker) openAll(ctx context.Context) {
	if e.Sandbox {
		e.platform, e.sandboxErr = e.OpenSandboxPlatform(ctx, e.project, cmp.Or(e.set, &manifest.Set{}))
		if e.sandboxErr != nil {
			return
		}
	} else {
		pin, err := e.FindPin(e.project)
		e.PinnedProfile = pin.Profile
		e.settings, e.settingsErr = e.ResolveSettings()
		e.settingsErr = errors.Join(err, e.settingsErr)
		roots, err := e.settings.RootCAs()
		e.settingsErr = errors.Join(e.settingsErr, err)
		e.platform, e.addressErrs = e.RealPlatform(e.settings, e.project)
		e.platform.API.RootCAs = roots
	}
	e.ledger, e.ledgerErr = e.platform.OpenLedger(ctx)
}

// effectiveSettings returns the settings that a run would use, and who chose each.
func (e *doctorChecker) effectiveSettings() (list []EffectiveSetting) {
	if e.Sandbox {
		for _, area := range kind.Areas() {
			list = append(list, EffectiveSetting{Name: string(area) + ".url", Value: e.platform.Origins[area], Origin: "--sandbox"})
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
