package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"trueup/internal/kind"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/requesttest"
)

// TestExplainKnowsEveryLabel: what a plan, drift, status or a test says of an object, a line or a request is a topic
// of trueup explain.
func TestExplainKnowsEveryLabel(t *testing.T) {
	labels := append(statesOfObjects(t), requesttest.Passed, requesttest.Failed)
	for _, c := range tableOfCauses {
		labels = append(labels, c.name)
	}
	for _, why := range []plan.Cause{plan.FromThisChange, plan.FromPending, plan.FromTakeOver, plan.FromRemoval, plan.FromBoth, plan.FromLiveOnly, plan.FromUnknown} {
		said := causeLabel(plan.Item{Op: plan.Patch}, plan.Change{Difference: merge.Difference{Live: "a", Desired: "b"}, Cause: why}).String()
		labels = append(labels, strings.TrimSpace(said[:strings.IndexAny(said+":", ",;:(")]))
	}
	for _, op := range tableOfOps {
		labels = append(labels, op.headline, strings.TrimSuffix(op.title, ": "))
	}
	for _, d := range tableOfDrift {
		labels = append(labels, d.how)
	}
	for _, r := range kind.Risks() {
		labels = append(labels, r.String())
	}
	known := wordsOfExplain(t)
	for _, l := range labels {
		if !slices.Contains(known, l) && l != "" {
			t.Errorf("explain does not know %q", l)
		}
	}
	for _, r := range RemarkRules {
		if known, _ := RuleByID(r.ID); known != r || r.Level.Names().SARIF == "" || r.Means == "" {
			t.Errorf("%s: %+v", r.ID, known)
		}
	}
}

// statesOfObjects returns the values of plan.ObjectStatus, from its source.
func statesOfObjects(t *testing.T) (states []string) {
	f, err := parser.ParseFile(token.NewFileSet(), "../plan/item.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "ObjectStatus" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Error(err)
			}
			states = append(states, text)
		}
		return true
	})
	if len(states) < 10 {
		t.Errorf("only %q", states)
	}
	return states
}

// wordsOfExplain returns the names and labels of the words that trueup explain knows.
func wordsOfExplain(t *testing.T) (all []string) {
	t.Helper()
	words, err := txtar.ParseFile("explain_words.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range words.Files {
		all = append(all, strings.Split(f.Name, "; ")...)
	}
	return all
}
