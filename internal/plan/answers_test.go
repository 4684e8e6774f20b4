package plan_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"trueup/internal/plan"
)

const answered = `{hostname: shop.example.com, tls: {enabled: "true"}, locations: [` +
	`{path: /static/*, upstream: a, cache: {edgeTTL: "3600", ttlTimeUnit: second}}, {path: /api/*, upstream: b}, {path: /*, host: img.shop.example.com, upstream: a}, {path: /*, upstream: b}], ` +
	`upstreams: [{name: a, scheme: https, servers: [{host: s, port: "443"}]}, {name: b, scheme: https, servers: [{host: u, port: "443"}]}, {name: c, scheme: https, servers: [{host: u, port: "443"}]}]}`

// answersIn is what a test compares of the answers of the only item.
func answersIn(a *plan.Answers) (lines []string) {
	lines = append(lines, fmt.Sprintf("%d of %d", a.Changed, a.Classes))
	for _, d := range a.Site {
		lines = append(lines, fmt.Sprint(d))
	}
	for _, g := range a.Groups {
		line := fmt.Sprintf("%v%s%v %s", g.Hosts, g.Pattern, g.Except, g.Effect)
		for _, answer := range g.Answers {
			line += fmt.Sprint(" ", answer.Differences)
		}
		if g.Effect != plan.Answered {
			line += " " + g.Answers[0].Before
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		want           []string
	}{
		{"a TTL", `"3600"`, `"60"`, []string{"2 of 6", "[]/static/*[] changed [edge TTL 1 h → 1 min]", "[img.shop.example.com]/static/*[] changed [edge TTL 1 h → 1 min] []"}},
		{"the same TTL", `"3600", ttlTimeUnit: second`, `"1", ttlTimeUnit: hour`, []string{"0 of 6"}},
		{"another origin", "host: u,", "host: v,", []string{
			"3 of 6", "[]/*[/api/* /static/*] changed [origin u:443 → v:443]", "[]/api/*[] changed [origin u:443 → v:443]",
			"[img.shop.example.com]/api/*[] changed [origin u:443 → v:443] []",
		}},
		{"another name of the same servers", "upstream: b}, {path: /*, host", "upstream: c}, {path: /*, host", []string{"0 of 6"}},
		{"a location above another", "{path: /api/*", "{path: /static/new/*, upstream: b}, {path: /api/*", []string{
			"2 of 8", "[]/static/new/*[] changed [] [origin s:443 → u:443 edge TTL 1 h → not set]",
			"[img.shop.example.com]/static/new/*[] changed [] [origin s:443 → u:443 edge TTL 1 h → not set] []",
		}},
		{"another order", "{path: /api/*, upstream: b}, {path: /*, host: img.shop.example.com, upstream: a}", "{path: /*, host: img.shop.example.com, upstream: a}, {path: /api/*, upstream: b}", []string{
			"1 of 6", "[img.shop.example.com]/api/*[] changed [origin u:443 → s:443 host any → img.shop.example.com] [] []",
		}},
		{"an order that does not matter", "{path: /static/*, upstream: a, cache: {edgeTTL: \"3600\", ttlTimeUnit: second}}, {path: /api/*, upstream: b}", "{path: /api/*, upstream: b}, {path: /static/*, upstream: a, cache: {edgeTTL: \"3600\", ttlTimeUnit: second}}", []string{"0 of 6"}},
		{"TLS", `enabled: "true"`, `enabled: "false"`, []string{"0 of 6", "TLS on → off"}},
		{"a location for all less", ", {path: /*, upstream: b}]", "]", []string{"1 of 6", "[]/*[/api/* /static/*] unserved [] u:443 over https"}},
		{"a location that did nothing else", "{path: /api/*, upstream: b}, ", "", []string{"1 of 6", "[img.shop.example.com]/api/*[] changed [origin u:443 → s:443 host any → img.shop.example.com] []"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := git(t, cdn("shop", strings.Replace(answered, c.from, c.to, 1))).has(shop, answered).applied(shop, answered).make()
			a := p.Items[0].Answers
			if got := answersIn(a); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
			listed := 0
			for _, g := range slices.Concat(a.Groups, a.Unchanged) {
				listed += max(1, len(g.Hosts))
			}
			if listed != a.Classes {
				t.Errorf("%d of %d classes are listed", listed, a.Classes)
			}
			meddled := git(t, cdn("shop", answered)).has(shop, strings.Replace(answered, c.from, c.to, 1)).applied(shop, answered).make()
			if drift := plan.Drift(meddled).Items[0].Answers; !reflect.DeepEqual(drift, a) {
				t.Errorf("drift: %+v, and the same change in git %+v", drift, a)
			}
		})
	}
}
