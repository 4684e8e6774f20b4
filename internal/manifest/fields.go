package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// checkMembers warns of members that the platform's document does not show, or
// that are not sent. It runs when the mapping is complete, because a member
// may be known by the value of another.
func (c *converter) checkMembers(members []pair, tree map[string]any, f *kind.Field) {
	if f == nil || f.Fields == nil || c.stopped {
		return
	}
	for _, p := range members {
		below := f.Fields[p.name]
		switch {
		case below == nil && !f.Knows(p.name, tree):
			if c.file.full(diag.Warning) {
				continue
			}
			sure(c.warn(p, ruleUnknownField, fmt.Sprintf("the platform's document shows no field %s here", quoteName(p.name)),
				unknownFix(p.name, tree, f)), rightCase(p.name, tree, f))
		case below != nil && below.NotSent && below.Type == kind.ObjectType && !onlyKeeps(tree[p.name]):
			c.warn(p, ruleNotSent, p.name+" stay in git: the platform's document knows none, so they are not sent",
				"nothing to mend; remove them, or write them as comments, to be rid of this warning")
		}
	}
}

// onlyKeeps tells whether annotations hold nothing but the one that this program
// reads.
func onlyKeeps(annotations any) bool {
	m, _ := annotations.(map[string]any)
	_, keeps := m[kind.KeepAnnotation]
	return keeps && len(m) == 1
}

// rightCase returns a field's documented name where the one in the tree differs
// from it only in the case of its letters, and no other there does; else "".
func rightCase(name string, tree map[string]any, f *kind.Field) string {
	meant := otherCase(name, f.Names)
	if meant == "" {
		return ""
	}
	for other := range tree {
		if other != name && strings.EqualFold(other, name) {
			return ""
		}
	}
	return quoteText(meant)
}

// otherCase returns the one known word that differs from a word only in the case
// of its letters, or "".
func otherCase(word string, known []string) string {
	var meant string
	for _, k := range known {
		switch {
		case !strings.EqualFold(k, word):
		case meant != "" || k == word:
			return ""
		default:
			meant = k
		}
	}
	return meant
}

func (c *converter) warn(p pair, rule, message, fix string) *diag.Finding {
	c.path = append(c.path, step{p.name, -1})
	x := c.file.add(p.key.Line, p.key.Column, rule, diag.Warning, fieldPath(c.path), message, fix)
	c.path = c.path[:len(c.path)-1]
	return x
}

// unknownFix proposes a field that is not there yet.
func unknownFix(name string, tree map[string]any, f *kind.Field) string {
	var free []string
	for _, known := range slices.Sorted(maps.Keys(f.Fields)) {
		if _, used := tree[known]; !used {
			free = append(free, known)
		}
	}
	if meant := Nearest(name, free); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return "remove it, if it is a mistake; known here are " + strings.Join(slices.Sorted(maps.Keys(f.Fields)), ", ")
}

// checkSeen warns of a value that the platform's document does not show, where
// it shows some and does not say that there are no others.
func (c *converter) checkSeen(line, column int, value string, f *kind.Field) {
	if f == nil || len(f.Seen) == 0 || slices.Contains(f.Seen, value) || c.file.full(diag.Warning) {
		return
	}
	fix := "check it: the document shows " + strings.Join(quoted(f.Seen), ", ")
	if meant := Nearest(value, f.Seen); meant != "" {
		fix = fmt.Sprintf("did you mean %s?", quoteText(meant))
	}
	x := c.file.add(line, column, ruleUnknownValue, diag.Warning, fieldPath(c.path),
		fmt.Sprintf("the platform's document shows no value %s for %s", quoteName(value), f.Name), fix)
	if meant := otherCase(value, f.Seen); meant != "" {
		sure(x, quoteText(meant))
	}
}
