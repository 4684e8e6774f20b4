package manifest

import "trueup/internal/diag"

func tlsNotForced() Rule {
	return Rule{
		Name:     "tls-not-forced",
		Severity: diag.Advice,
		Summary:  "A CDN answers over TLS, and plain HTTP is not sent on to it.",
		Why: "tls.forced stands beside tls.enabled (docs/platform.md 2.2). Without it whoever follows a link with http:// " +
			"stays there: pages, cookies and signed addresses can be read and changed on the way. Where tls.forced is " +
			"not written, git does not say it, and the platform's document shows no default.",
		Fix: `Write tls.forced: "true".`,
		Bad: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls:
    enabled: "true"
    forced: "false"
`,
		Good: `apiVersion: delivery/v2.1
kind: CDN
metadata:
  name: shop
spec:
  hostname: shop.example.com
  tls:
    enabled: "true"
    forced: "true"
`,
		object: only(cdn, checkTLSNotForced),
	}
}

func checkTLSNotForced(s *subject) {
	tls := mapping(s.Tree, "tls")
	enabled, _ := text(tls, "enabled")
	forced, written := text(tls, "forced")
	const fix = `write forced: "true" below tls`
	switch {
	case enabled == "false" || forced == "true":
	case written:
		s.report("spec.tls.forced", "plain HTTP is not sent on to TLS", fix)
	case enabled == "true":
		s.report("spec.tls.forced", "git does not say that plain HTTP is sent on to TLS", fix)
	}
}
