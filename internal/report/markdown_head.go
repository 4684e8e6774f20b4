package report

import (
	"slices"
	"strings"

	"trueup/internal/kind"
	"trueup/internal/plan"
)

// notable is something of a plan that a reviewer should not miss.
type notable struct {
	title func(n int) safe
	// count is how much of it an item has.
	count func(plan.Item) int
	// name says where it is.
	name func(plan.Item) safe
}

// in counts how much of it a plan has, and names the objects.
func (n notable) in(pl *plan.Plan) (total int, names []safe) {
	for _, item := range pl.Items {
		if here := n.count(item); here > 0 {
			total += here
			names = append(names, n.name(item))
		}
	}
	return total, names
}

// risks are the lines of the first two risks of which something is sent.
func risks() []notable {
	var out []notable
	for _, r := range kind.Risks() {
		if !r.Grave() {
			continue
		}
		title := func(n int) safe { return count(n, "change") + " that " + clean(r.Meaning()) }
		out = append(out, notable{title, func(item plan.Item) int { return item.AtStake(r) }, itemName})
	}
	return out
}

func itemName(item plan.Item) safe { return titled(item.Key) }

// notables are what a reviewer looks for first.
func notables() []notable {
	return append(risks(), []notable{
		{func(n int) safe { return number(n) + " blocked" }, is(plan.Blocked), itemName},
		{func(n int) safe { return count(n, "purge") + " to post" }, is(plan.Post), flush},
		{func(n int) safe { return count(n, "object") + " to delete" }, is(plan.Delete), itemName},
		{func(n int) safe { return count(n, "value") + " removed" }, plan.Item.Removals, itemName},
		{func(n int) safe { return count(n, "conflict") + " of git and live" }, caused(plan.FromBoth), itemName},
		{func(n int) safe { return count(n, "change") + " outside git" }, caused(plan.FromDrift), itemName},
		{func(n int) safe { return count(n, "value") + " not kept by the server" }, caused(plan.FromRefusal), itemName},
	}...)
}

func is(op plan.Op) func(plan.Item) int {
	return func(item plan.Item) int {
		if item.Op == op {
			return 1
		}
		return 0
	}
}

// flush is a purge and what it hits.
func flush(item plan.Item) safe {
	return join(filled(titled(item.Key), invalidated(item.Purge)), ": ")
}

// caused counts the lines of a cause.
func caused(why plan.Cause) func(plan.Item) int {
	return func(item plan.Item) int {
		n := 0
		if item.Cause == why {
			n++
		}
		for _, c := range item.Changes {
			if c.Cause == why {
				n++
			}
		}
		return n
	}
}

// The names of objects that a line of the head has, and their columns.
const (
	maxNames      = 3
	maxNameInHead = 80
)

// lookAt is a line for each thing that a reviewer should not miss, and one that
// counts the causes. In at most so many bytes it has no names.
func lookAt(pl *plan.Plan, opts Options, most int) markup {
	var b strings.Builder
	for _, n := range notables() {
		if total, names := n.in(pl); total > 0 {
			listed(&b, n.title(total), names, most)
		}
	}
	if len(pl.Advice) > 0 {
		var rules []safe
		for _, f := range pl.Advice {
			if rule := cut(clean(f.Rule), maxName); !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
		listed(&b, advices(len(pl.Advice)), rules, most)
	}
	if causes := causesLine(pl, opts); causes != "" {
		b.WriteString("- Causes: " + string(constant(causes)) + "\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return markup("\n" + b.String())
}

// advices counts pieces of advice.
func advices(n int) safe {
	if n == 1 {
		return "1 piece of advice"
	}
	return number(n) + " pieces of advice"
}

// listed writes a line of the head, with the first of so many names as long as
// there is room.
func listed(b *strings.Builder, title safe, names []safe, most int) {
	line := "- **" + string(constant(title)) + "**"
	for i, n := range names[:min(len(names), maxNames)] {
		name := ", " + string(code(cut(n, maxNameInHead)))
		if i == 0 {
			name = ": " + name[2:]
		}
		if b.Len()+len(line)+len(name) > most {
			break
		}
		line += name
		if i == maxNames-1 && len(names) > maxNames {
			line += string(constant(" and " + number(len(names)-maxNames) + " more"))
		}
	}
	b.WriteString(line + "\n")
}
