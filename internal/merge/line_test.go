package merge

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/internal/canon"
	"trueup/internal/e2e/long"
	"trueup/internal/effect"
	"trueup/internal/kind"
)

// places are where overrides may be drawn for: fields that rules know, and others.
var places = []string{
	"hostname", "tls", "tls.forced", "rate", "state", "plain", "x", "y",
	"upstreams", "upstreams.name", "upstreams.scheme", "upstreams.q", "upstreams.x",
	"upstreams.servers", "upstreams.servers.host", "upstreams.servers.weight", "upstreams.servers.id",
	"locations", "locations.host", "locations.path", "locations.ttl", "locations.rid", "locations.x",
	"locations.cache", "locations.cache.on", "locations.tags",
	"rules", "rules.name", "rules.action", "rules.action.type", "rules.action.limit",
	"rules.constraints", "rules.constraints.type", "rules.constraints.asn", "rules.constraints.x",
}

// overriding lays random overrides over rules.
func (d dice) overriding(r *Rules) *Rules {
	for d.in(2) {
		node := r
		for step := range strings.SplitSeq(places[d.roll(len(places))], ".") {
			for node.Item != nil {
				node = node.Item
			}
			if node.Fields == nil {
				node.Fields = map[string]*Rules{}
			}
			child := Rules{}
			if known := node.Fields[step]; known != nil {
				child = *known // rules of text are shared
			}
			node.Fields[step] = &child
			node = &child
		}
		switch d.roll(7) {
		case 0:
			node.Ignore = true
		case 1:
			node.ReadOnly = true
		case 2:
			node.Omit = true
		case 3:
			node.Set = !node.Set
		case 4:
			node.Key = [][]string{nil, {"type"}, {"ttl"}, {"host"}, {"x"}, {"name", "scheme"}}[d.roll(6)]
			node.Join = ":"
		case 5:
			node.Type = []kind.FieldType{kind.AnyType, kind.Text, kind.Bool, kind.Number}[d.roll(4)]
		default:
			node.Discriminator = "type"
		}
	}
	return r
}

// nameless reports whether the elements of a list are distinguished by what is never
// sent: then nothing that is sent has the name that a line gives it.
func nameless(r *Rules) bool {
	return slices.ContainsFunc(r.Key, func(k string) bool { return r.elementRules().fieldRules(k).isServerOwned() })
}

// lines are what a plan shows of a result.
func (r Comparison) lines() []effect.ShownChange {
	var lines []effect.ShownChange
	for _, c := range r.Changes {
		if !c.Left {
			lines = append(lines, effect.ShownChange{Path: c.Path, At: c.At, Live: c.Live, After: c.Desired, Moved: c.Moved})
		}
	}
	for _, v := range r.Collateral {
		if v.Value == nil {
			continue // a null says nothing
		}
		lines = append(lines, effect.ShownChange{Path: v.Path, At: v.At, Live: v.Value})
	}
	return lines
}

// request draws a comparison under random overrides, and returns the body that
// would be sent for it; nil where nothing is or may be.
func request(t *rapid.T) (Input, Comparison, []byte) {
	in := triples(t)
	in.Rules = dice{t}.overriding(in.Rules)
	in.LeaveDrift = dice{t}.in(5)
	res := Compare(in)
	if res.Patch == nil || len(res.Mixed)+len(res.Unplaced) > 0 || in.Rules.hasAnywhere(nameless) {
		return in, res, nil
	}
	return in, res, canon.Encode(map[string]any{"spec": res.Patch})
}

// TestEveryChangeHasALine: whatever the rules, the records and live are, the lines of
// a comparison show all that its patch does, and nothing else.
func TestEveryChangeHasALine(t *testing.T) {
	long.SetChecks(t, 500)
	rapid.Check(t, func(t *rapid.T) {
		in, res, body := request(t)
		if body == nil {
			return
		}
		if found := effect.UnshownChanges(body, in.Live, res.lines()); len(found) > 0 {
			t.Fatalf("%s%s\n patch   %s\n after   %s", strings.Join(found, "\n"), in, body, encode(effect.ApplyPatch(anyPatch(res), in.Live)))
		}
	})
}

// TestAMissingLineIsFound: without one of its lines, or with a value that no line
// has, no request passes.
func TestAMissingLineIsFound(t *testing.T) {
	long.SetChecks(t, 200)
	rapid.Check(t, func(t *rapid.T) {
		in, res, body := request(t)
		if body == nil {
			return
		}
		d := dice{t}
		// What is left is not sent, and an empty value in place of another one changes nothing.
		if shown := slices.DeleteFunc(slices.Clone(res.Changes), func(c Difference) bool {
			return c.Left || !c.Moved && oracleEmpty(&Rules{}, c.Live) && oracleEmpty(&Rules{}, c.Desired)
		}); len(shown) > 0 {
			without := res
			without.Changes = slices.Delete(shown, 0, 1)
			if n := d.roll(len(shown)); n > 0 {
				without.Changes = slices.Delete(slices.Clone(shown), n, n+1)
			}
			if len(effect.UnshownChanges(body, in.Live, without.lines())) == 0 {
				t.Fatalf("one line less is not noticed:%s\n patch   %s", in, body)
			}
		}
		other := anyPatch(res).(map[string]any)
		other["z"] = d.scalar(nil)
		if len(effect.UnshownChanges(canon.Encode(map[string]any{"spec": other}), in.Live, res.lines())) == 0 {
			t.Fatalf("a field more is not noticed:%s\n patch   %s", in, body)
		}
	})
}
