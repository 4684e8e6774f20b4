package report

import "io"

// A code host drops a step's summary of more than 1 MiB without a word; a file
// may hold maxSummary bytes, what was there before included.
const maxSummary = 1_000_000

// SummaryRoom is how many bytes a report of that format may add to the file of
// a step's summary that has so many already.
func SummaryRoom(size int64) int { return int(max(0, maxSummary-size)) }

// writeSummary renders Markdown for the summary of a job, which has more room
// than a comment.
func writeSummary(w io.Writer, doc Document, opts Options) error {
	_, err := io.WriteString(w, string(markdown(doc, opts, room(opts, maxSummary))))
	return err
}

// room is how many bytes Markdown may take that has so many at most.
func room(opts Options, most int) int {
	if opts.Room > 0 {
		return min(most, opts.Room)
	}
	return most
}
