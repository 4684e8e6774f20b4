package view

import "trueup/internal/safetext"

// safe is escaped text.
type safe = safetext.Text

func clean(s string) safe { return safetext.Clean(s) }
