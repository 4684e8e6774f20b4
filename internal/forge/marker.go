package forge

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// run orders the runs that write: id grows from run to run, attempt with each start of the
// same run.
type run struct {
	id      int64
	attempt int
}

func (r run) compare(o run) int {
	return cmp.Or(cmp.Compare(r.id, o.id), cmp.Compare(r.attempt, o.attempt))
}

// mark is the hidden first line of a text. trueup reads nothing below it.
type mark struct {
	// use is comment or issue.
	use, key string
	run      run
}

var markPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^<!-- trueup:(comment|issue) v1 key=(\S*) run=(\d{1,19})\.(\d{1,9}) -->(?:\r?\n|$)`)
})

// String returns the first line. An escaped key has no space and no bracket, so it can't
// end the line.
func (m mark) String() string {
	return fmt.Sprintf("<!-- trueup:%s v1 key=%s run=%d.%d -->\n", m.use, escaped(m.key), m.run.id, m.run.attempt)
}

func escaped(key string) string { return (&url.URL{Path: key}).EscapedPath() }

// readMark reads the first line of a text. It does not know those of later versions.
func readMark(text string) (mark, bool) {
	said := markPattern().FindStringSubmatch(text)
	if said == nil {
		return mark{}, false
	}
	key, err := url.PathUnescape(said[2])
	if err != nil {
		return mark{}, false
	}
	id, err := strconv.ParseInt(said[3], 10, 64)
	if err != nil {
		return mark{}, false
	}
	attempt, err := strconv.Atoi(said[4])
	return mark{use: said[1], key: key, run: run{id, attempt}}, err == nil
}

// sameText reports whether two texts are equal to a host, which may change line ends and
// the space around a text.
func sameText(a, b string) bool {
	norm := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return norm(a) == norm(b)
}
