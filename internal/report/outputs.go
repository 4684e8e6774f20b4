package report

import (
	"io"
	"strconv"
	"strings"
)

// output is a value for later steps of a workflow.
type output struct{ key, value string }

// outputs are the same for every run of a command. Counts are only there where
// there is a plan: a run that could not look must not look like one that found
// nothing.
func outputs(doc Document) []output {
	list := []output{{"result", word(doc.Result)}, {"exit-code", strconv.Itoa(doc.ExitCode)}}
	if doc.Plan == nil {
		return list
	}
	s := doc.Plan.Summary
	list = append(list,
		output{"changes", strconv.FormatBool(doc.Plan.Differs())},
		output{"digest", word(doc.Plan.Digest)},
		output{"offline", strconv.FormatBool(doc.Plan.Offline)})
	for _, c := range []struct {
		key string
		n   int
	}{
		{"create", s.Create},
		{"change", s.Change},
		{"removed", s.Removed},
		{"purge", s.Purge},
		{"delete", s.Delete},
		{"drifted", s.Drifted},
		{"blocked", s.Blocked},
		{"serves", s.Serves},
		{"security", s.Security},
		{"deferred", s.Deferred},
		{"in-flight", s.InFlight},
	} {
		list = append(list, output{c.key, strconv.Itoa(c.n)})
	}
	return list
}

// word is a text that can't be more than one value: letters, digits and -:_.
// of bounded length; any other is none.
func word(s string) string {
	const others = "-:_."
	odd := strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(others, r)
	})
	if odd || len(s) > maxName {
		return ""
	}
	return s
}

// writeOutputs writes KEY=VALUE lines as GITHUB_OUTPUT takes them.
func writeOutputs(w io.Writer, doc Document, _ Options) error {
	var b strings.Builder
	for _, o := range outputs(doc) {
		b.WriteString(o.key + "=" + o.value + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeDotenv writes the same as variables, of which GitLab allows letters,
// digits and _ in names.
func writeDotenv(w io.Writer, doc Document, _ Options) error {
	var b strings.Builder
	for _, o := range outputs(doc) {
		b.WriteString("TRUEUP_" + strings.ToUpper(strings.ReplaceAll(o.key, "-", "_")) + "=" + o.value + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
