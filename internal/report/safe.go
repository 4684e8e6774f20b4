package report

import (
	"bufio"

	"trueup/internal/kind"
	"trueup/internal/safetext"
)

// safe is text that neither a terminal nor a workflow runner can mistake for
// anything but text; printers take nothing else.
type safe = safetext.Text

// markup is Markdown of this program.
type markup = safetext.Markdown

func clean(s string) safe                       { return safetext.Clean(s) }
func guarded(s safe) safe                       { return s.Guarded() }
func number(n int) safe                         { return safetext.Number(n) }
func count(n int, noun safe) safe               { return safetext.Count(n, noun) }
func join(parts []safe, sep safe) safe          { return safetext.Join(parts, sep) }
func filled(texts ...safe) []safe               { return safetext.Filled(texts...) }
func width(s safe) int                          { return s.Width() }
func cut(s safe, columns int) safe              { return s.Cut(columns) }
func cutLeft(s safe, columns int) safe          { return s.CutLeft(columns) }
func pad(s safe, columns int) safe              { return s.Pad(columns) }
func escapeJSON(out *bufio.Writer, text []byte) { safetext.WriteJSON(out, text) }

// Clean makes a text from outside fit for a line of its own on a terminal or in
// a log: what a command prints outside a Document goes through it.
func Clean(s string) string { return string(guarded(clean(s))) }

// CleanJSON replaces every invisible character of a JSON text with its escape.
func CleanJSON(text []byte) string { return string(safetext.CleanJSON(text)) }

// named is KIND/NAME.
func named(k kind.Key) safe { return cut(clean(k.Kind)+"/"+clean(k.Name), maxPath) }

// titled is the key as a heading.
func titled(k kind.Key) safe { return cut(clean(k.Kind)+" "+clean(k.Name), maxPath) }

// message is a sentence from outside, of bounded length.
func message(s string) safe { return shorten(clean(s), maxMessage) }

func constant(s safe) markup                         { return safetext.Constant(s) }
func fence(info markup, content []safe) markup       { return safetext.Fence(info, content) }
func details(open bool, summary, body markup) markup { return safetext.Details(open, summary, body) }
func code(s safe) markup                             { return safetext.Code(s) }
func backticks(s safe) int                           { return s.Backticks() }
