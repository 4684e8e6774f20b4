package cli

import (
	"slices"
	"strings"

	"trueup/internal/e2e/quirks"
	"trueup/internal/exit"
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
		forEver: {exit.Error},
		tooLong: {exit.Error}, denied: {exit.Auth}, refused: {exit.OK, exit.Error}, redirected: {exit.Error},
		bare: {exit.OK, exit.Error}, noSense: {exit.OK, exit.Error},
		partOfList: {exit.OK, exit.NeedsPerson}, wrongTime: {exit.OK, exit.Partial, exit.NeedsPerson},
	},
	// What was live before a claim is only needed where the answer is lost.
	"list before a claim": {
		forEver: {exit.OK, exit.Partial}, tooLong: {exit.OK, exit.Partial}, denied: {exit.OK, exit.Auth},
		wrongTime: {exit.OK, exit.Partial, exit.NeedsPerson},
	},
	// A read of an object is before the plan, or right before the write.
	"look": {
		forEver: {exit.Error, exit.Partial, exit.NotConverged},
		tooLong: {exit.Error, exit.Partial}, denied: {exit.Auth}, refused: {exit.OK, exit.Error, exit.Stale, exit.Partial},
		redirected: {exit.Error, exit.Partial}, bare: {exit.Error, exit.Partial},
		noSense: {exit.OK, exit.Error, exit.Stale, exit.Partial, exit.NeedsPerson}, wrongTime: {exit.OK, exit.Partial, exit.NeedsPerson},
	},
	// Without the time nothing is sent that is sent once. A 403 is about this object if another one was read before.
	"clock": {
		forEver: {exit.Partial},
		tooLong: {exit.Partial}, denied: {exit.Auth, exit.Partial}, refused: {exit.OK, exit.Partial}, redirected: {exit.Partial},
		bare: {exit.OK, exit.Partial}, noSense: {exit.OK, exit.Partial}, wrongTime: {exit.OK, exit.Partial, exit.NeedsPerson},
	},
	// What was written is there: only whether it was kept is not known.
	"read back": {
		forEver: {exit.Partial, exit.NotConverged},
		tooLong: {exit.OK, exit.Partial, exit.NotConverged}, denied: {exit.OK, exit.Auth}, refused: {exit.OK, exit.Partial, exit.NotConverged},
		redirected: {exit.OK, exit.Partial}, bare: {exit.OK, exit.Partial}, noSense: {exit.OK, exit.Partial, exit.NotConverged},
		wrongTime: {exit.OK, exit.Partial, exit.NeedsPerson},
	},
	// What can be read by its name is looked for after any unclear answer.
	"write CDN": {
		forEver: {exit.OK, exit.Partial}, overdue: {exit.OK, exit.Partial},
		tooLong: {exit.Partial}, denied: {exit.Auth}, refused: {exit.OK, exit.Stale, exit.Partial}, redirected: {exit.OK, exit.Partial},
		bare: {exit.OK, exit.Partial, exit.NotConverged}, noSense: {exit.OK, exit.Partial}, broken: {exit.OK, exit.Partial},
	},
	"write snapshot": {
		forEver: {exit.OK, exit.Partial, exit.NeedsPerson}, overdue: {exit.OK, exit.NeedsPerson},
		tooLong: {exit.Partial}, denied: {exit.Auth}, refused: {exit.OK, exit.Partial, exit.NeedsPerson}, redirected: {exit.OK, exit.Partial, exit.NeedsPerson},
		bare: {exit.OK, exit.NotConverged}, noSense: {exit.OK, exit.NeedsPerson, exit.NotConverged}, noAnswer: {exit.OK, exit.NeedsPerson}, broken: {exit.OK, exit.NeedsPerson},
		wrongTime: {exit.OK, exit.NeedsPerson},
	},
	"write deletion": {
		forEver: {exit.OK, exit.Partial}, overdue: {exit.OK, exit.Partial},
		tooLong: {exit.Partial}, denied: {exit.Auth}, refused: {exit.OK, exit.Partial}, redirected: {exit.OK, exit.Partial},
		bare: {exit.OK, exit.Partial, exit.NotConverged}, noSense: {exit.OK, exit.Partial}, broken: {exit.OK, exit.Partial},
	},
	// A purge can't be read: it is sent again only where duplicates are refused, or after a 409 that says that nothing
	// was done. So is a 4xx that no document has.
	"write purge": {
		forEver: {exit.Partial, exit.NeedsPerson}, overdue: {exit.NeedsPerson},
		tooLong: {exit.Partial}, denied: {exit.Auth}, refused: {exit.OK, exit.Partial, exit.NeedsPerson}, redirected: {exit.Partial, exit.NeedsPerson},
		noSense: {exit.OK, exit.NeedsPerson}, noAnswer: {exit.NeedsPerson}, broken: {exit.NeedsPerson}, wrongTime: {exit.OK, exit.NeedsPerson},
	},
	"write purge, proven": {
		forEver: {exit.Partial, exit.NeedsPerson},
		tooLong: {exit.Partial}, denied: {exit.Auth}, refused: {exit.OK, exit.Partial, exit.NeedsPerson}, redirected: {exit.OK, exit.Partial, exit.NeedsPerson},
		noSense: {exit.OK, exit.NeedsPerson}, wrongTime: {exit.OK, exit.NeedsPerson},
	},
}
