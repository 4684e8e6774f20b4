package report

import (
	"trueup/internal/kind"
	"trueup/internal/safetext"
)

// safe is escaped text. Printers accept no other.
type safe = safetext.Text

type markup = safetext.Markdown

func clean(s string) safe { return safetext.Clean(s) }

// Clean escapes a text from outside for a line of a terminal or a log.
func Clean(s string) string { return clean(s).Guarded().String() }

// CleanJSON replaces every invisible character of a JSON text with its escape.
func CleanJSON(text []byte) string { return safetext.CleanJSON(text).String() }

// named returns KIND/NAME, shortened.
func named(k kind.Key) safe { return safetext.F("%s/%s", k.Kind, k.Name).Cut(maxPath) }

func namesOf(keys []kind.Key) []safe {
	names := make([]safe, len(keys))
	for i, k := range keys {
		names[i] = named(k)
	}
	return names
}

// titled returns "KIND NAME", shortened.
func titled(k kind.Key) safe { return safetext.F("%s %s", k.Kind, k.Name).Cut(maxPath) }

// message escapes and shortens a sentence from outside.
func message(s string) safe { return shorten(clean(s), maxMessage) }
