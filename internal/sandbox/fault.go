package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Grammar is the form of a fault, with an example.
const Grammar = "METHOD PATH: NAME[=VALUE] [after-commit] [xN|x*] [N%] [@N], such as POST /purges: 503 after-commit x2"

// forever is the times of a fault that never ends.
const forever = -1

// fault makes some requests fail, in one of the ways of FaultKinds.
type fault struct {
	FaultKind
	text string
	// method is "*" for any. path is a substring of the path, or, with asterisks, a pattern for all of it.
	method, path string
	after        bool // the platform carries the request out
	// The fault applies to at most times requests, from the one with the number from
	// (counted from 1), to each with the probability percent.
	times, from int
	percent     float64

	value string
	n     int           // the value, if it is a number; -1 if it is left out
	time  time.Duration // the value, if it is a time
	// options are those of a status, by name.
	options map[string]string

	seen, done int
}

func (f *fault) matchesRequest(method, path string) bool {
	return (f.method == "*" || f.method == method) && matchPath(f.path, path)
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

// isDue counts a request, and reports whether the fault applies to it.
func (f *fault) isDue() bool {
	f.seen++
	return f.seen >= f.from && !f.isSpent() && rand.Float64()*100 < f.percent
}

func (f *fault) isSpent() bool { return f.times != forever && f.done >= f.times }

func parseFault(text string) (*fault, error) {
	f := &fault{text: strings.TrimSpace(text), from: 1, percent: 100, options: map[string]string{}}
	if err := f.parseFault(); err != nil {
		return nil, fmt.Errorf("fault %q: %w; a fault is %s", f.text, err, Grammar)
	}
	return f, nil
}

func (f *fault) parseFault() error {
	request, rest, _ := strings.Cut(f.text, ":")
	target := strings.Fields(request)
	switch {
	case len(target) != 2:
		return errors.New("write a method (or *) and a path before a colon")
	case target[0] != "*" && strings.Trim(target[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return fmt.Errorf("%q: write the method in capital letters, or * for any", target[0])
	}
	f.method, f.path = target[0], target[1]
	rest, f.options["message"], _ = strings.Cut(rest, " message=") // the last option: it may have spaces
	words := append(strings.Fields(rest), "")
	if err := f.setKind(words[0]); err != nil {
		return err
	}
	for _, word := range words[1 : len(words)-1] {
		if !f.setOption(word) {
			return fmt.Errorf("%q: only after-commit, xN, x*, N%%, @N and what a status takes may follow", word)
		}
	}
	if f.times == 0 {
		f.times = 1
		if f.percent < 100 {
			f.times = forever
		}
	}
	return nil
}

// setKind sets what happens, from NAME or NAME=VALUE. A status is its own name.
func (f *fault) setKind(word string) error {
	name, value, hasValue := strings.Cut(word, "=")
	if len(word) == 3 && strings.Trim(word, "0123456789") == "" {
		name, value = statusName, word
	}
	kinds := FaultKinds()
	at := slices.IndexFunc(kinds, func(k FaultKind) bool { return k.Name == name })
	if at < 0 || word == statusName {
		return fmt.Errorf("%q does not exist: trueup sandbox fault --help lists the names", word)
	}
	f.FaultKind, f.value, f.after = kinds[at], value, !kinds[at].Either
	if !f.setValue(hasValue) {
		return fmt.Errorf("%q: write %s, where N is a number, TIME is such as 300ms or -7m, and a status is between 200 and 599", word, f.Form())
	}
	return nil
}

// setValue reads the value as its kind has it, and reports whether it is one.
func (f *fault) setValue(isGiven bool) bool {
	var err error
	switch f.Value {
	case "":
		return !isGiven
	case "=N", "[=N]":
		if f.n = -1; !isGiven {
			return f.Value == "[=N]"
		}
		n, err := strconv.ParseUint(f.value, 10, 31)
		f.n = int(n)
		return err == nil
	case "=TIME":
		f.time, err = time.ParseDuration(f.value)
		return err == nil
	case statusOptions:
		f.n, err = strconv.Atoi(f.value)
		return err == nil && f.n >= 200 && f.n <= 599
	}
	return f.value != ""
}

// setOption sets what a word after the name says. It returns false if it says nothing.
func (f *fault) setOption(word string) (ok bool) {
	name, value, _ := strings.Cut(word, "=")
	switch {
	case word == "after-commit":
		f.after = true
		return true
	case word == "x*":
		f.times = forever
		return true
	case word[0] == 'x':
		f.times, ok = parsePositive(word[1:])
		return ok
	case word[0] == '@':
		f.from, ok = parsePositive(word[1:])
		return ok
	case strings.HasSuffix(word, "%"):
		percent, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
		f.percent = percent
		return err == nil && percent > 0 && percent <= 100
	}
	f.options[name] = value
	return f.Name == statusName && slices.Contains([]string{"retry-after", "reason", "field", "plain"}, name)
}

func parsePositive(text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0
}
