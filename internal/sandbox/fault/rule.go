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

// Grammar is how a rule is written.
const Grammar = "METHOD PATH: EFFECT [before-commit|after-commit] [xN|x*] [N%] [@N] [seed=N], such as POST /purges: 503 after-commit x2"

// forever is the count of a fault that never ends.
const forever = -1

// rule says which requests a fault meets, and what it does to them.
type rule struct {
	text string
	// method is "*" for any. path is a part of the path, or with asterisks the
	// whole of it.
	method, path string
	effect       effect
	after        bool // the platform acts on the request
	// times is how often it happens, from the first request that it can happen to,
	// counted from 1, and percent how probable it then is.
	times, from int
	percent     float64
	seed        uint64

	seen, done int
	random     *rand.Rand
}

func (r *rule) matches(method, path string) bool {
	return (r.method == "*" || r.method == method) && matchPath(r.path, path)
}

// matchPath matches a part of a path; an asterisk is any text, and a pattern that
// has one must match the whole.
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

// meet counts a request, and reports whether the fault is due.
func (r *rule) meet() bool {
	r.seen++
	lucky := r.percent >= 100 || r.random.Float64()*100 < r.percent
	return lucky && r.seen >= r.from && !r.spent()
}

func (r *rule) spent() bool { return r.times != forever && r.done >= r.times }

// token is a word of a rule, and the character that it begins at, from 1.
type token struct {
	text string
	at   int
}

// reader reads a rule word by word.
type reader struct {
	rule string
	left []token
}

// wrong is an error that names the place in the rule and shows the grammar.
func (w *reader) wrong(at token, format string, args ...any) error {
	where := "at its end"
	if at.text != "" {
		where = fmt.Sprintf("at %q (character %d)", at.text, at.at)
	}
	return fmt.Errorf("fault %q: %s: %s; a fault is %s", w.rule, where, fmt.Sprintf(format, args...), Grammar)
}

// take returns the next word, or an empty one.
func (w *reader) take() token {
	if len(w.left) == 0 {
		return token{}
	}
	first := w.left[0]
	w.left = w.left[1:]
	return first
}

// option takes the next word if it is one of the names.
func (w *reader) option(names ...string) string {
	if len(w.left) > 0 && slices.Contains(names, w.left[0].text) {
		return w.take().text
	}
	return ""
}

// wordForm is a word: text in double quotes is a part of one.
var wordForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([^ \t"]|"[^"]*")+`) })

// split cuts the part of the rule before or after a byte into words.
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

// character returns the number of the character at a byte, from 1.
func (w *reader) character(at int) int { return utf8.RuneCountInString(w.rule[:at]) + 1 }

func parse(text string) (*rule, error) {
	text = strings.TrimSpace(text)
	w := &reader{rule: text}
	colon := strings.IndexByte(text, ':')
	if colon < 0 {
		return nil, w.wrong(token{}, "the colon that follows the path is missing")
	}
	before, err := w.split(0, colon)
	if err == nil {
		w.left, err = w.split(colon+1, len(text))
	}
	switch {
	case err != nil:
		return nil, err
	case len(before) != 2:
		return nil, w.wrong(token{text[:colon], 1}, "before the colon stand a method and a path, or * for any")
	case before[0].text != "*" && strings.Trim(before[0].text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return nil, w.wrong(before[0], "a method is written in capitals, or * for any")
	}
	r := &rule{text: text, method: before[0].text, path: before[1].text, from: 1, percent: 100, seed: 1}
	if r.effect, err = w.effect(); err != nil {
		return nil, err
	}
	r.after = !r.effect.Either
	if err := r.modify(w); err != nil {
		return nil, err
	}
	// Different rules must not strike at the same requests.
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	r.random = rand.New(rand.NewPCG(r.seed, h.Sum64()))
	return r, nil
}

// modify reads what follows the effect.
func (r *rule) modify(w *reader) error {
	given := map[string]bool{}
	for len(w.left) > 0 {
		at := w.take()
		what, err := r.modifier(at.text)
		if err == nil && given[what] {
			err = fmt.Errorf("%s was said before", what)
		}
		if err != nil {
			return w.wrong(at, "%v", err)
		}
		given[what] = true
	}
	switch {
	case given["how often"]:
	case r.percent < 100:
		r.times = forever
	default:
		r.times = 1
	}
	return nil
}

// modifier takes one modifier and returns what it is about.
func (r *rule) modifier(text string) (what string, err error) {
	switch {
	case text == "before-commit" || text == "after-commit":
		if !r.effect.Either {
			return "", errors.New("this effect changes the platform's own answer, so the platform has always acted: leave it out")
		}
		r.after = text == "after-commit"
		return "before or after the commit", nil
	case text == "x*":
		r.times = forever
		return "how often", nil
	case strings.HasPrefix(text, "x"):
		r.times, err = positive(text[1:])
		return "how often", err
	case strings.HasPrefix(text, "@"):
		r.from, err = positive(text[1:])
		return "from which request on", err
	case strings.HasSuffix(text, "%"):
		r.percent, err = parsePercent(strings.TrimSuffix(text, "%"))
		return "the probability", err
	case strings.HasPrefix(text, "seed="):
		if r.seed, err = strconv.ParseUint(strings.TrimPrefix(text, "seed="), 10, 64); err != nil {
			err = errors.New("a seed is a number without a sign")
		}
		return "the seed", err
	}
	return "", errors.New("after the effect stand only before-commit or after-commit, xN, N%, @N and seed=N")
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("a number from 1 on is expected")
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
