//go:build linux

package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Machine runs the jobs of a script. It has the programs of the real one
// but trueup, which a job has to build: its go "builds" the program that is tested, if
// it is given trueup's own source. Its go and its git record it when a job gives them a
// token, and what the command hostile writes records it when it runs; then the script
// fails. The file .machine/broken makes one build fail.
type Machine struct{ dir, Path string }

// Machine returns the machine of a script, which is made at its first job.
func (s *Script) Machine() (Machine, error) {
	m := Machine{dir: s.MkAbs(".machine")}
	git, err := exec.LookPath("git")
	if err != nil {
		return m, err
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return m, err
	}
	program, system := "", ""
	for _, dir := range filepath.SplitList(s.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "trueup")); err == nil {
			program = filepath.Join(dir, "trueup")
			continue
		}
		system += string(filepath.ListSeparator) + dir
	}
	m.Path = filepath.Join(m.dir, "bin") + system
	if _, err := os.Stat(m.dir); err == nil {
		return m, nil
	}
	goProgram := strings.NewReplacer("RAN", m.ran(), "ROOT", s.Getenv("ROOT"), "DIR", m.dir).Replace(`
if [ -e 'DIR/broken' ]; then
  rm 'DIR/broken'
  exit 1
fi
while [ $# -gt 0 ]; do
  case $1 in
  -C) cd "$2" && shift ;;
  -o) out=$2 && shift ;;
  esac
  shift
done
if ! cmp -s go.mod 'ROOT/go.mod' || [ "$GOWORK" != off ]; then
  echo "go built what is not trueup's alone, in $PWD" >>'RAN'
  exit 1
fi
[ -d "${out%/*}" ] || mkdir -p "${out%/*}"
cp 'DIR/trueup' "$out"
`)
	// What git is given by trueup itself is not a matter of the jobs.
	trueup := fmt.Sprintf("#!/bin/sh\n[ \"$1\" != version ] || exec echo of the test\nPATH='%s' exec '%s' \"$@\"\n", system[1:], program)
	// act stops reading its terminal when a step fails, so what that printed last may be lost.
	step := fmt.Sprintf("#!/bin/sh\n'%s' \"$@\" || { code=$?; sleep 1; exit $code; }\n", bash)
	return m, errors.Join(m.write("trueup", trueup), m.write("bin/bash", step),
		m.write("bin/git", m.watched("git saw a token")+fmt.Sprintf("exec '%s' \"$@\"\n", git)),
		m.write("bin/go", m.watched("go saw a token")+goProgram))
}

// write writes a program.
func (m Machine) write(name, text string) error {
	file := filepath.Join(m.dir, name)
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o700))
}

// ran is the file that records what must not happen.
func (m Machine) ran() string { return filepath.Join(m.dir, "ran") }

// watched is the start of a program, which records what is said if it is given a token.
func (m Machine) watched(what string) string {
	// Only the quotes keep the token itself out of the file.
	token := strings.Replace(Canary, "-", "''-", 1)
	return fmt.Sprintf("#!/bin/sh\ncase $(export -p) in *%s*) echo '%s' >>'%s' ;; esac\n", token, what, m.ran())
}

// Check fails if anything was recorded.
func (m Machine) Check() error {
	text, err := os.ReadFile(m.ran())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, fmt.Errorf("this must not happen:\n%s", text))
}

// cmdHostile writes programs, and actions of workflows, that record that they ran:
//
//	hostile FILE…
func cmdHostile(s *Script, args []string) error {
	m, err := s.Machine()
	if err != nil {
		return err
	}
	for _, name := range args {
		file := s.MkAbs(name)
		program := m.watched(name+" ran, with a token") + fmt.Sprintf("echo '%s ran' >>'%s'\n", name, m.ran())
		if filepath.Base(name) == "action.yml" {
			program = fmt.Sprintf("runs: {using: composite, steps: [{shell: bash, run: \"echo %s ran >>'%s'\"}]}\n", name, m.ran())
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(program), 0o700)); err != nil {
			return err
		}
	}
	return nil
}
