package routing

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"trueup/internal/files"
	"trueup/internal/purge"
)

// URL is the address of a request.
type URL struct {
	Request
	// Text is the URL as it was written, and From is FILE:LINE of a list that has it.
	Text, From string
	// Plain is true without TLS, and Rewritten if the path is not what was written.
	Plain, Rewritten bool
}

// ParseURL reads an absolute http or https URL.
func ParseURL(text string) (u URL, err error) {
	u.Text = text
	if u.Request, err = ParseRequest(text); err != nil {
		return u, u.wrong(err)
	}
	scheme, _, _ := strings.Cut(text, ":")
	written := AfterHost(text)
	u.Plain, u.Rewritten = strings.EqualFold(scheme, "http"), written != u.Path && written != ""
	return u, nil
}

// wrong adds the URL to an error.
func (u URL) wrong(err error) error {
	if u.From != "" {
		return fmt.Errorf("%s: %s: %w", u.From, shown(u.Text), err)
	}
	return fmt.Errorf("%s: %w", shown(u.Text), err)
}

// shown returns a text for a message. One with an @ may have a password.
func shown(text string) string {
	if strings.Contains(text, "@") {
		return "a URL with an @"
	}
	return fmt.Sprintf("%.200q", text)
}

// MaxList limits a list of URLs, in bytes.
const MaxList = 64 << 20

// ReadURLs reads a list with one URL a line. It skips blank lines and those that start with #.
func ReadURLs(name string, r io.Reader) (urls []URL, err error) {
	lines, err := purge.ReadLines(files.AtMost(r, MaxList))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var wrong []error
	for _, line := range lines {
		from := fmt.Sprintf("%s:%d", name, line.Line)
		u, err := ParseURL(line.Text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", from, err))
		}
		u.From = from
		urls = append(urls, u)
	}
	return urls, joinedErrors(wrong)
}

// joinedErrors returns the first errors, and how many more there are.
func joinedErrors(wrong []error) error {
	const most = 10
	if more := len(wrong) - most; more > 0 {
		wrong = append(wrong[:most:most], fmt.Errorf("and %d more", more))
	}
	return errors.Join(wrong...)
}
