package report

import "trueup/internal/safetext"

// safe is escaped text. Printers accept no other.
type safe = safetext.Text

type markup = safetext.Markdown

func clean(s string) safe { return safetext.Clean(s) }

// Clean escapes a text from outside for a line of a terminal or a log.
func Clean(s string) string { return clean(s).Guarded().String() }

// CleanJSON replaces every invisible character of a JSON text with its escape.
func CleanJSON(text []byte) string { return safetext.CleanJSON(text).String() }
