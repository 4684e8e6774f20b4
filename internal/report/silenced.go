package report

import (
	"slices"

	"trueup/internal/diag"
)

// textSilenced names what comments keep from being shown, and their reasons.
func textSilenced(p *printer, doc Document) {
	all := silenced(doc)
	if len(all) == 0 {
		return
	}
	p.gap()
	p.wrapped(indent, span{"Silenced: ", strong}, span{count(len(all), "finding") + " by comments in manifests.", plain})
	for _, f := range all {
		p.wrapped(hang, span{pad("", indent) + place(f) + cut(clean(f.Rule), maxPath) + ": " + message(f.Silenced), faint})
	}
}

// silenced are warnings and advice that comments keep from being shown.
func silenced(doc Document) diag.List {
	if doc.Plan == nil {
		return doc.Silenced
	}
	return slices.Concat(doc.Silenced, doc.Plan.Silenced)
}
