package rules

import (
	"strings"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/routing"
)

// checkRequestTest reports URLs that are no request, and expectations that nothing can meet.
func checkRequestTest(s *RuleSubject) {
	for at, test := range valuesAt[map[string]any]("spec", s.Tree, "tests[]") {
		urls := 0
		for _, place := range []string{"url", "urls[]"} {
			for at, url := range valuesAt[string](at, test, place) {
				urls++
				s.checkURL(at, url)
			}
		}
		if urls == 0 {
			s.report(at, "the test has no URL", "write url: https://HOSTNAME/PATH")
		}
		expect := canon.Object(test["expect"])
		for _, name := range []string{"cached", "browserCached"} {
			if text := canon.TextAt(expect, name); text != "" && text != "none" {
				if _, ok := kind.ParseDuration(text); !ok {
					s.report(at+".expect."+name, name+" is "+diag.Quote(text)+", which is no time", "write a time such as 90s, 5m, 1h or 7d, or none")
				}
			}
		}
		s.checkOrigin(at+".expect.origin", expect["origin"])
	}
}

func (s *RuleSubject) checkURL(at, url string) {
	if _, err := routing.ParseURL(url); err != nil {
		message, fix, _ := strings.Cut(err.Error(), ": ")
		s.report(at, message, fix)
	}
}

func (s *RuleSubject) checkOrigin(at string, origin any) {
	servers, isList := origin.([]any)
	if !isList {
		servers = []any{origin}
	}
	for _, v := range servers {
		text, isText := v.(string)
		if v != nil && !isText || strings.ContainsAny(text, "/@") {
			s.report(at, "origin is not a server or a list of servers", "write host or host:port, for example origin: app-1.example.com:443")
			return
		}
	}
}
