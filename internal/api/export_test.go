package api

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"trueup/internal/kind"
)

// ReaderTransport is what a Reader sends through.
func ReaderTransport(r *Reader) http.RoundTripper { return r.gets.Transport }

// DecodeList decodes one answer to a list and forgets it.
func DecodeList(r io.Reader, k *kind.Kind) error {
	src := &bodyReader{r: r, object: 16 << 20, list: 1 << 30}
	_, _, err := decodeList(src, k, kind.Workspace{}, func(kind.LiveObject) error { return nil })
	return err
}

// consequences say what trueup does about each class.
func consequences() map[ErrorClass]string {
	return map[ErrorClass]string{
		Absent:      "The object is absent.",
		Denied:      "Not done. The token or its role is wrong. trueup stops: exit code 8.",
		Taken:       "Not done by this request. The object is trueup's only if an earlier request of trueup may have arrived; otherwise trueup asks you, exit code 6.",
		Contended:   "Not done. trueup tries again; if that fails too, exit code 5.",
		Limited:     "Not done. Purges of that hostname wait for the next apply and everything else continues: exit code 5.",
		Rejected:    "Not done. Exit code 5, with the line of the field that the answer names.",
		Misdirected: "The address or the workspace is wrong: exit code 1, or 5 if something was sent before.",
		Unsent:      "Not done. trueup waits as long as the answer asks, within `TRUEUP_TIMEOUT`, and sends it again.",
		Unavailable: "Unknown. trueup reads again.",
		Unknown:     "Unknown: it may be done. trueup reads the object. For a purge it asks you, exit code 6, unless the platform is known to reject duplicates.",
	}
}

// AnswersPage returns the table as Markdown, for docs/reference/answers.md.
func AnswersPage() string {
	var b strings.Builder
	b.WriteString("| Operation | Status | The answer says | Class | What trueup does |\n|---|---|---|---|---|\n")
	for _, w := range answerTable() {
		status, names := strconv.Itoa(w.from), make([]string, len(w.verbs))
		if w.to != 0 {
			status = fmt.Sprintf("%d to %d", w.from, w.to)
		}
		for i, v := range w.verbs {
			names[i] = (&operation{verb: v}).operationName()
		}
		line := func(operations string, class ErrorClass) {
			fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %s |\n", operations, status, cmp.Or(w.says, "anything"), class, consequences()[class])
		}
		if w.class != "" {
			line(cmp.Or(strings.Join(names, ", "), "any"), w.class)
			continue
		}
		line("read", Unavailable)
		line("write", Unknown)
	}
	return b.String()
}
