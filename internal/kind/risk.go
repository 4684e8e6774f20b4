package kind

import "fmt"

// Risk is the harm that a change of a field can do; a greater one is more severe.
type Risk uint8

// The risks; tableOfRisks has their meaning. NoRisk is that of fields that no schema has.
const (
	NoRisk Risk = iota
	RiskCost
	RiskAvailability
	RiskSecurity
	RiskServes
)

var tableOfRisks = [...]struct{ name, meaning string }{
	NoRisk:           {},
	RiskCost:         {"cost", "may cost more"},
	RiskAvailability: {"availability", "may make something slow or unreachable"},
	RiskSecurity:     {"security", "may expose protected content"},
	RiskServes:       {"serves", "may serve other content, or none"},
}

// Risks returns all risks but NoRisk, the most severe first.
func Risks() []Risk { return []Risk{RiskServes, RiskSecurity, RiskAvailability, RiskCost} }

// String returns the name that schemas use, such as "cost", or "" for NoRisk.
func (r Risk) String() string { return tableOfRisks[r].name }

// Grave reports whether the risk is RiskServes or RiskSecurity: reports show such values in full.
func (r Risk) Grave() bool { return r >= RiskSecurity }

// Meaning returns a short text for people, such as "may cost more".
func (r Risk) Meaning() string { return tableOfRisks[r].meaning }

// MarshalText writes the risk as its name.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name of a risk.
func (r *Risk) UnmarshalText(b []byte) error {
	for i, row := range tableOfRisks {
		if string(b) == row.name {
			*r = Risk(i)
			return nil
		}
	}
	return fmt.Errorf("unknown risk %q", b)
}
