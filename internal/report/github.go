package report

import (
	"io"
	"strings"
)

// A code host shows so many annotations of each level of a step, and drops the
// rest silently.
const maxAnnotations = 10

// command is a workflow command of GitHub Actions that makes an annotation. Only
// this type makes a line that a runner executes.
type command struct {
	level level
	// file is the path from the top of the repository, empty for the whole run.
	file         string
	line, column int
	title        safe
	message      []safe
	// named says that the message is kept where the annotation has no room.
	named bool
}

// text is the command as one line: its name and its keys are of this program,
// and no value can end where it stands.
func (c command) text() safe {
	name := levelName(c.level)
	if c.level == noteLevel {
		name = "notice"
	}
	var properties []safe
	add := func(key, v safe) {
		if v != "" {
			properties = append(properties, key+"="+commandProperty(v))
		}
	}
	if c.file != "" {
		add("file", clean(c.file))
		if c.line > 0 {
			add("line", number(c.line))
		}
		if c.line > 0 && c.column > 0 {
			add("col", number(c.column))
		}
	}
	add("title", c.title)
	lines := make([]safe, len(c.message))
	for i, line := range c.message {
		lines[i] = commandData(line)
	}
	return "::" + safe(name) + " " + join(properties, ",") + "::" + join(lines, "%0A")
}

// commandData escapes the text of a command as the runner undoes it. What is
// safe has no line break; the legacy form of commands is broken, though no
// runner looks for it in a line that is a command already.
func commandData(s safe) safe {
	return guarded(safe(strings.ReplaceAll(string(s), "%", "%25")))
}

// commandProperty escapes a value in front of the text.
func commandProperty(s safe) safe {
	return safe(strings.NewReplacer(":", "%3A", ",", "%2C").Replace(string(commandData(s))))
}

// writeGitHub writes a workflow command for each remark, the most important
// first. Of more than a host shows, the last one says how many there are, and what
// settings and changes of the first two risks are among them.
func writeGitHub(w io.Writer, doc Document, _ Options) error {
	commands := []command{{level: noteLevel, title: commandTitle(doc), message: []safe{runSummary(doc)}}}
	for _, r := range remarks(doc) {
		title := ruleID(r.rule)
		if r.ofRun() {
			title = commandTitle(doc)
		}
		commands = append(commands, command{level: r.level, file: r.file, line: r.line, column: r.column, title: title, message: r.lines(), named: r.named})
	}
	var out strings.Builder
	for _, l := range []level{errorLevel, warningLevel, noteLevel} {
		for _, c := range annotations(commands, l, doc) {
			out.WriteString(string(c.text()) + "\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func commandTitle(doc Document) safe { return "trueup " + cut(clean(doc.Command), maxName) }

// annotations are the commands of a level, as many as are shown.
func annotations(commands []command, l level, doc Document) []command {
	var found []command
	for _, c := range commands {
		if c.level == l {
			found = append(found, c)
		}
	}
	rest := len(found) - maxAnnotations + 1
	if rest <= 1 {
		return found
	}
	last := command{
		level: l, title: commandTitle(doc),
		message: []safe{"and " + number(rest) + " more of this kind, which this report does not show: " + elsewhere(doc)},
	}
	for _, c := range found[maxAnnotations-1:] {
		if c.named {
			last.message = append(last.message, c.message...)
		}
	}
	return append(found[:maxAnnotations-1], last)
}

// elsewhere says where everything can be read.
func elsewhere(doc Document) safe {
	var places []safe
	for _, f := range doc.Files {
		switch title := f.title(); {
		case title == "":
		case f.Format == "summary": // its file is the runner's own
			places = append(places, title)
		default:
			places = append(places, title+" "+cut(clean(f.Path), maxPath))
		}
	}
	if len(places) == 0 {
		return "see the log of this step, or write another report with --report"
	}
	return "look into " + join(places, ", ")
}
