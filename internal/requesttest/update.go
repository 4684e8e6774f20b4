package requesttest

import (
	"bytes"
	"slices"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/routing"
	"trueup/internal/yamledit"
)

// ListUpdates returns what failed tests would have to expect, by file. It leaves out tests whose requests can't be
// compared, differ from each other, or depend on the platform.
func (r *TestResults) ListUpdates() map[string][]yamledit.Expectation {
	found := map[string][]yamledit.Expectation{}
	for rest := r.Cases; len(rest) > 0; {
		t := rest[0].test
		cases := rest[:t.requests]
		rest = rest[t.requests:]
		if t.sameAs && !t.expects || !slices.ContainsFunc(cases, func(c Case) bool { return c.Result == Failed }) {
			continue
		}
		value := findAgreement(cases)
		if isNew := !bytes.Equal(canon.Bytes(value), canon.Bytes(t.expect)); value != nil && isNew {
			found[t.object.Path] = append(found[t.object.Path], yamledit.Expectation{Line: t.object.Line, Test: t.index, Value: value})
		}
	}
	return found
}

// findAgreement returns the one expectation that all requests of a test meet, or nil.
func findAgreement(cases []Case) (value map[string]any) {
	for _, c := range cases {
		if c.answer == nil || c.isUnclear() {
			return nil
		}
		for _, a := range c.answer.ListAnswers(0) {
			is := observe(c.test.expect, a.Location)
			if value != nil && !bytes.Equal(canon.Bytes(value), canon.Bytes(is)) {
				return nil
			}
			value = is
		}
	}
	return value
}

// FirstExpectation returns an expectation of a request, which a CDN with this spec meets if one location matches.
func FirstExpectation(spec map[string]any, url string) map[string]any {
	u, _ := routing.ParseURL(url)
	side := routing.Side{Name: routing.Git, Site: routing.NewSite(routing.ConfigCDN(kind.Key{}, routing.Read(spec)))}
	q, err := routing.NewLookup([]routing.Side{side}, routing.PrecedencesOf(""), diag.DidYouMean).Find(u)
	if err != nil {
		return observe(nil, nil)
	}
	return observe(nil, q.Location(0, 0))
}

// isInFirst reports whether an expectation that expects nothing yet, or no location, gets the field.
func (f expectedField) isInFirst(expect map[string]any, isSet bool) bool {
	return (len(expect) == 0 || expect["served"] == false) && (f.isUsual || isSet && f.isObject)
}

// observe returns an expectation with the fields of expect that a location meets; nil is no location. If it expects nothing
// yet, or no location, it gets the usual fields and those that the location has.
func observe(expect map[string]any, l *routing.Location) map[string]any {
	if l == nil {
		return map[string]any{"served": false}
	}
	is := map[string]any{}
	for _, f := range listFields() {
		isSet := l.Behaviour[f.facet] != routing.ServedValue{}
		want, isAsked := expect[f.name]
		if !isAsked && !f.isInFirst(expect, isSet) {
			continue
		}
		if v := f.observe(want, l); v != nil || !isSet {
			is[f.name] = v
		} else if isAsked {
			is[f.name] = want // what can't be expected stays
		}
	}
	if expect["served"] == true {
		is["served"] = true
	}
	return is
}
