package view

import "time"

// Options change the text format. Markdown and HTML follow only Verbose and
// ShowUnmanaged.
type Options struct {
	// Color allows colors and bold text, by ANSI escape sequences (SGR).
	Color bool
	// Now is when the report is read, for times like "2 days ago"; zero for a file, which is read later.
	Now time.Time
	// Width is the columns of the terminal; 0 means no terminal: sentences are not wrapped.
	Width int
	// Room limits the bytes of Markdown; 0 is the limit of a comment.
	Room int
	// Variables writes outputs as variables of a dotenv file, which GitLab reads.
	Variables bool
	// Verbose also shows objects and findings that need no action.
	Verbose bool
	// Reasons say why a change has its risk, as Verbose does, too.
	Reasons bool
	// Brief leaves out of text what needs no decision: causes, digest, removed objects that stay live.
	Brief bool
	// ShowUnmanaged names the live objects and fields that are not in git.
	ShowUnmanaged bool
}
