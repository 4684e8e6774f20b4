// Command man writes the pages of the manual, one for each command, from the reference:
// man docs/reference DIR.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("man REFERENCE DIR: name the folder of the reference and the folder to write to")
	}
	pages, err := renderPages(os.Args[1])
	for name, text := range pages {
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[2], name+".1"), text, 0o644)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

var (
	link            = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	head            = regexp.MustCompile(`\| \w+ \| \w+ \|.*\n\|---.*\n`)
	row             = regexp.MustCompile("(?m)^\\| `((?:[^|\\\\]|\\\\\\|)*)` \\| ((?:[^|\\\\]|\\\\.)*) \\|(?: (`[^`]*`)? ?\\|)?$")
	exitCode        = regexp.MustCompile("(?m)^\\| (\\d+) \\| `(.*)` \\| (.*) \\|$")
	environmentHead = regexp.MustCompile(`^(?s:.*)\n\|---.*\n`)
	flag            = regexp.MustCompile(`\B--?[a-zA-Z]|\\fB.*\\fP`)
	usage           = regexp.MustCompile("^\\n```text\\n(.*)\\n```\\n")
)

// renderPages returns the page of each command in the reference, by its name.
func renderPages(reference string) (map[string][]byte, error) {
	commands, err := os.ReadFile(filepath.Join(reference, "commands.md"))
	if err != nil {
		return nil, err
	}
	environment, err := os.ReadFile(filepath.Join(reference, "environment.md"))
	if err != nil {
		return nil, err
	}
	index, err := os.ReadFile(filepath.Join(reference, "README.md"))
	if err != nil {
		return nil, err
	}
	sections := strings.Split(string(commands), "\n## ")
	sections[1] += "\n# EXIT STATUS\n\n"
	for _, code := range exitCode.FindAllStringSubmatch(string(index), -1) {
		sections[1] += "**" + code[1] + " " + code[2] + "**\n: " + code[3] + "\n\n"
	}
	sections[1] += "# ENVIRONMENT\n\n" + environmentHead.ReplaceAllString(string(environment), "")
	pages := map[string][]byte{}
	for _, section := range sections[1:] {
		command, text, _ := strings.Cut(section, "\n")
		name := strings.ReplaceAll(command, " ", "-")
		_, short, _ := strings.Cut(sections[0], "(#"+name+"): ")
		short, _, _ = strings.Cut(short, "\n")
		if name != "trueup" {
			text += "\n# SEE ALSO\n\n**trueup**(1), for the flags of many commands, exit codes and variables\n"
		}
		pages[name] = renderPage(name, short, text)
	}
	return pages, nil
}

// renderPage renders a section of the reference.
func renderPage(name, short, text string) []byte {
	call := usage.FindStringSubmatch(text)
	text = head.ReplaceAllString(link.ReplaceAllString(text[len(call[0]):], "$1"), "# OPTIONS\n\n")
	text = row.ReplaceAllStringFunc(text, func(line string) string {
		cell := row.FindStringSubmatch(line)
		meaning := cell[2]
		if !slices.Contains([]string{"", "`false`", "`0`", "`0s`"}, cell[3]) {
			meaning += " (default " + strings.Trim(cell[3], "`") + ")"
		}
		return "**" + strings.NewReplacer(`\|`, "|", "_", `\_`, "`", "").Replace(cell[1]) + "**\n: " + meaning + "\n"
	})
	title := fmt.Sprintf("%% \"%s\" \"1\" \"\" \"trueup\" \"trueup manual\"\n", strings.ToUpper(name))
	page := md2man.Render([]byte(title + "# NAME\n\n" + name + " - " + short + "\n\n# SYNOPSIS\n\n" + call[1] + "\n\n# DESCRIPTION\n" + text))
	// A flag keeps its minus signs, so that it can be copied.
	page = flag.ReplaceAllFunc(page, func(at []byte) []byte { return bytes.ReplaceAll(at, []byte("-"), []byte(`\-`)) })
	var ascii bytes.Buffer
	for _, r := range string(page) {
		if r < utf8.RuneSelf {
			ascii.WriteRune(r)
		} else {
			fmt.Fprintf(&ascii, `\[u%04X]`, r)
		}
	}
	return ascii.Bytes()
}
