package fault

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
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

// splitWords splits text at spaces outside of quotes, and removes the quotes.
func splitWords(text string) []string {
	isQuoted := false
	words := strings.FieldsFunc(text, func(c rune) bool {
		isQuoted = isQuoted != (c == '"')
		return !isQuoted && (c == ' ' || c == '\t')
	})
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, `"`, "")
	}
	return words
}

func parseRule(text string) (*rule, error) {
	text = strings.TrimSpace(text)
	r := &rule{text: text, from: 1, percent: 100, seed: 1}
	if err := r.parse(); err != nil {
		return nil, fmt.Errorf("fault %q: %w; a fault is %s", text, err, Grammar)
	}
	// The text is part of the seed, so that rules don't all apply to the same requests.
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	r.random = rand.New(rand.NewPCG(r.seed, h.Sum64()))
	return r, nil
}

func (r *rule) parse() (err error) {
	request, rest, _ := strings.Cut(r.text, ":")
	target := splitWords(request)
	switch {
	case len(target) != 2:
		return errors.New("write a method (or *) and a path before a colon")
	case target[0] != "*" && strings.Trim(target[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return fmt.Errorf("%q: write the method in capital letters, or * for any", target[0])
	}
	r.method, r.path = target[0], target[1]
	e, arg, words, err := findEffect(splitWords(rest))
	if err != nil {
		return err
	}
	r.after = !e.Either
	options := map[string]string{}
	for _, word := range words {
		if name, value, _ := strings.Cut(word, "="); e.hasOption(name) {
			options[name] = value
		} else if err := r.setModifier(word, e.Either); err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
	}
	if r.times == 0 && r.percent < 100 {
		r.times = forever
	}
	r.times = cmp.Or(r.times, 1)
	r.effect, err = e.prepare(arg, options)
	return err
}

// setModifier sets what one of the words after the effect says.
func (r *rule) setModifier(word string, either bool) (err error) {
	switch {
	case word == "before-commit" || word == "after-commit":
		if !either {
			return errors.New("this effect always comes after the commit, because it changes the platform's answer: remove this word")
		}
		r.after = word == "after-commit"
	case word == "x*":
		r.times = forever
	case strings.HasPrefix(word, "x"):
		r.times, err = positive(word[1:])
	case strings.HasPrefix(word, "@"):
		r.from, err = positive(word[1:])
	case strings.HasSuffix(word, "%"):
		r.percent, err = parsePercent(strings.TrimSuffix(word, "%"))
	case strings.HasPrefix(word, "seed="):
		if r.seed, err = strconv.ParseUint(strings.TrimPrefix(word, "seed="), 10, 64); err != nil {
			err = errors.New("a seed is a number without a sign")
		}
	default:
		err = errors.New("only before-commit or after-commit, xN, x*, N%, @N and seed=N may follow the effect")
	}
	return err
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
