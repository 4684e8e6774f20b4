package manifest

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// scalar converts a text, number, boolean or null. What an unquoted one means
// depends on the field: where the platform wants text, a text that YAML could
// read as something else must say so with quotes.
func (c *converter) scalar(n, at *yaml.Node, f *kind.Field) any {
	if n.Style&yaml.TaggedStyle != 0 {
		return c.tagged(n, at, f)
	}
	if !isPlain(n) {
		return c.text(n, n.Value, f)
	}
	if n.Value == "-" {
		c.fail(n, ruleSyntax, "a lone - is neither text nor a list element", `write "-" for the text`)
		return c.null(n)
	}
	switch what := resolve(n.Value); what {
	case plainText:
		return c.text(n, n.Value, f)
	case plainNull:
		c.nulls = true
		return c.emit(n, nil)
	case plainEmpty:
		return c.empty(n, at)
	case plainBool, plainNumber, looseBool, looseNumber:
		return c.literal(n, f, what)
	}
	return nil
}

// literal converts an unquoted boolean or number.
func (c *converter) literal(n *yaml.Node, f *kind.Field, what plain) any {
	want := kind.AnyType
	if f != nil {
		want = f.Type
	}
	switch {
	case want == kind.Text:
		return c.unquoted(n, f, what)
	case what == plainBool:
		return c.emit(n, n.Value == "true")
	case what == plainNumber:
		return c.number(n, n.Value)
	case want == kind.Bool && what == looseBool:
		value, _ := booleanWord(n.Value)
		sure(c.fail(n, ruleSchema, n.Value+" is a boolean to some YAML parsers and text to others",
			"write "+c.line(strconv.FormatBool(value))), strconv.FormatBool(value))
	case want == kind.Number && what == looseNumber:
		c.fail(n, ruleSchema, n.Value+" is a different number to different YAML parsers",
			"write the number in plain decimal digits")
	default:
		sure(c.fail(n, ruleUnquoted, fmt.Sprintf("%s is text to some YAML parsers and a %s to others", n.Value, looseName(what)),
			"write "+c.line(quoteText(n.Value))), quoteText(n.Value))
	}
	return c.emit(n, n.Value)
}

// unquoted reports a boolean or number without quotes in a text field; the
// text is taken as it was meant.
func (c *converter) unquoted(n *yaml.Node, f *kind.Field, what plain) any {
	text := n.Value
	if value, ok := booleanWord(text); ok && sees(f, "true") {
		text = strconv.FormatBool(value)
	}
	sure(c.fail(n, ruleUnquoted, fmt.Sprintf("%s without quotes is a %s, and the platform needs text here", n.Value, looseName(what)),
		"write "+c.line(quoteText(text))), quoteText(text))
	return c.emit(n, text)
}

// sees reports whether the document or an example shows the value for the field.
func sees(f *kind.Field, value string) bool {
	for _, s := range f.Seen {
		if s == value {
			return true
		}
	}
	for _, e := range f.Examples {
		if s, ok := e.(string); ok && (s == value || s == "false" && value == "true") {
			return true
		}
	}
	return false
}

func looseName(what plain) string {
	if what == plainBool || what == looseBool {
		return "boolean"
	}
	return "number"
}

func (c *converter) empty(n, at *yaml.Node) any {
	what := "no value"
	if n.Value != "" {
		what = n.Value + " as value"
	}
	c.fail(at, ruleEmpty, "a field with "+what+": should it be empty or absent?",
		`write "" for an empty text, {} or [] for an empty mapping or list, null for "must be absent", or remove the line`)
	return c.null(n)
}

// tagged converts a scalar with an explicit tag; only tags that change nothing
// are taken.
func (c *converter) tagged(n, at *yaml.Node, f *kind.Field) any {
	what := resolve(n.Value)
	switch n.Tag {
	case "!!str":
		return c.text(n, n.Value, f)
	case "!!int", "!!float":
		if what == plainNumber {
			return c.number(n, n.Value)
		}
	case "!!bool":
		if what == plainBool {
			return c.emit(n, n.Value == "true")
		}
	case "!!null":
		if what == plainNull {
			c.nulls = true
			return c.emit(n, nil)
		}
		if n.Value == "" {
			return c.empty(n, at)
		}
	}
	c.fail(n, ruleTag, fmt.Sprintf("the tag %s changes what the value means", quoteName(n.Tag)),
		"remove the tag and write the value as plain YAML")
	return c.null(n)
}

// line writes the current field with another value, as a line of YAML; of an
// element the value alone, because a list in brackets has no hyphens.
func (c *converter) line(value string) string {
	if len(c.path) == 0 {
		return value
	}
	last := c.path[len(c.path)-1]
	if last.index >= 0 {
		return value
	}
	return last.name + ": " + value
}

// quoteText writes a text in YAML's double quotes.
func quoteText(s string) string { return strconv.Quote(s) }

// quoteName writes something for a message, short and on one line.
func quoteName(s string) string { return strconv.Quote(short(s)) }

// short cuts what is too long for a message.
func short(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// checkText refuses characters that show as nothing or as something else. A
// key must also stay on its line.
func (c *converter) checkText(n *yaml.Node, s string, key bool) {
	for _, r := range s {
		if r >= ' ' && r < 0x7F {
			continue
		}
		if !key && (r == '\n' || r == '\t') {
			continue
		}
		if diag.Unseen(r) && (key || !isJoiner(r)) {
			c.fail(n, ruleEncoding, fmt.Sprintf("the text contains the invisible character U+%04X", r),
				"remove the character")
			return
		}
	}
}

// isJoiner recognises the two marks that take no room but belong to the
// writing of some languages.
func isJoiner(r rune) bool { return r == 0x200C || r == 0x200D }
