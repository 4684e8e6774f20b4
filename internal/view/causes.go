package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/merge"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// causeLabel describes the cause of a change, or what happened to the value outside git.
func causeLabel(item plan.Item, c plan.Change) safetext.Text {
	if c.Class == plan.Lost {
		return clean("live only: would be lost")
	}
	happened := item.Happened || c.Left
	switch c.Cause {
	case plan.FromThisChange:
		if c.Class == merge.Removed {
			return clean("removed by this change")
		}
		if c.Class == merge.TakeOver {
			return safetext.F("newly managed by this change%s", quoteBeginning(", live had ", c.Live, ""))
		}
		return clean("this change")
	case plan.FromPending: // another branch may have replaced it
		return safetext.F("pending%s", sinceCommit(c.Commit))
	case plan.FromDrift:
		return safetext.F("%s%s", driftCause(item, c, happened), touchesRemark(c.By))
	case plan.FromBoth:
		return conflictCause(item, c, happened)
	case plan.FromTakeOver:
		return safetext.F("newly managed%s%s", sinceCommit(c.Commit), quoteBeginning(", live had ", c.Live, ""))
	case plan.FromRemoval:
		return DescribeRemoval("", c.Commit)
	case plan.FromLiveOnly:
		return clean("live only: it stays")
	case plan.FromRefusal:
		if c.KeptAt == nil {
			return clean("the server did not keep it, or it changed since")
		}
		return safetext.F("removed in git; the server kept it on %s", c.KeptAt.UTC().Format(time.DateOnly))
	case plan.FromUnknown:
	}
	return safetext.F("%s%s", unknownOrigin, touchesRemark(c.By))
}

const unknownOrigin = "origin unknown (no usable record)"

// DescribeRemoval says which commit removed what trueup applied. Git need not have had it in one.
func DescribeRemoval(b plan.ChangeOrigin, c *plan.Commit) safetext.Text {
	switch {
	case b != "":
		return clean("removed by this change")
	case c != nil:
		return safetext.F("not in git now, removed in %s", nameCommit(*c))
	}
	return clean("not in git now, applied before")
}

// sinceCommit names the commit that gave git its value; empty for none.
func sinceCommit(c *plan.Commit) safetext.Text {
	if c == nil {
		return safetext.Text{}
	}
	return safetext.F(", in git since %s", nameCommit(*c))
}

// nameCommit names a commit as its author did, with its day. Without a time it has only the ID.
func nameCommit(c plan.Commit) safetext.Text {
	if c.Time.IsZero() {
		return ShortCommit(c.ID)
	}
	return safetext.F("%s \"%s\", %s", ShortCommit(c.ID), clean(c.Subject).Truncate(maxSubject), c.Time.UTC().Format(time.DateOnly))
}

// touchesRemark returns a remark if this change affects the value too.
func touchesRemark(b plan.ChangeOrigin) string {
	if b == plan.ByThisChange {
		return "; this change affects it"
	}
	return ""
}

// driftCause says what sending git's value does to a change outside git, what it would do to one of a blocked object, or
// what happened.
func driftCause(item plan.Item, c plan.Change, happened bool) string {
	i := OneIf(item.Op == plan.Blocked)
	if happened {
		i = 2
	}
	switch {
	case c.Desired == nil && !c.Moved:
		return [...]string{"removes what was added outside git", "would remove what was added outside git", "added outside git"}[i]
	case c.Live == nil && !c.Moved:
		return [...]string{"adds back what was removed outside git", "would add back what was removed outside git", "removed outside git"}[i]
	}
	return [...]string{"undoes a change outside git", "would undo a change outside git", "changed outside git"}[i]
}

// conflictCause says what git and live made of a value, and which of them wins; or what happened to a value that git changed, too.
func conflictCause(item plan.Item, c plan.Change, happened bool) safetext.Text {
	was, since, mine := describeBefore(c), sinceCommit(c.Commit), c.By == plan.ByThisChange
	wins := [...]string{"git wins", "git would win"}[OneIf(item.Op == plan.Blocked)]
	switch missing, gone := c.Live == nil && !c.Moved, c.Desired == nil && !c.Moved; {
	case happened && gone:
		return safetext.F("conflict: changed outside git%s, and not in git now", was)
	case happened && missing:
		return safetext.F("conflict: removed outside git%s, and git has another value", was)
	case happened:
		return safetext.F("conflict: changed outside git%s, and git has another value", was)
	case gone:
		return safetext.F("conflict: %s, changed in live%s; %s", DescribeRemoval(c.By, c.Commit), was, wins)
	case missing && mine:
		return safetext.F("conflict: this change changed it, and live lacks it%s%s; %s", was, since, wins)
	case missing:
		return safetext.F("conflict: git differs from the last apply, and live lacks it%s%s; %s", was, since, wins)
	case mine:
		return safetext.F("conflict: this change and live both changed it%s%s; %s", was, since, wins)
	}
	return safetext.F("conflict: git and live both differ from the last apply%s%s; %s", was, since, wins)
}

// quoteBeginning returns the first characters of a value for a cause.
func quoteBeginning(before string, v any, after string) safetext.Text {
	if v == nil {
		return safetext.Text{}
	}
	return safetext.F("%s%s%s", before, FormatLiteral(v).Truncate(40), after)
}

// describeObjectCause says which change of git created, changed or removed the object; empty for other causes.
func describeObjectCause(item plan.Item) safetext.Text {
	c := plan.Change{Cause: item.Cause, Commit: item.Commit}
	if item.IsRemovedFromGit() {
		c.Class = merge.Removed
	}
	switch item.Cause {
	case plan.FromThisChange, plan.FromPending, plan.FromRemoval, plan.FromUnknown:
		return causeLabel(item, c)
	case plan.FromTakeOver, plan.FromDrift, plan.FromBoth, plan.FromLiveOnly, plan.FromRefusal:
	}
	return safetext.Text{}
}

// MaxParts is the most parts that a line lists; the rest is counted.
const MaxParts = 12

// itemNotes returns sentences about an item: its purge and quota, what is sent, hints, and what to do.
func itemNotes(item plan.Item, opts TextOptions) []Row {
	notes := purgeNotes(item, opts)
	if item.Request != nil {
		notes = append(notes, Row{Text: requestLine(item)})
	}
	for _, h := range item.Hints {
		notes = append(notes, Row{Text: safetext.F("note: %s", CleanMessage(h))})
	}
	flag := safetext.F("--accept take-over=%s", clean(item.Key.String()).Truncate(MaxPath))
	if len(item.FirstContact) > 0 && !strings.Contains(CleanMessage(item.Fix).String(), flag.String()) {
		notes = append(notes, Row{Text: safetext.F("fix: add them to the manifest, or drop them with apply %s", flag), Fix: true})
	}
	if item.Fix != "" {
		fix := safetext.Join(safetext.NonEmpty(safetext.F("fix"), clean(item.Project).TruncateLeft(MaxPath)), " in ")
		notes = append(notes, Row{Text: safetext.F("%s: %s", fix, CleanMessage(item.Fix)), Fix: true})
	}
	return notes
}

func requestLine(item plan.Item) safetext.Text {
	if item.Op == plan.Delete {
		item.Name = cmp.Or(item.RemoteName, item.Name)
	}
	item.Project = "" // the title has it
	line := safetext.F("%s %s", clean(item.Request.Method).Truncate(MaxPath), titleOf(item.Key))
	if item.Op != plan.Patch {
		return line
	}
	return safetext.F("%s  {%s}", line, JoinLimited(patchParts(item), "; "))
}

// patchParts names the paths in a merge patch: lists with their length, because a patch
// replaces the whole list, and removals.
func patchParts(item plan.Item) []safetext.Text {
	lists := make(map[string]int, len(item.Lists))
	for _, l := range item.Lists {
		lists[l.Path] = l.Elements
	}
	var parts []safetext.Text
	var addParts func(prefix string, object []byte)
	addParts = func(prefix string, object []byte) {
		for key, value := range canon.Members(object) {
			path := prefix + canon.UnquoteKey(key)
			name := clean(path).Truncate(MaxPath)
			switch {
			case string(value) == "{}":
				parts = append(parts, safetext.F("%s: {}", name))
			case value[0] == '{':
				addParts(path+".", value)
			case value[0] == '[':
				elements, ok := lists[path]
				if !ok {
					elements = len(slices.Collect(canon.Elements(value)))
				}
				parts = append(parts, safetext.F("%s: whole list of %d", name, elements))
			case string(value) == "null":
				parts = append(parts, safetext.F("%s: removed", name))
			default:
				parts = append(parts, name)
			}
		}
	}
	addParts("", item.BodySpecText())
	return parts
}

// JoinLimited joins the first parts and counts the rest.
func JoinLimited(parts []safetext.Text, sep string) safetext.Text {
	if len(parts) <= MaxParts {
		return safetext.Join(parts, sep)
	}
	return safetext.F("%s%s%d more", safetext.Join(parts[:MaxParts], sep), sep, len(parts)-MaxParts)
}

// countInvalidated counts the paths and prefixes of a purge, and names its hosts.
func countInvalidated(p *plan.PurgeInfo) safetext.Text {
	if p == nil {
		return safetext.Text{}
	}
	var what []safetext.Text
	if p.Paths > 0 || p.Prefixes == 0 {
		what = append(what, safetext.Count(p.Paths, "path"))
	}
	if p.Prefixes > 0 {
		what = append(what, clean(diag.Plural(p.Prefixes, "prefix", "prefixes")))
	}
	hosts := []safetext.Text{clean(p.Hostname).Truncate(MaxPath)}
	for _, s := range p.Subdomains {
		hosts = append(hosts, clean(s).Truncate(MaxName))
	}
	text := safetext.Join(what, " and ")
	if p.Everything || slices.Contains(p.Sample, "/*") {
		text = safetext.F("everything (%s)", text)
	}
	return safetext.F("%s on %s", text, JoinLimited(hosts, ", "))
}

// maxPaths is the most paths of a purge that are shown, but for its prefixes, which are all shown.
const maxPaths = 10

// purgeNotes lists the prefixes and the first files, and the hostname's budget if it matters or opts ask for it.
func purgeNotes(item plan.Item, opts TextOptions) []Row {
	p := item.Purge
	if p == nil {
		return nil
	}
	var notes []Row
	if prefixes, files := pathsOf(item); len(prefixes)+len(files) > 0 {
		n := Row{Facts: factsOfPurge(item)}
		files = files[:min(len(files), max(0, maxPaths-len(prefixes)))]
		n.Text = safetext.F("paths: %s", safetext.Join(cleanAll(slices.Concat(prefixes, files)), ", "))
		if rest := p.Paths + p.Prefixes - len(prefixes) - len(files); rest > 0 {
			n.Text = safetext.F("%s, %d more", n.Text, rest)
		}
		notes = append(notes, n)
	}
	if item.Op != plan.Deferred && (item.Op != plan.Post || !opts.Verbose && !isScarce(p.Budget, p.Limits)) {
		return notes
	}
	return append(notes, Row{Text: safetext.F("budget of %s: %s, %s, %s", clean(p.Hostname).Truncate(MaxPath),
		countUsed(p.Budget.Requests, p.Limits.Requests, "requests"), countUsed(p.Budget.Paths, p.Limits.Paths, "paths"),
		countUsed(p.Budget.Prefixes, p.Limits.Prefixes, "prefixes"))})
}

// pathsOf returns the prefixes of a purge and its other paths: those that it sends, or the sample of one that is not sent.
func pathsOf(item plan.Item) (prefixes, files []string) {
	paths := item.Purge.Sample
	if sent, _ := item.BodySpec()["paths"].([]any); sent != nil {
		paths = nil
		for _, path := range sent {
			text, _ := path.(string)
			paths = append(paths, text)
		}
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "*") {
			prefixes = append(prefixes, path)
		} else {
			files = append(files, path)
		}
	}
	return prefixes, files
}

// isScarce reports whether more than half of any limit is used.
func isScarce(used, limits plan.HostBudget) bool {
	return 2*used.Requests > limits.Requests || 2*used.Paths > limits.Paths || 2*used.Prefixes > limits.Prefixes
}

// countUsed counts the used quota.
func countUsed(n, limit int, what string) safetext.Text {
	if limit > 0 {
		return safetext.F("%d of %d %s", n, limit, what)
	}
	return safetext.F("%d %s", n, what)
}
