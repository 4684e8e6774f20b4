package report

import (
	"trueup/internal/kind"
	"trueup/internal/safetext"
)

// safe is the only text that printers take.
type safe = safetext.Text

type markup = safetext.Markdown

func clean(s string) safe { return safetext.Clean(s) }

// Clean escapes a text from outside for a line of a terminal or a log.
func Clean(s string) string { return clean(s).Guarded().String() }

// CleanJSON replaces every invisible character of a JSON text with its escape.
func CleanJSON(text []byte) string { return safetext.CleanJSON(text).String() }

func named(k kind.Key) safe { return safetext.F("%s/%s", k.Kind, k.Name).Cut(maxPath) }

func namesOf(keys []kind.Key) []safe {
	names := make([]safe, len(keys))
	for i, k := range keys {
		names[i] = named(k)
	}
	return names
}

func titled(k kind.Key) safe { return safetext.F("%s %s", k.Kind, k.Name).Cut(maxPath) }

// message returns a sentence from outside, shortened.
func message(s string) safe { return shorten(clean(s), maxMessage) }
