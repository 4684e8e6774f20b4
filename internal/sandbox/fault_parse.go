package sandbox

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// FaultGrammar is how a rule of a fault is written.
const FaultGrammar = "METHOD PATH: EFFECT [before-commit|after-commit] [xN|x*] [N%] [@N] [seed=N], such as POST /purges: 503 after-commit x2"

// word is a word of a rule, and the character that it begins at, from 1.
type word struct {
	text string
	at   int
}

// words is a rule that is read word by word.
type words struct {
	rule string
	left []word
}

// wrong is an error that names the place in the rule and shows the grammar.
func (w *words) wrong(at word, format string, args ...any) error {
	where := "at its end"
	if at.text != "" {
		where = fmt.Sprintf("at %q (character %d)", at.text, at.at)
	}
	return fmt.Errorf("fault %q: %s: %s; a fault is %s", w.rule, where, fmt.Sprintf(format, args...), FaultGrammar)
}

// take returns the next word, or an empty one.
func (w *words) take() word {
	if len(w.left) == 0 {
		return word{}
	}
	first := w.left[0]
	w.left = w.left[1:]
	return first
}

// option takes the next word if it is one of those that are named.
func (w *words) option(names ...string) string {
	if len(w.left) > 0 && slices.Contains(names, w.left[0].text) {
		return w.take().text
	}
	return ""
}

// split cuts a rule into words. What is quoted with " is part of one word,
// without the quotes.
func split(rule string, from int) ([]word, error) {
	var out []word
	var text strings.Builder
	begun, quoted, opened := -1, false, 0
	end := func() {
		if begun >= 0 {
			out = append(out, word{text.String(), begun})
		}
		text.Reset()
		begun = -1
	}
	at := from
	for _, r := range rule {
		at++
		switch {
		case (r == ' ' || r == '\t') && !quoted:
			end()
			continue
		case begun < 0:
			begun = at
		}
		if r == '"' {
			quoted, opened = !quoted, at
			continue
		}
		text.WriteRune(r)
	}
	end()
	if quoted {
		return nil, fmt.Errorf("the quote of character %d is not closed", opened)
	}
	return out, nil
}

// parseFault reads a rule.
func parseFault(rule string) (*fault, error) {
	rule = strings.TrimSpace(rule)
	w := &words{rule: rule}
	head, tail, ok := strings.Cut(rule, ":")
	if !ok {
		return nil, w.wrong(word{}, "the colon that follows the path is missing")
	}
	before, err := split(head, 0)
	if err == nil {
		w.left, err = split(tail, utf8.RuneCountInString(head)+1)
	}
	if err != nil {
		return nil, w.wrong(word{}, "%v", err)
	}
	if len(before) != 2 {
		return nil, w.wrong(word{head, 1}, "before the colon stand a method and a path, or * for any")
	}
	f := &fault{text: rule, method: before[0].text, path: before[1].text, from: 1, percent: 100, seed: 1}
	if f.method != "*" && strings.Trim(f.method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil, w.wrong(before[0], "a method is written in capitals, or * for any")
	}
	if f.action, err = w.action(f); err != nil {
		return nil, err
	}
	return f, w.modifiers(f)
}

// action reads the effect.
func (w *words) action(f *fault) (action, error) {
	name := w.take()
	for _, row := range effectRows() {
		if !row.named(name.text) {
			continue
		}
		f.after = !row.Either
		a, err := row.parse(w, name)
		a.either, a.replaces = row.Either, row.replaces
		return a, err
	}
	var forms []string
	for _, e := range Effects() {
		forms = append(forms, e.Form)
	}
	return action{}, w.wrong(name, "an effect is one of %s", strings.Join(forms, ", "))
}

// modifiers reads what follows the effect.
func (w *words) modifiers(f *fault) error {
	given := map[string]bool{}
	for len(w.left) > 0 {
		at := w.take()
		which, err := f.modify(at.text)
		switch {
		case err != nil:
			return w.wrong(at, "%v", err)
		case given[which]:
			return w.wrong(at, "%s was said before", which)
		}
		given[which] = true
	}
	if !given["how often"] {
		f.times = 1
		if f.percent < 100 {
			f.times = forever
		}
	}
	return nil
}

// modify takes one modifier and returns what it is about.
func (f *fault) modify(text string) (string, error) {
	switch {
	case text == "before-commit" || text == "after-commit":
		if !f.action.either {
			return "", errors.New("this effect changes the platform's own answer, so the platform has always acted: leave it out")
		}
		f.after = text == "after-commit"
		return "before or after the commit", nil
	case text == "x*":
		f.times = forever
		return "how often", nil
	case strings.HasPrefix(text, "x"):
		n, err := positive(text[1:])
		f.times = n
		return "how often", err
	case strings.HasPrefix(text, "@"):
		n, err := positive(text[1:])
		f.from = n
		return "from which request on", err
	case strings.HasSuffix(text, "%"):
		p, err := parsePercent(strings.TrimSuffix(text, "%"))
		f.percent = p
		return "the probability", err
	case strings.HasPrefix(text, "seed="):
		n, err := strconv.ParseUint(strings.TrimPrefix(text, "seed="), 10, 64)
		if err != nil {
			return "", errors.New("a seed is a number without a sign")
		}
		f.seed = n
		return "the seed", nil
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
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "BKMGi")
	factor := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[text[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || factor == 0 || n > math.MaxInt64/factor {
		return 0, errors.New("a size is a number of bytes, such as 10B, 64KiB, 3MiB or 1GiB")
	}
	return n * factor, nil
}

func parseWait(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("a time is written such as 300ms, 2s or 25h")
	}
	return d, nil
}
