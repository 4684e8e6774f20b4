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
		it.Risk = kind.NoRisk
		if risks := it.risks(); len(risks) > 0 {
			it.Risk = slices.Max(risks)
		}
	}
}

// risks returns the risk of each line. An object that is made or deleted is one line, as grave as the
// gravest field of its kind.
func (it *Item) risks() []kind.Risk {
	k, ok := kind.Named(it.Kind)
	if !ok {
		return nil
	}
	var risks []kind.Risk
	for _, c := range it.Changes {
		risks = append(risks, c.Risk)
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

// AtStake counts the lines of that risk of which something is sent.
func (it Item) AtStake(risk kind.Risk) int {
	if it.Risk < risk || !it.Op.sends() && it.Op != Delete {
		return 0
	}
	it.Changes = slices.DeleteFunc(slices.Clone(it.Changes), func(c Change) bool { return c.Left })
	n := 0
	for _, r := range it.risks() {
		if r == risk {
			n++
		}
	}
	return n
}
