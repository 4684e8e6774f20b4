package browser

import (
	"fmt"
	"html"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// onTerminal runs the program in a terminal of so many columns, and returns what it writes, with colours.
func (w *world) onTerminal(columns int, args ...string) string {
	w.Helper()
	if _, err := exec.LookPath("script"); err != nil {
		w.Skip("there is no script(1), which gives a program a terminal")
	}
	command := fmt.Sprintf("stty cols %d rows 60; exec %s -q", columns, strings.Join(append([]string{program(w)}, args...), " "))
	cmd := exec.Command("script", "-qec", command, "/dev/null")
	cmd.Dir, cmd.Env = w.dir, append(w.environment(), "TERM=xterm-256color", "FORCE_COLOR=1", "SHELL=/bin/sh")
	out, err := cmd.Output()
	if len(out) == 0 {
		w.Fatalf("%s: %v", command, err)
	}
	return strings.ReplaceAll(string(out), "\r", "")
}

// sgr is a sequence that sets colours.
var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// plainText is a terminal's text without colours.
func plainText(ansi string) string { return sgr.ReplaceAllString(ansi, "") }

// terminalPage shows what a program wrote on a terminal.
func terminalPage(t testing.TB, ansi string, dark bool) string {
	t.Helper()
	var b strings.Builder
	on := map[string]bool{}
	last := 0
	write := func(text string) {
		var classes []string
		for _, c := range []string{"1", "2", "4", "7", "31", "32", "33", "34", "35", "36"} {
			if on[c] {
				classes = append(classes, "s"+c)
			}
		}
		if text != "" {
			fmt.Fprintf(&b, `<span class="%s">%s</span>`, strings.Join(classes, " "), html.EscapeString(text))
		}
	}
	for _, m := range sgr.FindAllStringSubmatchIndex(ansi, -1) {
		write(ansi[last:m[0]])
		last = m[1]
		for code := range strings.SplitSeq(ansi[m[2]:m[3]], ";") {
			setStyle(on, code)
		}
	}
	write(ansi[last:])
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Terminal</title><style>` + terminalStyle + `</style><pre class="shot ` + scheme + `">` +
		strings.TrimRight(b.String(), "\n") + `</pre></html>`
}

// setStyle changes what is on as a code says.
func setStyle(on map[string]bool, code string) {
	ends := map[string]string{"22": "1 2", "24": "4", "27": "7", "39": "31 32 33 34 35 36"}
	switch {
	case code == "" || code == "0":
		clear(on)
	case ends[code] != "":
		for c := range strings.FieldsSeq(ends[code]) {
			delete(on, c)
		}
	default:
		on[code] = true
	}
}

const terminalStyle = `
body { margin: 0; }
pre { display: inline-block; margin: 0; padding: 10px 12px; font: 12px/1.45 "DejaVu Sans Mono", monospace; }
.dark { background: #0d1117; color: #e6edf3; }
.light { background: #fff; color: #1f2328; border: 1px solid #d0d7de; }
.s1 { font-weight: bold; } .s2 { opacity: .65; } .s4, .s7 { text-decoration: underline; }
.dark .s31 { color: #ff7b72; } .dark .s32 { color: #7ee787; } .dark .s33 { color: #e3b341; } .dark .s34 { color: #79c0ff; } .dark .s35 { color: #d2a8ff; } .dark .s36 { color: #76e3ea; }
.light .s31 { color: #b3202c; } .light .s32 { color: #116329; } .light .s33 { color: #7a4b00; } .light .s34 { color: #0a58ca; } .light .s35 { color: #7127a8; } .light .s36 { color: #0b5a72; }
`
