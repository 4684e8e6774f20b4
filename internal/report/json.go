package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"trueup/internal/diag"
	"trueup/internal/parallel"
	"trueup/internal/safetext"
)

// ResultFormat is the version of the JSON format (schemas/result.schema.json). New versions
// of trueup only add fields to it.
const ResultFormat = "trueup.result/v1"

// result is the JSON form of a Document. Nothing in it is shortened.
type result struct {
	Format string `json:"format"`
	Document
}

func resultIn(doc Document) result {
	if doc.Findings == nil {
		doc.Findings = diag.List{}
	}
	if doc.Errors == nil {
		doc.Errors = []string{}
	}
	return result{ResultFormat, doc}
}

func writeJSON(w io.Writer, doc Document, _ Options) error {
	if doc.Data != nil {
		return NewLines(w).JSON(doc.Data)
	}
	r, items := resultIn(doc), jsonList{}
	if doc.Plan != nil && len(doc.Plan.Items) > 0 {
		shell := *doc.Plan
		shell.Items = shell.Items[:0]
		r.Plan = &shell
		items = jsonList{"\n    \"items\": []", "    ", len(doc.Plan.Items), func(i int) any { return &doc.Plan.Items[i] }}
	}
	return writeIndented(w, r, items)
}

// jsonList is a list whose elements are written one at a time, to save memory.
type jsonList struct {
	// empty is the list without elements as it looks in the JSON text, where nothing
	// earlier may look like it. margin is the indent of its line.
	empty, margin string
	n             int
	element       func(int) any
}

// writeIndented writes v as JSON and inserts the elements of list, which is empty in v.
func writeIndented(w io.Writer, v any, list jsonList) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if list.n > 0 {
		end := bytes.Index(text, []byte(list.empty)) + len(list.empty) - len("]")
		safetext.WriteJSON(out, text[:end])
		before := "\n"
		err := parallel.InOrder(list.n, func(b *bytes.Buffer, i int) error {
			one := json.NewEncoder(b)
			one.SetIndent(list.margin+"  ", "  ")
			return one.Encode(list.element(i))
		}, func(element []byte) (more bool, err error) {
			_, _ = out.WriteString(before + list.margin + "  ")
			before = ",\n"
			safetext.WriteJSON(out, bytes.TrimSuffix(element, []byte("\n")))
			return true, nil
		})
		if err != nil {
			return err
		}
		_, _ = out.WriteString("\n" + list.margin)
		text = text[end:]
	}
	safetext.WriteJSON(out, text)
	_ = out.WriteByte('\n')
	return out.Flush()
}
