package plan

import "trueup/internal/accesslog"

// Traffic is what access logs say of the requests that a plan changes. The digest of the plan does not depend on it.
type Traffic struct {
	Logs []accesslog.Log `json:"logs"`
	Weight
	// Several are requests for hosts that several CDNs have, before or after.
	Several int64 `json:"several,omitempty"`
}

// Weight counts requests of access logs for CDNs. Those that it does not name are answered as before.
type Weight struct {
	Requests int64 `json:"requests"`
	// Unserved are no longer served, and ServedFirst for the first time.
	Unserved    int64 `json:"unserved"`
	ServedFirst int64 `json:"servedFirst"`
	// Changed are answered in another way, and MayChange perhaps.
	Changed   int64 `json:"changed"`
	MayChange int64 `json:"mayChange"`
}

// Add adds the requests of another weight.
func (w *Weight) Add(other Weight) {
	w.Requests += other.Requests
	w.Unserved += other.Unserved
	w.ServedFirst += other.ServedFirst
	w.Changed += other.Changed
	w.MayChange += other.MayChange
}

// Words returns what happens to the requests, in shares that add up.
func (w Weight) Words() string {
	parts := []int64{w.Unserved, w.ServedFirst, w.Changed, w.MayChange, w.Requests}
	for _, n := range parts[:4] {
		parts[4] -= n
	}
	if w.Requests == 0 {
		return "no logged requests"
	}
	text := "of " + accesslog.Count(w.Requests, "logged request", "logged requests")
	for i, share := range accesslog.Shares(parts...) {
		if parts[i] > 0 {
			text += ", " + share + [...]string{
				" are no longer served", " are served for the first time", " are answered in another way", " may be answered in another way",
				" are answered as before",
			}[i]
		}
	}
	return text
}
