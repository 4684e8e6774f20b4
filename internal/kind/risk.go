package kind

import "fmt"

// Risk is what a change of a field can do; the greater of two is more severe.
type Risk uint8

// The risks. NoRisk is for fields that no schema has.
const (
	NoRisk Risk = iota
	// RiskCost may cost more, such as traffic that the origin has to serve.
	RiskCost
	// RiskAvailability may make something slow or unreachable.
	RiskAvailability
	// RiskSecurity may open what was guarded, or guard what was open.
	RiskSecurity
	// RiskServes may make visitors get other content, or none.
	RiskServes
)

// tableOfRisks has the name and the meaning of each Risk.
var tableOfRisks = [...]struct{ name, meaning string }{
	NoRisk:           {},
	RiskCost:         {"cost", "may cost more"},
	RiskAvailability: {"availability", "may make something slow or unreachable"},
	RiskSecurity:     {"security", "may expose protected content"},
	RiskServes:       {"serves", "may serve other content, or none"},
}

// Risks returns all risks but NoRisk, the most severe first.
func Risks() []Risk { return []Risk{RiskServes, RiskSecurity, RiskAvailability, RiskCost} }

// String returns the name that schemas use, empty for NoRisk.
func (r Risk) String() string { return tableOfRisks[r].name }

// Grave reports whether the risk is RiskServes or RiskSecurity: reports show values of these whole.
func (r Risk) Grave() bool { return r >= RiskSecurity }

// Meaning says in a few words what the risk is, for people.
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
