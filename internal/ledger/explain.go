package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// ExplainRecord describes a record, and returns what to do, or "". Both contain names and messages from outside: the caller
// must clean them for printing.
func ExplainRecord(rec Record) (message, fix string) {
	key := rec.String()
	switch rec.State {
	case Claimed, Unknown:
		return explainOpen(rec)
	case Posted:
		message = fmt.Sprintf("%s was accepted%s%s", key, formatTime(rec.AcceptedAt), describeAnswerer(rec.Outcome))
		if deletion := rec.DescribeDeletion(); deletion != "" {
			message += "; " + deletion
		}
		return message, ""
	case Rejected:
		return fmt.Sprintf("%s was rejected%s%s; nothing was executed", key, formatTime(rec.ClaimedAt), quoteAnswer(rec.Outcome)), ""
	case Adopted:
		return fmt.Sprintf("trueup did not send %s: it was recorded as done%s", key, describeAnswerer(rec.Outcome)), ""
	case Abandoned:
		if rec.IsForgotten() {
			return fmt.Sprintf("%s was forgotten%s; trueup never creates it again", key, describeAnswerer(rec.Outcome)), ""
		}
		return fmt.Sprintf("%s was abandoned%s; trueup never sends it", key, describeAnswerer(rec.Outcome)),
			"to send it after all, give the manifest another name"
	}
	return explainWithoutState(rec), ""
}

// explainWithoutState is ExplainRecord for a record without a state.
func explainWithoutState(rec Record) string {
	key := rec.String()
	switch {
	case rec.Pending != nil:
		return key + " was being written, and no outcome was recorded; the next apply compares it again"
	case rec.NotConverged || rec.Owed != nil:
		return key + " was applied, but the server did not keep or remove all that was sent"
	case rec.Applied != nil:
		return key + " was applied"
	case rec.IsForgotten():
		return fmt.Sprintf("%s was forgotten%s; git manages it again if a manifest of it is applied", key, describeAnswerer(rec.Outcome))
	case rec.Outcome != nil && rec.Outcome.How == Operator:
		return fmt.Sprintf("trueup will send %s again%s", key, describeAnswerer(rec.Outcome))
	}
	return fmt.Sprintf("%s was not sent%s", key, quoteAnswer(rec.Outcome))
}

// explainOpen is ExplainRecord for a request whose outcome is unknown.
func explainOpen(rec Record) (message, fix string) {
	run := senderOf(rec.Claim) + formatTime(rec.ClaimedAt)
	perhaps := fmt.Sprintf("%s was about to be sent by %s, and no outcome was recorded: it may have been executed", rec.Key, run)
	switch {
	case rec.State == Claimed && !rec.Left:
		return perhaps, "if that run is still going, wait for it; otherwise " + ResolveAdvice(rec.Key)
	case rec.gaveUp():
		return perhaps, ResolveAdvice(rec.Key)
	case rec.NameTaken():
		return fmt.Sprintf("%s was sent by %s, but %s", rec.Key, run, rec.Outcome.Message), NameTakenCommand(rec.Key)
	}
	return fmt.Sprintf("%s was sent by %s and its outcome is unknown%s: it may have been executed", rec.Key, run, quoteAnswer(rec.Outcome)), ResolveAdvice(rec.Key)
}

// DescribeQuestion returns the columns of a question: the request, what the ledger knows, and what each wrong answer costs.
func DescribeQuestion(rec Record) []string {
	sent := "may have been sent"
	if rec.State == Unknown && !rec.gaveUp() {
		sent = "sent"
	}
	ask := []string{rec.String(), sent + formatTime(rec.ClaimedAt) + " by " + senderOf(rec.Claim)}
	k, ok := kind.FindKind(rec.Kind)
	switch {
	case rec.NameTaken():
		return append(ask, "the name is taken: ledger adopt, if that is this request", "--abandon, if not")
	case ok && k.IsRequestOnly():
		return append(ask, "--posted: old content may stay cached", "--repost: may purge twice")
	}
	return append(ask, "--posted: there may be no snapshot", "--repost: may make a second one")
}

// gaveUp reports whether a later run made the request unknown, because the run with the claim recorded nothing: that
// run may never have sent it.
func (r Record) gaveUp() bool { return r.Outcome != nil && r.Outcome.Message.String() == noOutcome }

// ExplainOpenRemoved is ExplainRecord for an open request whose manifest was removed from git.
func ExplainOpenRemoved(rec Record) (message, fix string) {
	message, _ = ExplainRecord(rec)
	return message + "; its manifest is not in git now, so trueup won't send it again",
		resolveCommand(rec.Key) + "--posted (it was executed) or --abandon (never send it)"
}

// ExplainInFlight says which run claimed the request, and until when.
func ExplainInFlight(rec Record) (message, fix string) {
	end := rec.ClaimedAt.Add(Lease)
	return fmt.Sprintf("claimed by %s%s", senderOf(rec.Claim), formatTime(rec.ClaimedAt)),
		fmt.Sprintf("run apply again when that run has ended, or after %s if it died: it sends it only if that run did not", end.UTC().Format(time.RFC3339))
}

// ResolveAdvice returns how to record whether a request was executed.
func ResolveAdvice(key kind.Key) string {
	return resolveCommand(key) + "--posted (it was executed), --repost (it was not: the next apply sends it) or --abandon (never send it)"
}

func resolveCommand(key kind.Key) string {
	return "check whether it happened, then run trueup ledger resolve " + ShellQuote(key.String()) + " --reason TEXT with "
}

// NameTakenCommand returns how to record who created the object that has the request's name.
func NameTakenCommand(key kind.Key) string {
	name := ShellQuote(key.String())
	return "if you sent that request by other means, run trueup ledger adopt " + name +
		". Otherwise give the manifest another name, and run trueup ledger resolve " + name + " --abandon --reason TEXT"
}

func senderOf(c *Claim) string {
	if c == nil {
		return "an unnamed run"
	}
	if run := cmp.Or(c.RunURL, c.RunID); run != "" {
		return "run " + run
	}
	if c.Host != "" {
		return cmp.Or(c.Actor, "a run") + " on " + c.Host
	}
	return cmp.Or(c.Actor, "an unnamed run")
}

func formatTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return " at " + t.UTC().Format(time.RFC3339)
}

// quoteAnswer returns the platform's or the network's answer in brackets.
func quoteAnswer(o *Outcome) string {
	switch {
	case o == nil || o.HTTP == 0 && o.Message == (diag.Quotation{}):
		return ""
	case o.HTTP == 0:
		return " (" + o.Message.String() + ")"
	}
	return " (" + strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", o.HTTP, o.Message), ": ") + ")"
}

// describeAnswerer returns who gave an answer, and why.
func describeAnswerer(o *Outcome) string {
	var text string
	if o == nil || !slices.Contains([]OutcomeStatus{Operator, AdoptedByOperator, Forgotten}, o.How) {
		return text
	}
	if o.By != "" {
		text = ", according to " + o.By
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// ShellQuote quotes s for a shell unless it is one plain word.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-._/:@+", r)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
