package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/project"
)

func newExplain(a *app) *cobra.Command {
	var live bool
	cmd := &cobra.Command{
		Use:  "explain TOPIC",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExplain(cmd.Context(), a, args[0], live)
		},
		ValidArgsFunction: a.completeTopics,
	}
	cmd.Flags().BoolVar(&live, "live", false, "with KIND/NAME before the path: also show what is live")
	return cmd
}

// errLiveObject refuses --live where no object was named.
var errLiveObject = errors.New("--live needs an object: write KIND/NAME before the path, such as cdn/shop.spec.tls")

func runExplain(ctx context.Context, a *app, topic string, live bool) error {
	if !slices.Contains([]string{"text", "json"}, a.global.output) {
		return fmt.Errorf("-o is %q: explain writes text or json", a.global.output)
	}
	for _, r := range manifest.Rules() {
		if r.Name == topic {
			return a.showRule(r, live)
		}
	}
	t, err := a.topic(ctx, topic)
	if err != nil {
		return err
	}
	if live && t.name == "" {
		return errLiveObject
	}
	f, err := t.find()
	if err != nil {
		return err
	}
	if t.name != "" {
		if f.Object, err = a.valuesOf(ctx, t, live); err != nil {
			return err
		}
	}
	if a.global.output == "json" {
		return a.out.JSON(f)
	}
	return a.showField(f, t.root)
}

// topic is a field of a kind, of an object or of one of trueup's own files.
type topic struct {
	// asked is what the user wrote, and path is what is below root.
	asked, path string
	root        *kind.Field
	// kind is nil for a file.
	kind *kind.Kind
	// name is that of an object, or empty. l has the manifests that were read to find it.
	name string
	l    project.Loaded
}

// topic reads KIND, KIND.PATH, KIND/NAME and KIND/NAME.PATH.
func (a *app) topic(ctx context.Context, asked string) (topic, error) {
	t, err := topicOf(asked)
	if err != nil || !strings.HasPrefix(t.path, "/") {
		return t, err
	}
	if t.l, err = a.load(ctx, nil, false); err != nil {
		return t, err
	}
	return t, t.takeName()
}

// topicOf reads a topic. If it names an object, its path begins with a slash and the name.
func topicOf(asked string) (topic, error) {
	end := strings.IndexAny(asked, "./[")
	if end < 0 {
		end = len(asked)
	}
	t := topic{asked: asked, path: asked[end:]}
	if root, ok := kind.OwnFile(asked[:end]); ok {
		t.root = root
		t.path = strings.TrimPrefix(t.path, ".")
		return t, nil
	}
	k, ok := kind.Named(asked[:end])
	if !ok {
		return t, fmt.Errorf("there is no rule, kind or file %q%s", asked[:end],
			cmp.Or(manifest.DidYouMean(asked, topics()), ": name a rule, or a field that starts with "+strings.Join(fieldTopics(), ", ")))
	}
	t.kind, t.root = k, k.Root()
	t.path = strings.TrimPrefix(t.path, ".")
	return t, nil
}

// takeName splits the name of an object from the path behind it; both may have dots. It takes the
// longest name in git, or else all before spec or another field of the envelope.
func (t *topic) takeName() error {
	rest := t.path[1:]
	t.path = ""
	for _, o := range t.l.Set.Objects {
		below, is := strings.CutPrefix(rest, o.Name)
		if is && o.Kind == t.kind && (below == "" || below[0] == '.') && len(o.Name) > len(t.name) {
			t.name, t.path = o.Name, strings.TrimPrefix(below, ".")
		}
	}
	if t.name != "" {
		return nil
	}
	t.name = rest
	for _, field := range t.root.Names {
		if i := strings.Index(rest+".", "."+field+"."); i > 0 && i < len(t.name) {
			t.name, t.path = rest[:i], rest[i+1:]
		}
	}
	if t.name == "" {
		return fmt.Errorf("%q does not name an object: write KIND/NAME, such as cdn/shop", t.asked)
	}
	return nil
}

// field returns the field that the path names. The path may leave out spec, as in plans.
func (t *topic) field() (f *kind.Field, parts []string, ok bool) {
	parts = kind.PathParts(t.path)
	first, _, _ := strings.Cut(parts[0], "[")
	if t.kind != nil && t.root.Fields[first] == nil && t.kind.Spec().Fields[first] != nil {
		t.path = "spec." + t.path
		parts = append([]string{"spec"}, parts...)
	}
	f, ok = t.root.At(parts)
	return f, parts, ok
}

// find returns the facts of the field.
func (t *topic) find() (fieldFacts, error) {
	f, parts, ok := t.field()
	if !ok {
		of := "trueup's schema of it"
		if t.kind != nil {
			of = "the platform's document"
		}
		return fieldFacts{}, fmt.Errorf("%s has no field %q in %s%s", t.title(), t.path, of, nearField(t.root, parts))
	}
	return factsOf(*t, f, parts), nil
}

// title is the kind or the file that has the field.
func (t *topic) title() string {
	if t.kind != nil {
		return t.kind.Name
	}
	name, _, _ := strings.Cut(t.asked, ".")
	return name
}

// topics are the rules, and what has fields.
func topics() []string {
	var all []string
	for _, r := range manifest.Rules() {
		all = append(all, r.Name)
	}
	return append(all, fieldTopics()...)
}

// fieldTopics are the kinds and trueup's own files.
func fieldTopics() []string {
	var all []string
	for _, k := range kind.All() {
		all = append(all, strings.ToLower(k.Name))
	}
	return append(all, kind.OwnFiles()...)
}

// nearField offers the closest name at the first part of a path that is unknown.
func nearField(root *kind.Field, parts []string) string {
	for i := range parts {
		if _, ok := root.At(parts[:i+1]); ok {
			continue
		}
		parent, _ := root.At(parts[:i])
		name, _, _ := strings.Cut(parts[i], "[")
		parent = elementOf(parent)
		known := slices.Clone(parent.Names)
		if spec := parent.Fields["spec"]; spec != nil && i == 0 {
			known = append(known, spec.Names...)
		}
		return manifest.DidYouMean(name, known)
	}
	return ""
}

// elementOf returns the element of a list, or of lists in it, and any other field itself.
func elementOf(f *kind.Field) *kind.Field {
	for f.Item != nil {
		f = f.Item
	}
	return f
}

// completeTopics offers rules, kinds and files, then objects or fields.
func (a *app) completeTopics(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	before, _, below := strings.Cut(toComplete, ".")
	if !below && !strings.Contains(before, "/") {
		var out []string
		for _, topic := range fieldTopics() {
			out = offer(out, topic, "fields of "+topic)
		}
		rules, _ := completeRules(cmd, args, toComplete)
		return append(out, rules...), noFiles
	}
	t, err := topicOf(toComplete)
	if err != nil {
		return nil, noFiles
	}
	var out []string
	if strings.HasPrefix(t.path, "/") {
		t.l.Set = a.known(cmd.Context(), nil)
		out = keysOf(t.l.Set, toComplete)
	}
	if below {
		out = append(out, t.completeFields(toComplete)...)
	}
	return out, noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeFields offers the fields below what was written up to its last dot.
func (t *topic) completeFields(begun string) (out []string) {
	at := strings.LastIndexByte(t.path, '.')
	t.path = t.path[:max(at, 0)]
	if strings.HasPrefix(t.path, "/") && t.takeName() != nil {
		return nil
	}
	f, _, ok := t.field()
	if !ok {
		return nil
	}
	f = elementOf(f)
	for _, name := range f.Names {
		out = offer(out, begun[:strings.LastIndexByte(begun, '.')+1]+name, f.Fields[name].Title)
	}
	return out
}

func (a *app) showRule(r manifest.Rule, live bool) error {
	if live {
		return errLiveObject
	}
	if a.global.output == "json" {
		return a.out.JSON(map[string]any{
			"rule": r.Name, "severity": r.Severity.String(), "summary": r.Summary, "why": r.Why, "fix": r.Fix,
			"bad": r.Bad, "good": r.Good, "live": r.Live, "needsLive": r.NeedsLive, "page": "docs/rules/" + r.Name + ".md",
		})
	}
	return a.out.Text(a.fit(explainRule(r)))
}

func explainRule(r manifest.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  (%s)\n  %s\n\n%s\n", r.Name, r.Severity, r.Summary, r.Why)
	if r.Live != "" {
		fmt.Fprintf(&b, "\nLive:\n\n%s", indent(r.Live))
	}
	if r.Bad != "" {
		fmt.Fprintf(&b, "\nBad:\n\n%s\nFixed:\n\n%s", indent(r.Bad), indent(r.Good))
	}
	fmt.Fprintf(&b, "\nFix: %s\n", r.Fix)
	return b.String()
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// showField writes the facts for a person.
func (a *app) showField(f fieldFacts, root *kind.Field) error {
	text, err := f.text(root)
	if err != nil {
		return err
	}
	return errors.Join(a.out.Text(a.fit(text)), a.showValues(f.Object, !strings.Contains(f.Path, ".")))
}
