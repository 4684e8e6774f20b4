package report

import (
	"trueup/internal/kind"
	"trueup/internal/safetext"
	"trueup/internal/view"
)

// The most columns of a text. Only JSON cuts nothing.
const (
	maxText    = view.MaxText
	maxName    = 80
	maxSubject = 50
	maxPath    = 200
	maxMessage = 1000
)

// cutText cuts a text and adds its size in bytes.
func cutText(s safe, columns int) safe {
	if short := s.Cut(columns); short != s {
		return safetext.F("%s (%d bytes)", short, len(s.String()))
	}
	return s
}

// value returns v on one line, shortened if it is long. Of an object or a list, it shows each value if whole is set.
func value(v any, whole bool) safe {
	if v == nil {
		return clean("(absent)")
	}
	text := view.Literal(v)
	if _, isText := v.(string); isText || !whole {
		return view.Shorten(text)
	}
	return text
}

// named returns KIND/NAME, shortened, and its project of many.
func named(k kind.Key) safe {
	return inProject(safetext.F("%s/%s", k.Kind, k.Name).Cut(maxPath), k.Project)
}

// inProject adds the project to a name; an empty one adds nothing.
func inProject(name safe, project string) safe {
	if project == "" {
		return name
	}
	return safetext.F("%s in %s", name, clean(project).CutLeft(maxPath))
}

func namesOf(keys []kind.Key) []safe {
	names := make([]safe, len(keys))
	for i, k := range keys {
		names[i] = named(k)
	}
	return names
}

// titled returns "KIND NAME", shortened, and its project of many.
func titled(k kind.Key) safe {
	return inProject(safetext.F("%s %s", k.Kind, k.Name).Cut(maxPath), k.Project)
}

// message escapes and shortens a sentence from outside.
func message(s string) safe { return cutText(clean(s), maxMessage) }
