//go:build linux

package docs

import (
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
)

// TestPicture holds docs/plan.svg to what the program prints on a terminal; with
// -update it draws the picture anew.
func TestPicture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "manifests"), os.DirFS(filepath.Join("examples", "manifests"))); err != nil {
		t.Fatal(err)
	}
	asBranch(t, dir)
	args := []string{"plan", "manifests", "--sandbox", "-q"}
	out := printedAtTerminal(t, dir, args...)
	// The ids of a new sandbox differ each time.
	text := "\x1b[1m$ trueup " + strings.Join(args, " ") + "\x1b[0m\n" + out
	svg, err := draw(strings.Split(strings.TrimRight(text, "\n"), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, filepath.Join("docs", "plan.svg"), []byte(svg))
}

// printedAtTerminal runs the program at a terminal, and returns what it prints, with its colours.
func printedAtTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "trueup", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "CI=") // the plan of a person
	out := outputOf(t, cmd, true)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Stdout.(*os.File).Close()
	// A terminal whose last process has ended answers a read with an error.
	text, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// asBranch makes dir a repository whose branch adds the manifests.
func asBranch(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed, and the picture has causes")
	}
	gitAtOnce(t, dir, [][]string{
		{"init", "-q", "-b", "main"},
		{"commit", "-q", "--allow-empty", "-m", "Start"},
		{"update-ref", "refs/remotes/origin/main", "HEAD"},
		{"symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"},
		{"add", "manifests"},
		{"commit", "-q", "-m", "Add the manifests"},
	})
}

// gitAtOnce runs commands of git, all at one moment.
func gitAtOnce(t *testing.T, dir string, commands [][]string) {
	t.Helper()
	for _, args := range commands {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = dir
		git.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=you", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_AUTHOR_DATE=2026-11-21T09:00:00Z",
			"GIT_COMMITTER_NAME=you", "GIT_COMMITTER_EMAIL=you@example.com", "GIT_COMMITTER_DATE=2026-11-21T09:00:00Z")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// The picture's measures, in pixels.
const (
	cellWidth  = 8.4
	lineHeight = 20
	margin     = 24
)

// palette are the colours of SGR 30 to 37 on a dark ground.
var palette = [8]string{"#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#f0f6fc"}

// style is what SGR sequences have set so far.
type style struct {
	color                         string
	bold, dim, underline, reverse bool
}

// set changes the style as one SGR parameter says.
func (s *style) set(param string) error {
	n, err := strconv.Atoi("0" + param)
	if err != nil {
		return err
	}
	switch {
	case n == 0:
		*s = style{}
	case n == 1:
		s.bold = true
	case n == 2:
		s.dim = true
	case n == 4 || n == 24:
		s.underline = n == 4
	case n == 7 || n == 27:
		s.reverse = n == 7
	case n == 22:
		s.bold, s.dim = false, false
	case n >= 30 && n <= 37:
		s.color = palette[n-30]
	case n == 39:
		s.color = ""
	default:
		return fmt.Errorf("SGR %d has no place in the picture", n)
	}
	return nil
}

func (s style) attributes() string {
	var a string
	if s.color != "" {
		a += fmt.Sprintf(" fill=%q", s.color)
	}
	if s.bold {
		a += ` font-weight="bold"`
	}
	if s.dim {
		a += ` opacity="0.6"`
	}
	if s.underline || s.reverse {
		a += ` text-decoration="underline"`
	}
	return a
}

// draw makes an SVG of lines with SGR sequences: a terminal as a picture. Each
// run of one style has its own place and length, so that columns stay columns
// whatever font the reader has.
func draw(lines []string) (string, error) {
	var body strings.Builder
	columns, now := 0, style{}
	for i, line := range lines {
		column := 0
		for j, part := range strings.Split(line, "\x1b[") {
			if j > 0 {
				sgr, rest, ok := strings.Cut(part, "m")
				if !ok {
					return "", fmt.Errorf("line %d: %q is not an SGR sequence", i+1, part)
				}
				for param := range strings.SplitSeq(sgr, ";") {
					if err := now.set(param); err != nil {
						return "", fmt.Errorf("line %d: %w", i+1, err)
					}
				}
				part = rest
			}
			drawRun(&body, part, now, column, margin+36+i*lineHeight)
			column += runewidth.StringWidth(part)
		}
		columns = max(columns, column)
	}
	width, height := int(float64(columns)*cellWidth)+2*margin, len(lines)*lineHeight+2*margin+20
	return fmt.Sprintf(frame, width, height, width, height, width-1, height-1, body.String()), nil
}

// drawRun draws text that has one style, word group by word group: what renders
// SVG may make one blank of several.
func drawRun(body *strings.Builder, text string, s style, column, y int) {
	for group := range strings.SplitSeq(text, "  ") {
		if trimmed := strings.TrimSpace(group); trimmed != "" {
			at := column + strings.Index(group, trimmed)
			fmt.Fprintf(body, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\"%s>%s</text>\n", margin+float64(at)*cellWidth, y,
				float64(runewidth.StringWidth(trimmed))*cellWidth, s.attributes(), html.EscapeString(trimmed))
		}
		column += runewidth.StringWidth(group) + 2
	}
}

const frame = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="A plan of trueup, as a terminal shows it">
<rect x="0.5" y="0.5" width="%d" height="%d" rx="10" fill="#0d1117" stroke="#30363d"/>
<circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/><circle cx="62" cy="20" r="6" fill="#28c840"/>
<g fill="#e6edf3" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
%s</g>
</svg>
`
