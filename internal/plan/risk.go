package plan

import (
	"slices"

	"trueup/internal/kind"
)

// Weigh fills in the risk of each change and object, which follows from the schema and the plan.
func (p *Plan) Weigh() {
	for i := range p.Items {
		it := &p.Items[i]
		k, ok := kind.Named(it.Kind)
		if !ok {
			continue
		}
		for c := range it.all() {
			at := k.Spec().Places(c.Path)
			c.Risk = max(at.RiskIn(c.Live), at.RiskIn(c.Desired))
		}
		it.Risk = slices.Max(append(it.risks(false), kind.NoRisk))
	}
}

// risks returns the risk of each line; sent leaves out those that the request leaves as they are. An
// object that is made or deleted is one line, as grave as the gravest field of its kind.
func (it *Item) risks(sent bool) []kind.Risk {
	k, ok := kind.Named(it.Kind)
	if !ok {
		return nil
	}
	var risks []kind.Risk
	for _, c := range it.Changes {
		if !sent || !c.Left {
			risks = append(risks, c.Risk)
		}
	}
	for _, v := range slices.Concat(it.Collateral, it.FirstContact) {
		risks = append(risks, k.Spec().Places(v.Path).RiskIn(v.Value))
	}
	switch {
	case it.Op == Create || it.Op == Delete:
		risks = append(risks, k.Spec().Gravest())
	case it.Purge != nil && it.Purge.Everything:
		risks = append(risks, kind.RiskAvailability)
	case it.Purge != nil:
		risks = append(risks, k.Spec().Risk)
	}
	return risks
}

// AtStake counts the lines of that risk that are sent.
func (it Item) AtStake(risk kind.Risk) int {
	if it.Risk < risk || !it.Op.sends() {
		return 0
	}
	return len(slices.DeleteFunc(it.risks(true), func(r kind.Risk) bool { return r != risk }))
}
