package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// checkMembers reports members that the platform does not document, or that trueup does not send. It
// needs the complete mapping, because the value of one member may be the name of another.
func (c *converter) checkMembers(members []mappingMember, tree map[string]any, f *kind.Field) {
	if f == nil || c.stopped {
		return
	}
	for _, p := range members {
		below := f.Fields[p.name]
		switch {
		case f.NotSent:
			c.checkKeep(p, f)
		case f.Fields == nil:
			return
		case below == nil && !f.KnowsMember(p.name, tree):
			c.reportUnknownMember(p, tree, f)
		case below != nil && below.NotSent && below.Type == kind.ObjectType && !hasOnlyKeepAnnotation(tree[p.name]):
			c.reportMember(p, ruleNotSent, diag.Warning, p.name+" stay in git and are not sent: the platform does not document them",
				"nothing to fix; to silence this warning, remove them or write them as comments")
		}
	}
}

// checkKeep reports a misspelt annotation that would not keep its object.
func (c *converter) checkKeep(p mappingMember, f *kind.Field) {
	if f.Name == "annotations" && p.name != kind.KeepAnnotation && diag.Corrections(p.name, []string{kind.KeepAnnotation}) != nil {
		c.reportMember(p, ruleMisspeltField, diag.Error, resemblesMessage("field", p.name, kind.KeepAnnotation), "write "+kind.KeepAnnotation)
	}
}

// hasOnlyKeepAnnotation reports whether annotations hold only the one that trueup reads.
func hasOnlyKeepAnnotation(annotations any) bool {
	m, _ := annotations.(map[string]any)
	_, keeps := m[kind.KeepAnnotation]
	return keeps && len(m) == 1
}

// reportUnknownMember reports a member that the schema does not have. A misspelt one is an error: trueup would
// remove the field that was meant, because git does not have it.
func (c *converter) reportUnknownMember(p mappingMember, tree map[string]any, f *kind.Field) {
	known := f.Names
	if name, ok := tree[f.Discriminator].(string); ok && !slices.Contains(known, name) {
		known = append(slices.Clip(known), name)
	}
	if meant := diag.Corrections(p.name, known); meant != nil && !c.isListedUndocumented(p.name) {
		right := strings.Join(meant, " or ")
		fix := "write " + right
		if _, used := tree[meant[0]]; used && len(meant) == 1 {
			fix = "remove it: " + right + " is already set"
		}
		x := c.reportMember(p, ruleMisspeltField, diag.Error, resemblesMessage("field", p.name, right), fix+fixUnlessKnown(f))
		x.Write = matchIgnoringCase(p.name, f.Names)
		for other := range tree {
			if other != p.name && strings.EqualFold(other, p.name) {
				x.Write = "" // two fields would become one
			}
		}
		return
	}
	if c.file.Full(diag.Warning) {
		return
	}
	names := slices.Sorted(maps.Keys(f.Fields))
	unused := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, used := tree[name]; return used })
	fix := diag.Suggest(p.name, unused, "did you mean %s?", "remove it if it is a mistake; the known fields here are "+strings.Join(names, ", "))
	rule, severity, message := RuleUnknownField, diag.Warning, "the platform documents no field "
	if f.Closed {
		rule, severity, message = ruleSchema, diag.Error, "there is no field "
	}
	c.reportMember(p, rule, severity, message+diag.Quote(p.name)+" here", fix)
}

// fixUnlessKnown ends the fix of a misspelt field of an object that may have undocumented fields.
func fixUnlessKnown(object *kind.Field) string {
	if object.Closed {
		return ""
	}
	return unlessUndocumented + ruleMisspeltField
}

// unlessUndocumented ends the fix of a misspelling, before the name of the rule.
const unlessUndocumented = "; if the platform has it, see trueup explain "

// resemblesMessage is the message about a misspelt field or value. It names the first character that is not
// ASCII, which may look like an ASCII letter.
func resemblesMessage(noun, word, right string) string {
	message := fmt.Sprintf("there is no %s %s here: it resembles %s", noun, diag.Quote(word), right)
	for _, r := range word {
		if r > unicode.MaxASCII {
			return message + fmt.Sprintf(", and has the character %q (U+%04X)", r, r)
		}
	}
	return message
}

// isListedUndocumented reports whether the project lists a field or value at the current path as undocumented.
func (c *converter) isListedUndocumented(word string) bool {
	if len(c.exempt) == 0 {
		return false
	}
	steps := slices.DeleteFunc(slices.Clone(c.path), func(s pathStep) bool { return s.index >= 0 })
	return slices.Contains(c.exempt[fieldPath(steps)], word)
}

// matchIgnoringCase returns what to write for a word: the one known word that differs only in case, or "".
func matchIgnoringCase(word string, known []string) string {
	meant := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !strings.EqualFold(k, word) })
	if len(meant) != 1 || meant[0] == word {
		return ""
	}
	return strconv.Quote(meant[0])
}

// checkKnownValue reports a value that the platform does not document, if it documents others. A misspelt
// value is an error.
func (c *converter) checkKnownValue(n *yaml.Node, value string, f *kind.Field) {
	if f == nil || len(f.Seen) == 0 || slices.Contains(f.Seen, value) {
		return
	}
	meant := diag.Corrections(value, f.Seen)
	if meant != nil && !slices.Contains(f.Observed, value) && !c.isListedUndocumented(value) {
		right := strings.Join(quoteAll(meant), " or ")
		x := c.addError(n, ruleMisspeltValue, resemblesMessage("value", value, right), "write "+c.fieldLine(right)+unlessUndocumented+ruleMisspeltValue)
		x.Write = matchIgnoringCase(value, meant)
		return
	}
	if c.file.Full(diag.Warning) {
		return
	}
	fix := diag.Suggest(value, f.Seen, "did you mean %q?", "check it: the platform documents "+strings.Join(quoteAll(f.Seen), ", "))
	c.file.AddFinding(n.Line, n.Column, RuleUnknownValue, diag.Warning, fieldPath(c.path),
		fmt.Sprintf("the platform documents no value %s for %s", diag.Quote(value), f.Name), fix)
}
