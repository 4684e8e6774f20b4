//go:build linux

package ci

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// lookup is the value of a name such as inputs.directory or cancelled(); the
// value is text or a truth value.
type lookup func(name string) (any, error)

// expression reads the part of a workflow's expressions that ours use: names,
// texts in quotes, ! == != && || and brackets.
type expression struct {
	tokens []string
	names  lookup
}

var (
	expressionToken = regexp.MustCompile(`^\s*('(?:[^']|'')*'|[A-Za-z_][\w.-]*(?:\(\))?|&&|\|\||==|!=|!|\(|\))`)
	expressionPlace = regexp.MustCompile(`\$\{\{(.*?)\}\}`)
)

func evaluate(text string, names lookup) (any, error) {
	e := &expression{names: names}
	for rest := text; strings.TrimSpace(rest) != ""; {
		found := expressionToken.FindStringSubmatch(rest)
		if found == nil {
			return nil, fmt.Errorf("the expression %q is none that the simulated runner knows", text)
		}
		e.tokens, rest = append(e.tokens, found[1]), rest[len(found[0]):]
	}
	value, err := e.either()
	if err == nil && len(e.tokens) > 0 {
		err = fmt.Errorf("the expression %q goes on after %q", text, e.tokens[0])
	}
	return value, err
}

// filled is a text with the values of its expressions.
func filled(text string, names lookup) (string, error) {
	var failed error
	out := expressionPlace.ReplaceAllStringFunc(text, func(place string) string {
		value, err := evaluate(expressionPlace.FindStringSubmatch(place)[1], names)
		if err != nil {
			failed = err
		}
		return fmt.Sprint(value)
	})
	return out, failed
}

func truthy(v any) bool { return v != "" && v != false }

func (e *expression) take(tokens ...string) string {
	if len(e.tokens) == 0 || !slices.Contains(tokens, e.tokens[0]) {
		return ""
	}
	token := e.tokens[0]
	e.tokens = e.tokens[1:]
	return token
}

// chain is a row of parts between the same operator, of which the first that
// decides is the value.
func (e *expression) chain(operator string, part func() (any, error), decides func(any) bool) (any, error) {
	value, err := part()
	for err == nil && e.take(operator) != "" {
		var next any
		if next, err = part(); !decides(value) {
			value = next
		}
	}
	return value, err
}

func (e *expression) either() (any, error) { return e.chain("||", e.both, truthy) }

func (e *expression) both() (any, error) {
	return e.chain("&&", e.compared, func(v any) bool { return !truthy(v) })
}

func (e *expression) compared() (any, error) {
	left, err := e.single()
	if operator := e.take("==", "!="); err == nil && operator != "" {
		var right any
		right, err = e.single()
		return (left == right) == (operator == "=="), err
	}
	return left, err
}

func (e *expression) single() (any, error) {
	if e.take("!") != "" {
		value, err := e.single()
		return !truthy(value), err
	}
	if e.take("(") != "" {
		value, err := e.either()
		if err == nil && e.take(")") == "" {
			err = fmt.Errorf("a bracket is not closed before %q", e.tokens)
		}
		return value, err
	}
	if len(e.tokens) == 0 {
		return nil, fmt.Errorf("an expression ends too early")
	}
	token := e.tokens[0]
	e.tokens = e.tokens[1:]
	if token[0] == '\'' {
		return strings.ReplaceAll(token[1:len(token)-1], "''", "'"), nil
	}
	if strings.Trim(token, "&|=!()") == "" {
		return nil, fmt.Errorf("%q is no value", token)
	}
	return e.names(token)
}

// TestExpressions: the simulated runner reads them as the real one does.
func TestExpressions(t *testing.T) {
	t.Parallel()
	names := func(name string) (any, error) {
		values := map[string]any{"a": "x", "b": "", "cancelled()": false, "on.x-y": true}
		value, found := values[name]
		if !found {
			return nil, fmt.Errorf("there is no %s", name)
		}
		return value, nil
	}
	for text, want := range map[string]any{
		"a": "x", "'it''s'": "it's", "a == 'x'": true, "a != 'x'": false, "!a": false, "!b": true, "b || a": "x", "a && b": "",
		"!cancelled() && a == 'x' && b != ''": false, "a && (b || on.x-y)": true, "b || b || a && on.x-y": true,
		"c": nil, "a b": nil, "a ==": nil, "(a": nil, "a + b": nil, "": nil, "&& a": nil,
	} {
		got, err := evaluate(text, names)
		if (err != nil) != (want == nil) || err == nil && got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	if got, err := filled("-${{ a }}-${{b}}-", names); err != nil || got != "-x--" {
		t.Errorf("%q, %v", got, err)
	}
}
