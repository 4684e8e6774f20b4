package cli

import (
	"cmp"
	"fmt"
)

// shownSetting is an effective setting, without any secret.
type shownSetting struct {
	Name string `json:"name"`
	// Value is empty where nothing is set.
	Value string `json:"value"`
	// Origin is the flag, the variable, the place in a file, or default.
	Origin string `json:"origin"`
	// optional says that it need not be set.
	optional bool
}

// shownSettings are those that a run would use, and who chose each.
func (d *doctoring) shownSettings() []shownSetting {
	a, s := d.app, d.settings
	list := []shownSetting{}
	add := func(name, value, origin string) {
		list = append(list, shownSetting{Name: name, Value: value, Origin: cmp.Or(origin, "default")})
	}
	if d.found.Sandbox {
		for _, area := range areas() {
			add(string(area)+".url", d.world.origins[area], "--sandbox")
		}
		add("ledger.store", d.world.ledger.Store, "--sandbox")
		return list
	}
	add("profile", s.profile.name, s.profileFrom)
	ws := ""
	if d.project.exists() {
		ws = fmt.Sprintf("%s (%s)", d.project.Workspace.Name, d.project.Workspace.UUID)
	}
	add("workspace", ws, whereSet(ws, projectFile))
	add("workspace.pin", d.world.pin, whereSet(d.world.pin, workspacePin))
	list[len(list)-1].optional = true
	for _, area := range areas() {
		url, token := s.urls[area], s.tokens[area]
		shown := url.Value
		if d.wrong[area] != nil {
			shown = "not a usable address"
		}
		add(string(area)+".url", shown, url.Origin)
		source := ""
		if !token.isZero() {
			source = token.source()
		}
		add(string(area)+".token", source, token.origin)
	}
	store, origin := d.found.Ledger.Store, projectFile
	if d.ledgerErr != nil {
		store = "not a usable store"
	}
	if d.world.ledger.StoreFromEnv {
		origin = "TRUEUP_LEDGER"
	}
	add("ledger.store", store, whereSet(store, origin))
	add("caFile", s.caFile.Value, s.caFile.Origin)
	add("proxy", s.proxy.Value, s.proxy.Origin)
	list[len(list)-1].optional, list[len(list)-2].optional = true, true
	for _, name := range []string{"request-timeout", "timeout", "parallelism"} {
		if flag := a.root.PersistentFlags().Lookup(name); flag.Changed || a.global.output == "json" {
			add(name, flag.Value.String(), map[bool]string{true: "--" + name}[flag.Changed])
		}
	}
	return list
}

// whereSet is the origin of a value, empty where there is none.
func whereSet(value, origin string) string {
	if value == "" {
		return ""
	}
	return origin
}
