package fault

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Grammar is the syntax of a rule, with an example.
const Grammar = "METHOD PATH: EFFECT [before-commit|after-commit] [xN|x*] [N%] [@N] [seed=N], such as POST /purges: 503 after-commit x2"

// forever is the times of a rule that never ends.
const forever = -1

// rule selects requests, and says what to do with them.
type rule struct {
	text string
	// method is "*" for any. path is a substring of the path, or, with asterisks, a pattern for all of it.
	method, path string
	effect       effect
	after        bool // the platform carries the request out
	// The rule applies to at most times requests, from the one with the number from
	// (counted from 1), to each with the probability percent.
	times, from int
	percent     float64
	seed        uint64

	seen, done int
	random     *rand.Rand
}

func (r *rule) matches(method, path string) bool {
	return (r.method == "*" || r.method == method) && matchPath(r.path, path)
}

// matchPath reports whether the path contains the pattern, or, if the pattern has
// asterisks, matches it as a whole. An asterisk stands for any text.
func matchPath(pattern, path string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return strings.Contains(path, pattern)
	}
	rest, ok := strings.CutPrefix(path, parts[0])
	for _, part := range parts[1:last] {
		if !ok {
			return false
		}
		_, rest, ok = strings.Cut(rest, part)
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

// due counts a request, and reports whether the rule applies to it.
func (r *rule) due() bool {
	r.seen++
	lucky := r.percent >= 100 || r.random.Float64()*100 < r.percent
	return lucky && r.seen >= r.from && !r.spent()
}

func (r *rule) spent() bool { return r.times != forever && r.done >= r.times }

// token is a word of a rule, with the position of its first character, from 1.
type token struct {
	text string
	at   int
}

// reader splits a rule into words.
type reader struct {
	rule string
	left []token
}

// wrong returns an error with the position in the rule and the grammar.
func (w *reader) wrong(at token, format string, args ...any) error {
	where := "at its end"
	if at.text != "" {
		where = fmt.Sprintf("at %q (character %d)", at.text, at.at)
	}
	return fmt.Errorf("fault %q: %s: %s; a fault is %s", w.rule, where, fmt.Sprintf(format, args...), Grammar)
}

// take returns the next word, or an empty one at the end.
func (w *reader) take() token {
	if len(w.left) == 0 {
		return token{}
	}
	first := w.left[0]
	w.left = w.left[1:]
	return first
}

// option takes the next word if it is one of names, else it returns "".
func (w *reader) option(names ...string) string {
	if len(w.left) > 0 && slices.Contains(names, w.left[0].text) {
		return w.take().text
	}
	return ""
}

// wordForm matches a word, which may contain quoted text.
var wordForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([^ \t"]|"[^"]*")+`) })

// split returns the words between two byte offsets of the rule.
func (w *reader) split(from, to int) (out []token, err error) {
	part := w.rule[from:to]
	if strings.Count(part, `"`)%2 != 0 {
		return nil, w.wrong(token{}, "the quote of character %d is not closed", w.character(from+strings.LastIndexByte(part, '"')))
	}
	for _, at := range wordForm().FindAllStringIndex(part, -1) {
		out = append(out, token{strings.ReplaceAll(part[at[0]:at[1]], `"`, ""), w.character(from + at[0])})
	}
	return out, nil
}

// character converts a byte offset to a character's number, from 1.
func (w *reader) character(at int) int { return utf8.RuneCountInString(w.rule[:at]) + 1 }

func parse(text string) (*rule, error) {
	text = strings.TrimSpace(text)
	w := &reader{rule: text}
	colon := strings.IndexByte(text, ':')
	if colon < 0 {
		return nil, w.wrong(token{}, "the colon after the path is missing")
	}
	before, err := w.split(0, colon)
	if err == nil {
		w.left, err = w.split(colon+1, len(text))
	}
	switch {
	case err != nil:
		return nil, err
	case len(before) != 2:
		return nil, w.wrong(token{text[:colon], 1}, "write a method (or *) and a path before the colon")
	case before[0].text != "*" && strings.Trim(before[0].text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return nil, w.wrong(before[0], "write the method in capital letters, or * for any")
	}
	r := &rule{text: text, method: before[0].text, path: before[1].text, times: 1, from: 1, percent: 100, seed: 1}
	if r.effect, err = w.effect(); err != nil {
		return nil, err
	}
	r.after = !r.effect.Either
	if err := r.modify(w); err != nil {
		return nil, err
	}
	// The text is part of the seed, so that rules don't all apply to the same requests.
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	r.random = rand.New(rand.NewPCG(r.seed, h.Sum64()))
	return r, nil
}

// modify parses the modifiers after the effect.
func (r *rule) modify(w *reader) error {
	given := map[string]bool{}
	for len(w.left) > 0 {
		at := w.take()
		what, err := r.modifier(at.text)
		if err == nil && given[what] {
			err = fmt.Errorf("this rule has %s already", what)
		}
		if err != nil {
			return w.wrong(at, "%v", err)
		}
		given[what] = true
	}
	if r.percent < 100 && !given["xN or x*"] {
		r.times = forever
	}
	return nil
}

// modifier parses one modifier and returns its form.
func (r *rule) modifier(text string) (form string, err error) {
	switch {
	case text == "before-commit" || text == "after-commit":
		if !r.effect.Either {
			return "", errors.New("this effect always comes after the commit, because it changes the platform's answer: remove this word")
		}
		r.after = text == "after-commit"
		return "before-commit or after-commit", nil
	case text == "x*":
		r.times = forever
		return "xN or x*", nil
	case strings.HasPrefix(text, "x"):
		r.times, err = positive(text[1:])
		return "xN or x*", err
	case strings.HasPrefix(text, "@"):
		r.from, err = positive(text[1:])
		return "@N", err
	case strings.HasSuffix(text, "%"):
		r.percent, err = parsePercent(strings.TrimSuffix(text, "%"))
		return "N%", err
	case strings.HasPrefix(text, "seed="):
		if r.seed, err = strconv.ParseUint(strings.TrimPrefix(text, "seed="), 10, 64); err != nil {
			err = errors.New("a seed is a number without a sign")
		}
		return "seed=N", err
	}
	return "", errors.New("only before-commit or after-commit, xN, x*, N%, @N and seed=N may follow the effect")
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("write a number, at least 1")
	}
	return n, nil
}

func parsePercent(text string) (float64, error) {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || !(p > 0 && p <= 100) {
		return 0, errors.New("a probability is above 0 and at most 100%")
	}
	return p, nil
}

// parseSize reads a number of bytes, such as 10, 10B, 64KiB, 3MiB or 1GiB.
func parseSize(text string) (size int64, ok bool) {
	digits := strings.TrimRight(text, "BKMGi")
	factor := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[text[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	return n * factor, err == nil && n >= 0 && factor > 0 && n <= math.MaxInt64/factor
}

func parseTime(text string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
