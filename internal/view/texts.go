package view

import (
	"cmp"
	"slices"

	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/plan"
	"trueup/internal/safetext"
)

// The most columns of a text. Only JSON cuts nothing.
const (
	MaxName    = 80
	maxSubject = 50
	MaxPath    = 200
	maxMessage = 1000
)

// TruncateWithSize cuts a text and adds its size in bytes.
func TruncateWithSize(s safetext.Text, columns int) safetext.Text {
	if short := s.Truncate(columns); short != s {
		return safetext.F("%s (%d bytes)", short, len(s.String()))
	}
	return s
}

// FormatValue returns v on one line, shortened if it is long. Of an object or a list, it shows each value if whole is set.
func FormatValue(v any, whole bool) safetext.Text {
	if v == nil {
		return clean("(absent)")
	}
	text := FormatLiteral(v)
	if _, isText := v.(string); isText || !whole {
		return Shorten(text)
	}
	return text
}

// FormatKey returns KIND/NAME, shortened, and its project of many.
func FormatKey(k kind.Key) safetext.Text {
	return WithProject(safetext.F("%s/%s", k.Kind, k.Name).Truncate(MaxPath), k.Project)
}

// WithProject adds the project to a name; an empty one adds nothing.
func WithProject(name safetext.Text, project string) safetext.Text {
	if project == "" {
		return name
	}
	return safetext.F("%s in %s", name, clean(project).TruncateLeft(MaxPath))
}

// titleOf returns "KIND NAME", shortened, and its project of many.
func titleOf(k kind.Key) safetext.Text {
	return WithProject(safetext.F("%s %s", k.Kind, k.Name).Truncate(MaxPath), k.Project)
}

// CleanMessage escapes and shortens a sentence from outside.
func CleanMessage(s string) safetext.Text { return TruncateWithSize(clean(s), maxMessage) }

func clean(s string) safetext.Text { return safetext.Clean(s) }

// FullRowSentence returns a row as a sentence, with what is below it if that must be shown.
func FullRowSentence(r Row) safetext.Text {
	if !r.Text.Empty() {
		return r.Text
	}
	if r.Whole {
		r.Cause = safetext.Join(safetext.NonEmpty(safetext.Join(r.Details, " "), r.Cause, safetext.Join(r.Names, ", ")), "; ")
	}
	return RowSentence(r)
}

// RowSentence returns a row as a sentence.
func RowSentence(r Row) safetext.Text {
	text := safetext.Join(safetext.NonEmpty(r.Path, safetext.Join(safetext.NonEmpty(r.Before, r.After), " → ")), ": ")
	if r.Cause.Empty() {
		return text
	}
	return safetext.F("%s (%s)", text, r.Cause)
}

// LocationPrefix returns the prefix of a finding with its location; empty without one.
func LocationPrefix(f diag.Finding) safetext.Text {
	at := FormatLocation(f)
	if at.Empty() {
		return at
	}
	return safetext.F("%s: ", at)
}

// FormatLocation returns file:line:column, as far as known.
func FormatLocation(f diag.Finding) safetext.Text {
	text := clean(f.Path).Truncate(MaxPath)
	if f.Line > 0 {
		text = safetext.F("%s:%d", text, f.Line)
		if f.Column > 0 {
			text = safetext.F("%s:%d", text, f.Column)
		}
	}
	return text
}

// ItemFinder returns a function that finds the item of a plan whose manifest contains a line of a file. It returns an empty one if
// there is none.
func ItemFinder(pl *plan.Plan) func(file string, line int) plan.Item {
	var items []*plan.Item
	for i := range pl.Items {
		if item := &pl.Items[i]; item.Path != "" {
			items = append(items, item)
		}
	}
	slices.SortStableFunc(items, func(a, b *plan.Item) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line)) })
	return func(file string, line int) plan.Item {
		at, _ := slices.BinarySearchFunc(items, line+1, func(item *plan.Item, after int) int {
			return cmp.Or(cmp.Compare(item.Path, file), cmp.Compare(item.Line, after))
		})
		if at == 0 || items[at-1].Path != file {
			return plan.Item{}
		}
		return *items[at-1]
	}
}
