package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lithammer/fuzzysearch/fuzzy"
	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/report"
)

func newExplain(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain RULE | KIND[.FIELD...]",
		Short: "Explain a rule, or a field: its type, meaning, example and where it is documented",
		Example: "  trueup explain upstream-unknown\n" +
			"  trueup explain cdn.spec.locations.cache.edgeTTL",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := explain(args[0])
			if err != nil {
				return err
			}
			return a.out.Text(text)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topics(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// topics are the rules and kinds that explain knows.
func topics() []string {
	var all []string
	for _, r := range manifest.Rules() {
		all = append(all, r.Name)
	}
	for _, k := range kind.All() {
		all = append(all, strings.ToLower(k.Name))
	}
	return all
}

func explain(topic string) (string, error) {
	for _, r := range manifest.Rules() {
		if r.Name == topic {
			return explainRule(r), nil
		}
	}
	path := strings.Split(topic, ".")
	k, ok := kind.Named(path[0])
	if !ok {
		return "", fmt.Errorf("there is no rule or kind %q%s", topic, didYouMean(topic, topics()))
	}
	field, ok := k.Root().At(path[1:])
	if !ok {
		return "", fmt.Errorf("%s has no field %q in the platform's document%s", k.Name, strings.Join(path[1:], "."), nearField(k, path))
	}
	return explainField(report.Clean(topic), field), nil
}

// nearField offers the closest name at the first part of a path that is unknown.
func nearField(k *kind.Kind, path []string) string {
	for i := 1; i < len(path); i++ {
		if _, ok := k.Root().At(path[1 : i+1]); ok {
			continue
		}
		parent, _ := k.Root().At(path[1:i])
		for parent.Item != nil {
			parent = parent.Item
		}
		if len(parent.Fields) == 0 {
			return ""
		}
		return didYouMean(path[i], slices.Sorted(maps.Keys(parent.Fields)))
	}
	return ""
}

func didYouMean(word string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	ranks := fuzzy.RankFindFold(word, known)
	if len(ranks) == 0 {
		closest := slices.MinFunc(known, func(a, b string) int {
			return fuzzy.LevenshteinDistance(word, a) - fuzzy.LevenshteinDistance(word, b)
		})
		return fmt.Sprintf(": did you mean %s?", closest)
	}
	slices.SortFunc(ranks, func(a, b fuzzy.Rank) int { return a.Distance - b.Distance })
	return fmt.Sprintf(": did you mean %s?", ranks[0].Target)
}

func explainRule(r manifest.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  (%s)\n  %s\n\n%s\n", r.Name, r.Severity, r.Summary, r.Why)
	if r.Live != "" {
		fmt.Fprintf(&b, "\nLive:\n\n%s", indent(r.Live))
	}
	if r.Bad != "" {
		fmt.Fprintf(&b, "\n%s:\n\n%s\nMended:\n\n%s", r.Verdict(), indent(manifest.Excerpt(r.Bad)), indent(manifest.Excerpt(r.Good)))
	}
	fmt.Fprintf(&b, "\nFix: %s\n", r.Fix)
	return b.String()
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// literal writes a value as a manifest can hold it: text stands in quotes.
func literal(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

func explainField(topic string, f *kind.Field) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  (%s", topic, f.Type)
	if f.Required {
		b.WriteString(", required")
	}
	b.WriteString(")\n")
	for _, line := range []string{f.Title, f.Description} {
		if line != "" {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if len(f.Seen) > 0 {
		fmt.Fprintf(&b, "  values seen: %s\n", strings.Join(f.Seen, ", "))
	}
	for _, e := range f.Examples {
		fmt.Fprintf(&b, "  example: %s\n", literal(e))
	}
	if f.Section != "" {
		fmt.Fprintf(&b, "  documented in %s\n", f.Section)
	}
	fields := f.Fields
	if f.Item != nil {
		fields = f.Item.Fields
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(&b, "  .%-24s %s\n", name, fields[name].Type)
	}
	return b.String()
}
