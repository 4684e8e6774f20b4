package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/manifest"
	"trueup/internal/report"
	"trueup/internal/rules"
	"trueup/internal/view"
	"trueup/internal/yamledit"
)

func newExplain(run *Run) *cobra.Command {
	var live, asSchema bool
	cmd := newCommand(run, "explain [TOPIC]", func(ctx context.Context, args []string) (report.Document, error) {
		switch {
		case asSchema && len(args) == 0:
			all := allSchemas()
			return table("trueup.schemas/v1", "schemas", all, diag.MapList(all, func(s schema) []string { return []string{s.Name, s.Description} })), nil
		case asSchema:
			text, ok := kind.SchemaNamed(args[0])
			if !ok {
				return report.Document{}, fmt.Errorf("there is no schema %q%s", args[0],
					cmp.Or(diag.DidYouMean(args[0], kind.SchemaNames()), ": trueup explain --schema lists them"))
			}
			doc := fileDocument(text)
			doc.Data = json.RawMessage(text)
			return doc, nil
		case len(args) == 0:
			all := view.AllSubjects()
			return table("trueup.subjects/v1", "subjects", all, diag.MapList(all, func(s view.Subject) []string { return []string{s.Is, s.Name, s.Summary} })), nil
		}
		return explainTopic(ctx, run, args[0], live)
	})
	cmd.Flags().BoolVar(&live, "live", false, "with KIND/NAME before the path, wildcards allowed: also show what is live")
	cmd.Flags().BoolVar(&asSchema, "schema", false, "print the JSON Schema of TOPIC: a kind, a file or an output; without TOPIC, list them")
	cmd.MarkFlagsMutuallyExclusive("live", "schema")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if asSchema && len(args) == 0 {
			return Candidates(allSchemas(), func(s schema) (string, string) { return s.Name, s.Title }), NoFiles
		}
		return completeTopics(run, cmd, args, toComplete)
	}
	return cmd
}

// explainTopic explains a rule, a word or a field.
func explainTopic(ctx context.Context, run *Run, topic string, live bool) (report.Document, error) {
	object, _, _ := strings.Cut(topic, ".")
	if live && (!strings.Contains(object, "/") || strings.Contains(object, "[")) {
		return report.Document{}, errors.New("--live needs an object: write KIND/NAME before the path, such as cdn/shop.spec.tls")
	}
	if r := rules.ByName(topic); r != nil {
		return ruleDocument(*r), nil
	}
	if s, ok := view.FindWord(topic); ok {
		return wordDocument(s), nil
	}
	if r, _ := view.RuleByID(topic); r.ID != "" {
		text := fmt.Sprintf("%s  (%s)\n  %s\n", topic, r.Level.Names().SARIF, r.Means)
		return wordDocument(view.Subject{Name: topic, Summary: r.Means, Text: text}), nil
	}
	return explainField(ctx, run, topic, live)
}

// explainField explains a field, with the values that an object has there.
func explainField(ctx context.Context, run *Run, topic string, live bool) (doc report.Document, err error) {
	var l config.LoadedProject
	t, err := view.ParseTopic(topic, func() (*manifest.Set, error) {
		l, err = run.LoadProject(ctx, nil)
		return l.Set, err
	})
	if err != nil {
		return doc, err
	}
	facts, err := t.FindFacts()
	if err != nil {
		return doc, err
	}
	if err := addObjectValues(ctx, run, &facts, l, t, live); err != nil {
		return doc, err
	}
	doc.Data = facts
	doc.Text = func(out report.LineWriter, opts report.FormatOptions) {
		out.Text(WrapText(factsText(facts), opts.Width))
		if facts.Object != nil {
			writeValues(out, facts.Object, t.IsWhole())
		}
		if facts.Objects != nil {
			out.Printf("\n")
			out.Table("", valueRows(facts, live))
		}
	}
	return doc, nil
}

// readObjects reads the live objects that a topic names, by name.
func readObjects(ctx context.Context, reader *api.Reader, t view.Topic) (map[string]kind.LiveObject, error) {
	all := map[string]kind.LiveObject{}
	if !t.Kind.Documents(kind.Get) {
		return nil, fmt.Errorf("the platform has no way to read a %s", t.Kind.Name)
	}
	if t.IsPattern() {
		_, err := reader.List(ctx, t.Kind, func(o kind.LiveObject) (err error) {
			if o.Spec == nil { // lists of some servers have names alone
				o, err = reader.Get(ctx, t.Kind, o.Name)
			}
			all[o.Name] = o
			return err
		})
		return all, err
	}
	o, err := reader.Get(ctx, t.Kind, t.Name)
	switch {
	case err == nil:
		all[t.Name] = o
	case !api.AsError(err).NotFound():
		return nil, err
	}
	return all, nil
}

// addObjectValues adds what the topic's objects have in git, and in live.
func addObjectValues(ctx context.Context, run *Run, facts *view.FieldFacts, l config.LoadedProject, t view.Topic, live bool) (err error) {
	if t.Name == "" {
		return nil
	}
	var all map[string]kind.LiveObject
	if live {
		w, err := run.Open(ctx, l.Project, l.Set)
		if err != nil {
			return err
		}
		defer w.Close()
		reader := api.NewReader(w.API) // which can do nothing else
		defer reader.Close()
		if all, err = readObjects(ctx, reader, t); err != nil {
			return err
		}
	}
	facts.Objects, err = t.ReadValues(l.Set, l.Project.Workspace, all)
	if err == nil && !t.IsPattern() {
		facts.Object, facts.Objects = facts.Objects[0], nil
	}
	return err
}

// valueRows returns a table of what objects have in a field, with a row for those that lack it.
func valueRows(facts view.FieldFacts, live bool) [][]string {
	head, literal := []string{"object", "field", "git", "manifest"}, func(v any) string {
		if v == nil {
			return "not there"
		}
		return view.FormatLiteral(v).String()
	}
	if live {
		head[3] = "live"
	}
	_, field, _ := strings.Cut(facts.Path, ".")
	rows := [][]string{head}
	for _, o := range facts.Objects {
		values := o.Values
		if len(values) == 0 {
			values = []view.FieldValue{{Path: field, Place: o.Git}}
		}
		for _, v := range values {
			last := v.Place
			if live {
				last = literal(v.Live)
			}
			rows = append(rows, []string{o.Key, v.Path, literal(v.Git), last})
		}
	}
	return rows
}

// completeTopics offers rules, kinds and files, then objects or fields.
func completeTopics(run *Run, cmd *cobra.Command, args []string, toComplete string) (out []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, NoFiles
	}
	at := strings.LastIndexByte(toComplete, '.')
	root, _, _ := strings.Cut(toComplete, ".")
	isObject := strings.Contains(root, "/")
	if at < 0 && !isObject {
		return Candidates(view.AllSubjects(), func(s view.Subject) (string, string) { return s.Name, s.Summary }), NoFiles
	}
	if isObject {
		out = CompleteKeys(run.KnownObjects(cmd.Context(), nil), toComplete)
	}
	if at >= 0 {
		t, err := view.ParseTopic(toComplete[:at], func() (*manifest.Set, error) { return run.KnownObjects(cmd.Context(), nil), nil })
		if err != nil {
			return nil, NoFiles
		}
		out = append(out, Candidates(t.FieldsBelow(), func(f view.FieldBelow) (string, string) { return toComplete[:at+1] + f.Name, f.Title })...)
	}
	return out, NoFiles | cobra.ShellCompDirectiveNoSpace
}

func wordDocument(s view.Subject) report.Document {
	return report.Document{
		Data: map[string]any{"format": "trueup.word/v1", "name": s.Name, "summary": s.Summary, "text": s.Text},
		Text: func(out report.LineWriter, opts report.FormatOptions) { out.Text(WrapText(s.Text, opts.Width)) },
	}
}

func ruleDocument(r rules.Rule) report.Document {
	data := map[string]any{
		"format": "trueup.rule/v1", "rule": r.Name, "severity": r.Severity.String(), "summary": r.Summary, "why": r.Why, "fix": r.Fix,
		"bad": r.Bad, "good": r.Good, "live": r.Live, "needsLive": r.NeedsLive, "page": "docs/rules/" + r.Name + ".md",
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  (%s)\n  %s\n\n%s\n", r.Name, r.Severity, r.Summary, r.Why)
	if r.Live != "" {
		fmt.Fprintf(&b, "\nLive:\n\n%s", indent(r.Live))
	}
	if r.Bad != "" {
		fmt.Fprintf(&b, "\nBad:\n\n%s\nFixed:\n\n%s", indent(r.Bad), indent(r.Good))
	}
	fmt.Fprintf(&b, "\nFix: %s\n", r.Fix)
	return report.Document{Data: data, Text: func(out report.LineWriter, opts report.FormatOptions) { out.Text(WrapText(b.String(), opts.Width)) }}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// factsText returns everything about a field except for the values of an object.
func factsText(f view.FieldFacts) string {
	var b strings.Builder
	when := func(is bool, text string) string { return map[bool]string{true: text}[is] }
	fmt.Fprintf(&b, "%s  (%s%s)\n", report.Clean(f.Path), f.Type, when(f.Required, ", required"))
	for _, line := range []string{f.Title, f.Description} {
		if line != "" {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	between := "\n"
	for _, row := range [][2]string{
		{"values", f.ValuesInWords()},
		{"list", f.List},
		{"sent", f.Sent},
		{"sensitive", when(f.Sensitive, "yes: trueup shows a digest instead")},
		{"at stake", when(f.Risk != kind.NoRisk, f.Risk.String()+": a change "+f.Risk.Meaning())},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "%s  %-11s %s\n", between, row[0], row[1])
			between = ""
		}
	}
	fmt.Fprintf(&b, "\nExample:\n\n%s", indent(f.Text))
	widest := 0
	for _, line := range f.Fields {
		widest = max(widest, len(line.Name))
	}
	for i, line := range f.Fields {
		fmt.Fprintf(&b, "%s  .%-*s  %-8s %s%s\n", when(i == 0, "\nFields:\n\n"), widest, line.Name, line.Type, line.Title, when(line.Required, "  required"))
	}
	return b.String()
}

// writeValues writes what an object has there, or where to look if the topic is the whole object.
func writeValues(out report.LineWriter, o *view.ObjectValues, whole bool) {
	git, live := cmp.Or(o.Git, "not in git"), ""
	if o.Live != nil {
		live = map[bool]string{true: ", live", false: ", not live"}[*o.Live]
	}
	out.Printf("\n%s  (%s%s)\n", o.Key, git, live)
	switch {
	case whole:
		out.Printf("  to see a value, add a field: %s.spec\n", o.Key)
	case len(o.Values) == 0 && o.Git != "":
		out.Printf("  not mentioned\n")
	}
	for _, v := range o.Values {
		out.Printf("  %s\n", v.Path)
		writeValue(out, "git", v.Git, v.Place, v.Field)
		if o.Live != nil {
			writeValue(out, "live", v.Live, "", v.Field)
		}
	}
}

// maxValueLines limits the lines of a value.
const maxValueLines = 40

// writeValue writes one side: a scalar in the line, a structure below it.
func writeValue(out report.LineWriter, side string, value any, place string, field *kind.Field) {
	if value == nil {
		out.Printf("    %-5s not there\n", side)
		return
	}
	text, err := yamledit.EncodeSnippet(value, field)
	if s, isText := value.(string); isText {
		text = strconv.Quote(s)
	} else if err != nil {
		text = err.Error()
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	switch value.(type) {
	case map[string]any, []any:
		out.Table("    ", [][]string{{side, place}})
	default:
		out.Table("    ", [][]string{{fmt.Sprintf("%-4s", side), lines[0], place}})
		return
	}
	for i, line := range lines {
		if i == maxValueLines {
			out.Printf("          and %d more lines\n", len(lines)-i)
			return
		}
		out.Printf("          %s\n", line)
	}
}

// schema is what help shows of a schema.
type schema struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func allSchemas() []schema {
	var all []schema
	for _, name := range kind.SchemaNames() {
		text, _ := kind.SchemaNamed(name)
		var s schema
		_ = json.Unmarshal(text, &s) // schemas are part of the program
		s.Name = name
		all = append(all, s)
	}
	return all
}
