package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"trueup/internal/apply"
	"trueup/internal/diag"
	"trueup/internal/plan"
)

// ResultFormat is the version of the JSON format; fields are only ever added
// (schemas/result.schema.json).
const ResultFormat = "trueup.result/v1"

// result is the JSON form of a Document. It is cut nowhere.
type result struct {
	Format   string        `json:"format"`
	Command  string        `json:"command"`
	Result   string        `json:"result"`
	ExitCode int           `json:"exitCode"`
	Sandbox  bool          `json:"sandbox"`
	Objects  int           `json:"objects"`
	Findings diag.List     `json:"findings"`
	Silenced diag.List     `json:"silenced,omitempty"`
	Plan     *plan.Plan    `json:"plan,omitempty"`
	Apply    *apply.Result `json:"apply,omitempty"`
	Errors   []string      `json:"errors"`
}

func writeJSON(w io.Writer, doc Document, _ Options) error {
	r := result{
		Format: ResultFormat, Command: doc.Command, Result: doc.Result, ExitCode: doc.ExitCode,
		Sandbox: doc.Sandbox, Objects: doc.Objects, Findings: doc.Findings, Silenced: doc.Silenced,
		Plan: doc.Plan, Apply: doc.Apply, Errors: doc.Errors,
	}
	if r.Findings == nil {
		r.Findings = diag.List{}
	}
	if r.Errors == nil {
		r.Errors = []string{}
	}
	return writeIndented(w, r)
}

// writeIndented writes v as JSON on several lines.
func writeIndented(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	escapeJSON(out, text)
	_ = out.WriteByte('\n')
	return out.Flush()
}

// escapeJSON writes text with every character that is not shown as its JSON
// escape, so that the same text is as harmless in a terminal as in a parser.
// Outside of its strings JSON has no such characters; nor has it a #, of which
// two may start a legacy workflow command.
func escapeJSON(out *bufio.Writer, text []byte) {
	start := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		command := bytes.HasPrefix(text[i:], []byte("##"))
		if r == '\n' || r != utf8.RuneError && shown(r) && !command {
			i += size
			continue
		}
		_, _ = out.Write(text[start:i])
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			_, _ = out.WriteString(`\u` + hex(uint32(high), 4) + `\u` + hex(uint32(low), 4))
		} else {
			_, _ = out.WriteString(`\u` + hex(uint32(r), 4))
		}
		i += size
		start = i
	}
	_, _ = out.Write(text[start:])
}
