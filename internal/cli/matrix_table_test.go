package cli

import (
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/e2e/quirks"
	"trueup/internal/sandbox"
)

// matrixFault is a fault of the matrix: an effect in the words of the sandbox,
// and the class that says what may come of it.
type matrixFault struct {
	effect, class string
}

// The classes of faults.
const (
	noAnswer   = "no answer"          // the network, or a server that fails: it may pass
	broken     = "broken"             // a server that fails, and may go on so
	limited    = "limited"            // come back later
	tooLong    = "limited for a day"  // come back tomorrow
	slow       = "slow"               // a good answer, late
	denied     = "denied"             // 401, 403
	refused    = "refused"            // any other 4xx
	redirected = "redirected"         // 3xx
	bare       = "says nothing"       // a success that shows no object, as some servers answer
	noSense    = "makes no sense"     // a success that is none
	wrongTime  = "wrong time"         // the Date header
	partOfList = "part of a list"     // items are missing
	duplicate  = "executes duplicate" // what was proven is not so
	forEver    = "no answer, for ever"
	overdue    = "late" // the platform acts when nobody waits any more
)

// matrixFaults are all faults that an operation is tried under, once each.
func matrixFaults() []matrixFault {
	var all []matrixFault
	add := func(class string, effects ...string) {
		for _, e := range effects {
			all = append(all, matrixFault{e, class})
		}
	}
	add(noAnswer, "drop", "reset", "stall", "408", "502", "503", "503 retry-after=1", "504", "truncate", "truncate=20", "bad-header")
	add(broken, "500")
	add(limited, "429", "429 retry-after=1", "429 retry-after=+1s", "429 retry-after=-5", "429 retry-after=soon")
	add(tooLong, "429 retry-after=86400")
	add(slow, "delay=5ms", "drip=200")
	add(denied, "401", "403")
	add(refused, "400", "404", "405", "409", "410", "413", "415", "422")
	add(redirected, "redirect=http://127.0.0.1:9/elsewhere", "303")
	add(bare, "200", "204", "empty")
	add(noSense, "html", "not-json", "status-failure", "wrong-kind", "wrong-name", "wrong-namespace",
		"truncate-unseen", "huge=17", "gzip-bomb=17")
	add(wrongTime, "clock=+25h", "clock=-7m", "date=soon")
	add(partOfList, "partial-list=1", "partial-list-counted=1", "partial-list-paged=1")
	add(duplicate, "duplicate-executes")
	add(forEver, "drop x*", "503 x*", "429 x*")
	add(overdue, "delay=1500ms")
	return all
}

// moments are when a fault comes to an operation of a role. To what only reads
// it is all one. Who refuses, or sends elsewhere with 307, has not acted. And
// that a request was carried out which was not is believed where nobody can read
// it back.
func (f matrixFault) moments(role string) []string {
	effect := strings.FieldsFunc(f.effect, func(c rune) bool { return c == ' ' || c == '=' })[0]
	either := slices.ContainsFunc(append(sandbox.FaultKinds(), quirks.Faults()...), func(k sandbox.FaultKind) bool {
		return k.Either && (k.Name == effect || k.Name == "NNN" && len(effect) == 3)
	})
	hasNotActed := []string{limited, tooLong, denied, refused}
	switch {
	case f.class == partOfList && role != "list", f.class == duplicate && role != "write purge",
		f.class == overdue && !strings.HasPrefix(role, "write"):
		return nil
	case !either || !strings.HasPrefix(role, "write"),
		slices.Contains(hasNotActed, f.class), f.class == overdue, effect == "redirect", effect == "429":
		return []string{""}
	case f.class == bare && role == "write purge":
		return []string{"after-commit"}
	}
	return []string{"", "after-commit"}
}

// mayEnd are the exit codes that a fault may end a run with, by the role of the
// operation that it meets and its class; where there is none, the run must end
// well. They are the platform's document's and docs/design.md C4's and C5's; nothing of
// the program takes part.
var mayEnd = map[string]map[string][]int{
	// Before anything is planned a run can only be given up, or need no answer.
	"list": {
		forEver: {diag.ExitError},
		tooLong: {diag.ExitError}, denied: {diag.ExitAuth}, refused: {diag.ExitOK, diag.ExitError}, redirected: {diag.ExitError},
		bare: {diag.ExitOK, diag.ExitError}, noSense: {diag.ExitOK, diag.ExitError},
		partOfList: {diag.ExitOK, diag.ExitNeedsPerson}, wrongTime: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson},
	},
	// What was live before a claim is only needed where the answer is lost.
	"list before a claim": {
		forEver: {diag.ExitOK, diag.ExitPartial}, tooLong: {diag.ExitOK, diag.ExitPartial}, denied: {diag.ExitOK, diag.ExitAuth},
		wrongTime: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson},
	},
	// A read of an object is before the plan, or right before the write.
	"look": {
		forEver: {diag.ExitError, diag.ExitPartial, diag.ExitNotConverged},
		tooLong: {diag.ExitError, diag.ExitPartial}, denied: {diag.ExitAuth}, refused: {diag.ExitOK, diag.ExitError, diag.ExitStale, diag.ExitPartial},
		redirected: {diag.ExitError, diag.ExitPartial}, bare: {diag.ExitError, diag.ExitPartial},
		noSense: {diag.ExitOK, diag.ExitError, diag.ExitStale, diag.ExitPartial, diag.ExitNeedsPerson}, wrongTime: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson},
	},
	// Without the time nothing is sent that is sent once. A 403 is about this object if another one was read before.
	"clock": {
		forEver: {diag.ExitPartial},
		tooLong: {diag.ExitPartial}, denied: {diag.ExitAuth, diag.ExitPartial}, refused: {diag.ExitOK, diag.ExitPartial}, redirected: {diag.ExitPartial},
		bare: {diag.ExitOK, diag.ExitPartial}, noSense: {diag.ExitOK, diag.ExitPartial}, wrongTime: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson},
	},
	// What was written is there: only whether it was kept is not known.
	"read back": {
		forEver: {diag.ExitPartial, diag.ExitNotConverged},
		tooLong: {diag.ExitOK, diag.ExitPartial, diag.ExitNotConverged}, denied: {diag.ExitOK, diag.ExitAuth}, refused: {diag.ExitOK, diag.ExitPartial, diag.ExitNotConverged},
		redirected: {diag.ExitOK, diag.ExitPartial}, bare: {diag.ExitOK, diag.ExitPartial}, noSense: {diag.ExitOK, diag.ExitPartial, diag.ExitNotConverged},
		wrongTime: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson},
	},
	// What can be read by its name is looked for after any unclear answer.
	"write CDN": {
		forEver: {diag.ExitOK, diag.ExitPartial}, overdue: {diag.ExitOK, diag.ExitPartial},
		tooLong: {diag.ExitPartial}, denied: {diag.ExitAuth}, refused: {diag.ExitOK, diag.ExitStale, diag.ExitPartial}, redirected: {diag.ExitOK, diag.ExitPartial},
		bare: {diag.ExitOK, diag.ExitPartial, diag.ExitNotConverged}, noSense: {diag.ExitOK, diag.ExitPartial}, broken: {diag.ExitOK, diag.ExitPartial},
	},
	"write snapshot": {
		forEver: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson}, overdue: {diag.ExitOK, diag.ExitNeedsPerson},
		tooLong: {diag.ExitPartial}, denied: {diag.ExitAuth}, refused: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson}, redirected: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson},
		bare: {diag.ExitOK, diag.ExitNotConverged}, noSense: {diag.ExitOK, diag.ExitNeedsPerson, diag.ExitNotConverged}, noAnswer: {diag.ExitOK, diag.ExitNeedsPerson}, broken: {diag.ExitOK, diag.ExitNeedsPerson},
		wrongTime: {diag.ExitOK, diag.ExitNeedsPerson},
	},
	"write deletion": {
		forEver: {diag.ExitOK, diag.ExitPartial}, overdue: {diag.ExitOK, diag.ExitPartial},
		tooLong: {diag.ExitPartial}, denied: {diag.ExitAuth}, refused: {diag.ExitOK, diag.ExitPartial}, redirected: {diag.ExitOK, diag.ExitPartial},
		bare: {diag.ExitOK, diag.ExitPartial, diag.ExitNotConverged}, noSense: {diag.ExitOK, diag.ExitPartial}, broken: {diag.ExitOK, diag.ExitPartial},
	},
	// A purge can't be read: it is sent again only where duplicates are refused, or after a 409 that says that nothing
	// was done. So is a 4xx that no document has.
	"write purge": {
		forEver: {diag.ExitPartial, diag.ExitNeedsPerson}, overdue: {diag.ExitNeedsPerson},
		tooLong: {diag.ExitPartial}, denied: {diag.ExitAuth}, refused: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson}, redirected: {diag.ExitPartial, diag.ExitNeedsPerson},
		noSense: {diag.ExitOK, diag.ExitNeedsPerson}, noAnswer: {diag.ExitNeedsPerson}, broken: {diag.ExitNeedsPerson}, wrongTime: {diag.ExitOK, diag.ExitNeedsPerson},
	},
	"write purge, proven": {
		forEver: {diag.ExitPartial, diag.ExitNeedsPerson},
		tooLong: {diag.ExitPartial}, denied: {diag.ExitAuth}, refused: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson}, redirected: {diag.ExitOK, diag.ExitPartial, diag.ExitNeedsPerson},
		noSense: {diag.ExitOK, diag.ExitNeedsPerson}, wrongTime: {diag.ExitOK, diag.ExitNeedsPerson},
	},
}
