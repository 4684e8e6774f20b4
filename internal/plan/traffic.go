package plan

import "trueup/internal/accesslog"

// Traffic is what access logs say of the requests that a plan changes. The digest of the plan does not depend on it.
type Traffic struct {
	Logs []accesslog.Log `json:"logs"`
	Weight
}

// Weight counts requests of access logs.
type Weight struct {
	// Requests are those for a CDN, Changed those in classes that change, and Unserved those of them that nothing
	// serves any more.
	Requests int64 `json:"requests"`
	Changed  int64 `json:"changed"`
	Unserved int64 `json:"unserved"`
}
