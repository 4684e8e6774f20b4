package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// ScalarType is what an unquoted scalar means.
type ScalarType uint8

// What an unquoted scalar can mean.
const (
	PlainText ScalarType = iota
	// PlainBool is true or false, PlainNumber a number of JSON's grammar.
	PlainBool
	PlainNumber
	// PlainNull is the literal null. PlainEmpty is an empty value or another spelling of null.
	PlainNull
	PlainEmpty
	// LooseBool and LooseNumber are a boolean or a number for some readers of YAML (1.1, or 1.2 beyond
	// JSON) and a text for others.
	LooseBool
	LooseNumber
)

// Name returns boolean or number.
func (p ScalarType) Name() string {
	if p == PlainBool || p == LooseBool {
		return "boolean"
	}
	return "number"
}

// ResolveScalar returns what an unquoted scalar means.
func ResolveScalar(s string) ScalarType {
	switch {
	case s == "", s == "~", s == "Null", s == "NULL":
		return PlainEmpty
	case s[0] >= '0' && s[0] <= '9' || strings.IndexByte("-+.", s[0]) >= 0:
		if isJSONNumber(s) {
			return PlainNumber
		}
		if looseNumbers().MatchString(s) {
			return LooseNumber
		}
	case s == "true", s == "false":
		return PlainBool
	case s == "null":
		return PlainNull
	case len(s) <= len("false"):
		if _, ok := ParseBool(s); ok {
			return LooseBool
		}
	}
	return PlainText
}

// ParseBool reads the booleans of YAML 1.1 in their three spellings.
func ParseBool(s string) (value, ok bool) {
	lower := strings.ToLower(s)
	if s != lower && s != strings.ToUpper(s) && s != strings.ToUpper(s[:1])+lower[1:] {
		return false, false
	}
	switch lower {
	case "y", "yes", "on", "true":
		return true, true
	case "n", "no", "off", "false":
		return false, true
	}
	return false, false
}

// isJSONNumber reports whether s is a number as JSON writes it.
func isJSONNumber(s string) bool {
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	return s != "" && (s[0] == '-' || isDigit(s[0])) && isDigit(s[len(s)-1]) && json.Valid([]byte(s))
}

// inDoubleRange reports whether a JSON number fits into double precision: it does not become infinity, and only zero
// becomes zero.
func inDoubleRange(s string) bool {
	value, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	return value != 0 || !strings.ContainsAny(mantissa, "123456789")
}

// looseNumbers matches numbers of YAML 1.1 or 1.2 that JSON does not have: other bases, underscores,
// sexagesimals, a plus, a bare point, infinity.
var looseNumbers = diag.Pattern(`^[-+]?(` +
	`0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+` +
	`|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?` +
	`|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?` +
	`|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?` +
	`|\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)

// loneTag is a tag without a name.
const loneTag = "!"

// convertScalar converts a text, number, boolean or null. Where the platform needs text, an unquoted value that
// YAML could read as something else is an error.
func (c *converter) convertScalar(n, at *yaml.Node, f *kind.Field) any {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return c.convertTagged(n, f)
	case n.Tag == loneTag:
		c.addError(n, ruleTag, "YAML parsers disagree about the meaning of the tag !", "remove the tag, and write a text in quotes")
		return c.emitScalar(n, nil)
	case !IsPlain(n):
		return c.convertText(n, f)
	case n.Value == "-":
		c.addError(n, RuleSyntax, "a lone - is neither text nor a list element", `write "-" for the text`)
		return c.emitScalar(n, nil)
	}
	switch what := ResolveScalar(n.Value); what {
	case PlainNull:
		return c.emitScalar(n, nil)
	case PlainEmpty:
		return c.convertEmpty(n, at)
	case PlainBool, PlainNumber, LooseBool, LooseNumber:
		return c.convertLiteral(n, f, what)
	case PlainText:
	}
	return c.convertText(n, f)
}

func (c *converter) convertText(n *yaml.Node, f *kind.Field) any {
	c.checkText(n, n.Value, false)
	c.checkKnownValue(n, n.Value, f)
	return c.emitScalar(n, n.Value)
}

func (c *converter) convertLiteral(n *yaml.Node, f *kind.Field, what ScalarType) any {
	want, value := kind.AnyType, n.Value
	if f != nil {
		want = f.Type
	}
	boolean, isBool := ParseBool(n.Value)
	switch {
	case want == kind.Text:
		if isBool && documentShows(f, "true") {
			value = strconv.FormatBool(boolean)
		}
		c.addFixableError(n, ruleUnquoted, fmt.Sprintf("%s without quotes is a %s, and the platform needs text here", n.Value, what.Name()), strconv.Quote(value))
	case what == PlainBool:
		return c.emitScalar(n, boolean)
	case what == PlainNumber:
		return c.convertNumber(n, n.Value)
	case want == kind.Bool && what == LooseBool:
		c.addFixableError(n, ruleSchema, n.Value+" is a boolean to some YAML parsers and text to others", strconv.FormatBool(boolean))
	case want == kind.Number && what == LooseNumber:
		c.addError(n, ruleSchema, n.Value+" is a different number to different YAML parsers", "write the number in plain decimal digits")
	default:
		c.addFixableError(n, ruleUnquoted, fmt.Sprintf("%s is text to some YAML parsers and a %s to others", n.Value, what.Name()), strconv.Quote(n.Value))
	}
	return c.emitScalar(n, value)
}

// addFixableError adds an error whose fix is certain, so that fmt --fix can write the value.
func (c *converter) addFixableError(n *yaml.Node, rule, message, value string) {
	c.addError(n, rule, message, "write "+c.fieldLine(value)+", or try trueup fmt --fix").Write = value
}

// documentShows reports whether the platform's document shows the value for the field.
func documentShows(f *kind.Field, value string) bool {
	return slices.Contains(f.Seen, value) || slices.ContainsFunc(f.Examples, func(e any) bool {
		return e == value || e == "false" && value == "true"
	})
}

func (c *converter) convertEmpty(n, at *yaml.Node) any {
	what := "no value"
	if n.Value != "" {
		what = n.Value + " as value"
	}
	c.addError(at, ruleEmpty, "a field with "+what+": should it be empty or absent?",
		`write "" for an empty text, {} or [] for an empty mapping or list, null for "must be absent", or remove the line`)
	return c.emitScalar(n, nil)
}

// convertTagged converts a scalar with a tag; it accepts only that of text.
func (c *converter) convertTagged(n *yaml.Node, f *kind.Field) any {
	if n.Tag == "!!str" {
		return c.convertText(n, f)
	}
	c.addError(n, ruleTag, fmt.Sprintf("the tag %s may change what the value means", diag.Quote(n.Tag)), "remove the tag and write the value as plain YAML")
	return c.emitScalar(n, nil)
}

// fieldLine returns the current field with another value as a line of YAML. For a list element it returns
// only the value, because a list in brackets has no hyphens.
func (c *converter) fieldLine(value string) string {
	if len(c.path) == 0 || c.path[len(c.path)-1].index >= 0 {
		return value
	}
	return c.path[len(c.path)-1].name + ": " + value
}

// checkText rejects invisible characters, and line breaks in a key. A value may have escapes of them, and the
// joiners U+200C and U+200D, because texts of some languages need them.
func (c *converter) checkText(n *yaml.Node, s string, key bool) {
	for _, r := range s {
		if r >= ' ' && r < 0x7F || !key && (r == '\n' || r == '\t' || r == 0x200C || r == 0x200D) {
			continue
		}
		if diag.IsInvisible(r) && (key || !c.isEscape(n, r)) {
			c.addError(n, RuleEncoding, fmt.Sprintf("the text contains the invisible character U+%04X", r), "remove the character")
			return
		}
	}
}

// isEscape reports whether a character of a text is only there as an escape.
func (c *converter) isEscape(n *yaml.Node, r rune) bool {
	return n.Style&yaml.DoubleQuotedStyle != 0 && !bytes.ContainsRune(c.file.Lines.Data, r)
}
