package crash

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/e2e/long"
)

const (
	// attackSeedEnv is the seed that each subtest begins with. The same seed and subtest make the same plan of attack; the
	// timing of the processes differs.
	attackSeedEnv = "TRUEUP_ATTACK_SEED"
	// attackRounds is the number of rounds of an attack without TRUEUP_LONG.
	attackRounds = 3
	// attackLife is the number of rounds that one ledger lives.
	attackLife = 8
	// attackParallelism is how many requests a run sends at once, by default.
	attackParallelism = 4
)

func attackNumber(name string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return otherwise
	}
	return n
}

// attackColumns are those of the table. "untold" are doubled after the ledger was
// rolled back on machines without a seen cache, which nobody can notice. "lost" were
// called done and never executed. "for nothing" are questions about requests of
// which the platform's log has none; "beyond" are those of them that exceed what
// the killed runs of the round can have had in flight. "stuck" are rounds that did
// not come to an end.
func attackColumns() []string {
	return []string{"rounds", "runs", "kills", "tampered", "doubled", "untold", "lost", "asked", "for nothing", "beyond", "stuck"}
}

// TestAttack: random runs of the real program that are killed at random times,
// over a platform, a store and a network that fail, with ledgers that are turned
// back. Nothing is executed twice or lost, and a person is asked only about what
// may have been sent.
func TestAttack(t *testing.T) {
	t.Parallel()
	program := buildFolding(t)
	rounds := long.Times(attackRounds)
	var mu sync.Mutex
	table := map[string]map[string]int{}
	t.Run("rounds", func(t *testing.T) {
		cells := attackCells(t)
		for i, cell := range cells {
			share := rounds/len(cells) + max(0, min(1, rounds%len(cells)-i))
			if share == 0 {
				continue
			}
			t.Run(cell.name(), func(t *testing.T) {
				t.Parallel()
				tally := map[string]int{}
				for s := uint64(attackNumber(attackSeedEnv, 1+1000*i)); share > 0; s, share = s+1, share-attackLife {
					a := &attack{attackCell: cell, seed: s, tally: tally, counted: map[string]bool{}}
					a.live(t, program, min(share, attackLife))
					t.Logf("%s, seed %d: %v", cell.name(), s, tally)
				}
				mu.Lock()
				defer mu.Unlock()
				table[cell.name()] = tally
			})
		}
	})
	t.Log("\n" + attackTable(table))
}

func attackTable(table map[string]map[string]int) string {
	columns, all := attackColumns(), map[string]int{}
	text := "| store-duplicates-witness | " + strings.Join(columns, " | ") + " |\n|---|" + strings.Repeat("--:|", len(columns)) + "\n"
	for _, name := range append(slices.Sorted(maps.Keys(table)), "all") {
		row := table[name]
		if name == "all" {
			row = all
		}
		text += "| " + name + " |"
		for _, column := range columns {
			text += fmt.Sprintf(" %d |", row[column])
			all[column] += row[column]
		}
		text += "\n"
	}
	return text
}

// attackCell is a row of the table.
type attackCell struct {
	store            string
	refuses, witness bool
}

func attackCells(t testing.TB) []attackCell {
	t.Helper()
	var cells []attackCell
	for _, refuses := range []bool{false, true} {
		for _, witness := range []bool{true, false} {
			for _, store := range stores(t) {
				cells = append(cells, attackCell{store, refuses, witness})
			}
		}
	}
	return cells
}

func (c attackCell) name() string {
	return c.store + map[bool]string{true: "-refused", false: "-executed"}[c.refuses] + map[bool]string{true: "-witness", false: "-none"}[c.witness]
}

// attack is the life of one ledger.
type attack struct {
	attackCell
	*attackWorld
	seed  uint64
	tally map[string]int
	// counted are findings that were counted, by what and whose.
	counted map[string]bool
	// tampered says that the ledger was changed by force in this round, and back
	// that it was rolled back and the machines have no seen cache. inFlight is how many
	// requests the killed runs of the round can have had in flight.
	tampered, back bool
	// holed says that a file which is not the newest was removed from the ledger: its log lacks an entry.
	holed    bool
	inFlight int
	// export is what a person has kept of the ledger.
	export string
	// rescued is the output of runs with rescue records.
	rescued string
	trace   []string
}

func (a *attack) live(t *testing.T, program string, rounds int) {
	a.attackWorld = newAttackWorld(t, program, a.attackCell.store, a.seed, a.refuses)
	defer a.close()
	a.keepsState = a.witness
	a.ready("")
	for n := range rounds {
		a.note("round %d", n+1)
		a.inFlight, a.tampered, a.back = 0, false, false
		a.tally["rounds"]++
		a.platform.set(func() { a.platform.faulty = true })
		a.change()
		for range 2 + a.random.IntN(3) {
			a.act()
		}
		if !a.settles() {
			a.tally["stuck"]++
			a.report("the round did not come to an end")
			return
		}
	}
}

func (a *attack) note(format string, args ...any) {
	a.trace = append(a.trace, fmt.Sprintf(format, args...))
}

// report fails the test, and says how to see it again.
func (a *attack) report(format string, args ...any) {
	a.t.Helper()
	a.t.Errorf("%s, seed %d (%s=%d TRUEUP_LONG=%d go test -run 'TestAttack/rounds/^%s$' .): %s\n%s", a.name(), a.seed,
		attackSeedEnv, a.seed, attackLife*len(attackCells(a.t))/attackRounds, a.name(), fmt.Sprintf(format, args...), strings.Join(a.trace, "\n"))
}

// change pushes some purges, and sometimes many, a snapshot and a change of the CDN.
func (a *attack) change() {
	n := 1 + a.random.IntN(3)
	if a.random.IntN(6) == 0 {
		n += 9
	}
	for range n {
		a.once = append(a.once, fmt.Sprintf("Purge/rel-%03d", len(a.once)))
	}
	if a.random.IntN(3) == 0 {
		a.once = append(a.once, fmt.Sprintf("VolumeSnapshot/db-%03d", len(a.once)))
	}
	if a.random.IntN(3) == 0 {
		a.ttl++
	}
	a.note("git has %d requests, the last is %s; TTL %d", len(a.once), a.once[len(a.once)-1], a.ttl)
	a.commit("")
}

// act is one step of a round.
func (a *attack) act() {
	switch n := a.random.IntN(22); {
	case n < 7:
		a.killedRun()
	case n < 9:
		a.judge(a.run(attackApply()...))
	case n < 11:
		a.twoRuns()
	case n < 14:
		a.runDuringOutage()
	case n < 15:
		a.change()
	case n < 16:
		a.judge(a.run("ledger", "settle", "-q", "-o", "json"))
	case n < 17:
		a.foreignSnapshot()
	case n < 19:
		a.holds()
	default:
		a.tamper()
	}
}

// moment is a random time within a run, which takes longer the more it sends.
func (a *attack) moment() time.Duration {
	span := a.usual * time.Duration(1+a.random.IntN(3))
	return time.Duration(a.random.Int64N(int64(min(span, 1500*time.Millisecond))))
}

func (a *attack) killedRun() {
	at, all := a.moment(), a.random.IntN(2) == 0
	a.note("a run is killed after %s", at)
	r := a.begin(a.runner(), attackApply()...)
	time.Sleep(at)
	r.kill(all)
	a.judge(a.end(r))
}

func (a *attack) twoRuns() {
	first := a.begin(a.runner(), attackApply()...)
	time.Sleep(a.moment() / 4)
	second := a.begin(a.runner(), attackApply()...)
	if at := a.moment(); a.random.IntN(2) == 0 {
		a.note("two runs, of which the first is killed %s after the second began", at)
		time.Sleep(at)
		first.kill(false)
	}
	a.judge(a.end(first))
	a.judge(a.end(second))
}

func (a *attack) runDuringOutage() {
	at, wait := a.moment(), time.Duration(100+a.random.IntN(1100))*time.Millisecond
	a.note("the store fails after %s for %s", at, wait)
	r := a.begin(a.runner(), attackApply()...)
	time.Sleep(at)
	a.outage(wait)
	a.judge(a.end(r))
}

// foreignSnapshot is one that another client makes of the same disk.
func (a *attack) foreignSnapshot() {
	a.platform.set(func() {
		name := fmt.Sprintf("cron-%d", a.platform.version)
		a.note("somebody makes the snapshot %s", name)
		a.platform.put("VolumeSnapshot/"+name, map[string]any{
			"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"source": map[string]any{"persistentVolumeClaimName": "db"}, "volumeSnapshotClassName": "general-purpose"},
		})
	})
}

// heldMark is in what a run says that a hold stops.
const heldMark = " holds every object until "

// holds sets a hold by a run that may be killed, and ends it. As long as it holds, an apply sends nothing. The log is read
// meanwhile.
func (a *attack) holds() {
	r := a.begin(a.runner(), "hold", "--for", "1h", "--reason", "attack")
	if at := a.moment(); a.random.IntN(2) == 0 {
		time.Sleep(at)
		r.kill(a.random.IntN(2) == 0)
	}
	a.end(r)
	set := a.run("hold")
	before, _ := a.platform.log()
	apply := a.run(attackApply()...)
	after, _ := a.platform.log()
	a.note("a hold: exit %d, %q, and apply: exit %d", r.code, strings.TrimSpace(set.out), apply.code)
	if strings.Contains(set.out, heldMark) && !maps.Equal(before, after) {
		a.report("a run sent something despite a hold: exit %d, %v, %v: %s", apply.code, before, after, apply.said())
	}
	if log := a.run("log", "-n", "1000", "-o", "json"); log.code != 0 && !a.tampered && !a.holed {
		a.report("the log can't be read: exit %d, %s", log.code, log.said())
	}
	a.endHold()
}

// endHold ends what holds, if the ledger can be read.
func (a *attack) endHold() {
	r := a.run("hold", "--end")
	a.note("trueup hold --end: exit %d %s", r.code, strings.TrimSpace(r.err))
}

// tamper turns the ledger back, or takes a record out of it.
func (a *attack) tamper() {
	if r := a.run("ledger", "export"); r.code == 0 {
		a.export = r.out
	}
	n, done := 1+a.random.IntN(20), false
	back := true
	if a.random.IntN(3) == 0 {
		done, back = a.removeOne()
		a.holed = a.holed || done && !back
		a.note("a file of the ledger is removed: %t, the newest: %t", done, back)
	} else {
		done = a.turnBack(n)
		a.note("the ledger is rolled back by %d changes: %t", n, done)
	}
	a.back = a.back || done && back && !a.witness
	if done {
		a.tampered = true
		a.tally["tampered"]++
	}
}

// judge counts what is wrong with the end of a run, and with what the platform
// has seen by then.
func (a *attack) judge(r *attackRun) *attackRun {
	a.tally["runs"]++
	if r.code == killed {
		a.tally["kills"]++
		a.inFlight += attackParallelism
	} else if r.code == 0 && r.args[0] == "apply" {
		a.usual = r.took
	}
	a.note("trueup %s %s: exit %d after %s", r.args[0], r.args[1], r.code, r.took.Round(time.Millisecond))
	if !slices.Contains([]int{0, 1, 3, 5, 6, killed}, r.code) && a.first("exit", fmt.Sprint(r.code)) {
		a.report("exit %d: %s", r.code, r.said())
	}
	if strings.Contains(r.err, "rescue record: ") {
		a.rescued += r.err
	}
	executed, arrived := a.platform.log()
	for key, n := range executed {
		if n > 1 && a.first("doubled", key) {
			a.doubled(key)
		}
	}
	done := map[string]bool{}
	for _, key := range r.once {
		done[key] = r.code == 0 && r.args[0] == "apply"
	}
	for _, o := range r.result().Apply.Outcomes {
		done[o.key()] = o.sentOnce() && (done[o.key()] || o.Status == "done")
	}
	for _, key := range slices.Sorted(maps.Keys(done)) {
		if done[key] && executed[key] == 0 && a.first("lost", key) {
			a.tally["lost"]++
			a.report("%s was called done, and was not executed: answers %q, %s", key, a.platform.answers(key), r.said())
		}
	}
	a.questions(r, arrived)
	return r
}

func (a *attack) first(what, whose string) bool {
	name := what + " " + whose
	was := a.counted[name]
	a.counted[name] = true
	return !was
}

func (a *attack) doubled(key string) {
	a.tally["doubled"]++
	if a.back {
		a.tally["untold"]++
		return
	}
	a.report("%s was executed twice: answers %q", key, a.platform.answers(key))
}

// questions counts those of a run that ended with 6.
func (a *attack) questions(r *attackRun, arrived map[string]int) {
	if r.code != 6 || strings.Contains(r.out, heldMark) {
		return
	}
	named, beyond := false, ""
	for _, o := range r.result().Apply.Outcomes {
		if o.Verdict != "needs-person" || o.ofLedger() {
			continue
		}
		whose := o.key()
		if !o.sentOnce() {
			whose += fmt.Sprint(" in round ", a.tally["rounds"])
		}
		if named = true; !a.first("asked", whose) {
			continue
		}
		a.note("it asks about %s: %s", o.key(), o.Message)
		a.tally["asked"]++
		if o.sentOnce() && arrived[o.key()] > 0 || !o.sentOnce() && a.tampered {
			continue
		}
		a.tally["for nothing"]++
		if a.inFlight--; !o.sentOnce() || a.inFlight < 0 {
			a.tally["beyond"]++
			beyond += "\n" + o.key() + ": " + o.Message
		}
	}
	if beyond != "" {
		a.report("asked for nothing: the platform's log has no such request:%s", beyond)
	}
	if named || !a.first("asked", fmt.Sprint("ledger ", a.tally["rounds"])) {
		return
	}
	a.tally["asked"]++
	if a.tampered {
		return
	}
	a.tally["for nothing"]++
	a.tally["beyond"]++
	a.report("exit 6 without a question, and nobody has touched the ledger: %s", r.said())
}

// settles runs apply until it ends well, and answers what it asks by what is so.
func (a *attack) settles() bool {
	a.platform.calm()
	a.unlock()
	if a.rescued != "" {
		a.imports(a.rescued)
		a.rescued = ""
	}
	var r *attackRun
	for range 6 {
		a.platform.set(func() { a.platform.ahead += lease + time.Minute })
		r = a.judge(a.run(attackApply()...))
		switch r.code {
		case 0:
			return true
		case 6:
			if strings.Contains(r.out, heldMark) {
				a.endHold()
			}
			a.answer(r)
		}
	}
	a.note("the last run: %s", r.said())
	return false
}

// answer does what a person would who has read the platform's log.
func (a *attack) answer(r *attackRun) {
	folder := regexp.MustCompile(`trueup ledger import '?(/[^\s'"\\]+)`).FindStringSubmatch(r.out + r.err)
	if folder != nil && a.says("import", folder[1]) {
		return
	}
	executed, _ := a.platform.log()
	answered := false
	for _, o := range r.result().Apply.Outcomes {
		if o.Verdict != "needs-person" || o.ofLedger() || !o.sentOnce() {
			continue
		}
		answers := [][]string{{"resolve", o.key(), "--repost"}}
		if executed[o.key()] > 0 {
			answers = [][]string{{"resolve", o.key(), "--posted"}, {"adopt", o.key()}}
		}
		answered = slices.ContainsFunc(answers, func(args []string) bool { return a.says(append(args, "--reason", "seen")...) }) || answered
	}
	if !answered && a.export != "" {
		if strings.Contains(r.out+r.err, "damaged ledger") {
			a.moveAway()
		}
		a.imports(a.export)
	}
}

// imports gives a text to ledger import.
func (a *attack) imports(text string) {
	file := a.path("import.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.says("import", file)
}

// says runs a command of the ledger, and reports whether it was taken.
func (a *attack) says(args ...string) bool {
	r := a.run(append([]string{"ledger"}, args...)...)
	a.note("trueup ledger %s: exit %d %s", strings.Join(args, " "), r.code, strings.TrimSpace(cmp.Or(r.err, r.out)))
	return r.code == 0
}
