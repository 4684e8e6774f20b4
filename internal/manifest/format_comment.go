package manifest

import "strings"

// commentLevel is the column that a comment goes to: that of the field below
// it, or of one that is open above it, whichever it stood with, and deeper where
// it stood below the last of these. A spare element goes with the list above.
func commentLevel(line string, spare bool, best token, open []token) int {
	column := len(line) - len(strings.TrimLeft(line, " \t"))
	if best.from == column && !spare {
		return best.to
	}
	if best.from > column {
		best = noToken()
	}
	for i, t := range open {
		if t.from > column || t.from < best.from || t.from == best.from && t.from == column && !spare {
			continue
		}
		best = t
		if i == len(open)-1 && t.from < column {
			best.to += levelIndent
		}
	}
	return best.to
}

// spareHyphen is where in the text of a comment the hyphen is if somebody took an
// element out of a list by making it a comment, or else -1.
func spareHyphen(line string) int {
	text := strings.TrimLeft(line, " \t#")
	if !strings.HasPrefix(text, "- ") {
		return -1
	}
	return len(line) - len(text)
}

// stillSpare is spareHyphen for a line of comment below another, with what it was
// for that: it may go on with its element, or begin the next.
func stillSpare(line string, above int) int {
	text := strings.TrimLeft(line, " \t#")
	if at := len(line) - len(text); at > above || at == above && spareHyphen(line) == above {
		return above
	}
	return -1
}
