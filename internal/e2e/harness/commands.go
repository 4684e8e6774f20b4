//go:build linux

package harness

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"trueup/internal/sandbox"
)

// Command is a command of the scripts; it fails the script by its error.
type Command func(s *Script, args []string) error

// Script is a running script with its platform.
type Script struct {
	*testscript.TestScript
	*platform
	neg bool
}

// commands are the scripts' own:
//
//	sandbox [SEED]            start a platform with the objects of SEED, and point the program at it
//	token ROLE                full, reader, no-purger, wrong or none
//	project [MORE]            write trueup.yaml with a ledger of its own; MORE is added to the file
//	fleet DIR…                write a project in each folder, with a workspace and a ledger of its own
//	fleet N                   write the projects p01 to pN, each with a CDN and no ledger, and set TRUEUP_WORKSPACE
//	exits CODE PROGRAM ARG…   run, and compare the exit code
//	requests [-all|-none]     print the writes, or all requests; or assert that nothing was written
//	shown PLAN                compare the writes with the requests of a plan in JSON
//	causes PLAN               print each line of a plan in JSON with its cause, by whom and its place, and what was compared
//	forget                    empty the request log
//	await METHOD PATH [N]     wait until N such requests have arrived
//	pause METHOD PATH [N]     hold the N-th such request up before it arrives, until resume
//	paused                    wait until it is held up
//	resume                    let it arrive
//	clock +25h                move everybody's clock
//	fill FLAG…                write the manifests of a made-up project (sample.Fill)
//	fault [METHOD PATH: EFFECT…]   let coming requests fail (docs/sandbox.md), or forget such
//	quirk NAME…               replace the quirks that are on
//	put FILE…                 make or replace live objects, as another client would
//	remove KIND/NAME          take a live object away, as another client would
//	meddle METHOD PATH FILE [N]   do put when the N-th such request arrives
//	[!] live KIND/NAME [PATH WANT]   a live object, or what stands at a path of its spec
//	executed NAME N           how often a purge was carried out
//	commit MESSAGE            commit the manifests, in a repository that is made where there is none
//	signal NAME               send a signal to the program that was started last
//	told TEXT                 wait until a run has printed it
//	claimed KIND/NAME         wait until the ledger says that a request has been begun
//	ended CODE                compare the exit code of the run that ended last, as of one in the background
//	codehost VERB…            a code host (codehost_test.go)
//	workflow FILE EVENT …     run a shipped workflow in a simulated runner (runner_test.go)
//	pipeline SOURCE …         run the template for GitLab in a simulated pipeline (pipeline_test.go)
//	hostile FILE…             write programs that fail the script if a job runs them (machine_test.go)
//	masked [FILE]             print what was printed last, or a file, without the digits of a plan's digest and of the platform's port
//	[!] inside ARG…           run the program inside the tests; startInside writes it
//	edit FILE OLD NEW         replace the one place where a file says OLD; \n is a new line
func commands(more map[string]Command) map[string]func(*testscript.TestScript, bool, []string) {
	table := map[string]Command{
		"sandbox": cmdSandbox, "token": cmdToken, "project": cmdProject, "fleet": cmdFleet, "exits": cmdExits,
		"requests": cmdRequests, "forget": cmdForget, "await": cmdAwait, "clock": cmdClock,
		"fault": cmdFault, "fill": cmdFill, "quirk": cmdQuirk, "put": cmdPut, "remove": cmdRemove, "meddle": cmdMeddle,
		"shown": cmdShown, "causes": cmdCauses, "live": cmdLive, "masked": cmdMasked, "executed": cmdExecuted, "edit": cmdEdit, "commit": cmdCommit,
		"codehost": cmdCodeHost, "hostile": cmdHostile, "pause": cmdPause, "paused": cmdPaused, "resume": cmdResume, "signal": cmdSignal, "told": cmdTold, "claimed": cmdClaimed, "ended": cmdEnded,
		inside: cmdInside,
	}
	maps.Copy(table, more)
	out := make(map[string]func(*testscript.TestScript, bool, []string), len(table))
	for name, run := range table {
		out[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg && name != "live" && name != inside {
				ts.Fatalf("unsupported: ! %s", name)
			}
			s := &Script{TestScript: ts, platform: ts.Value(platformKey{}).(*platform), neg: neg}
			if err := run(s, args); err != nil {
				ts.Fatalf("%s: %v", name, err)
			}
		}
	}
	return out
}

// ErrUsage is a command that was called in another way than the table says.
var ErrUsage = errors.New("wrong number of arguments")

// ProjectText is the trueup.yaml of the project of a script.
const ProjectText = `apiVersion: trueup/v1
kind: Project
workspace: {name: acme, uuid: ` + sandbox.WorkspaceUUID + `}
manifests: [manifests]
ledger: {store: "file:ledger"}
`

func cmdProject(s *Script, args []string) error {
	text := ProjectText
	for _, name := range args {
		text += s.ReadFile(name)
	}
	return writeProject(s, ".", text)
}

func cmdFleet(s *Script, args []string) error {
	all := workspaces()
	if n, err := strconv.Atoi(args[0]); err == nil {
		return writeMany(s, all[1:n+1])
	}
	for i, dir := range args {
		text := strings.NewReplacer(all[0].Name, all[i+1].Name, all[0].UUID, all[i+1].UUID).Replace(ProjectText)
		if err := os.MkdirAll(s.MkAbs(dir), 0o755); err != nil {
			return err
		}
		if err := writeProject(s, dir, text); err != nil {
			return err
		}
	}
	return nil
}

// writeMany writes a project for each workspace.
func writeMany(s *Script, all []sandbox.WorkspaceKey) error {
	var allowed []string
	for i, w := range all {
		name := fmt.Sprintf("p%02d", i+1)
		text := strings.NewReplacer("acme", w.Name, sandbox.WorkspaceUUID, w.UUID, "ledger: {store: \"file:ledger\"}\n", "").Replace(ProjectText)
		cdn := fmt.Sprintf(`apiVersion: delivery/v2.1
kind: CDN
metadata: {name: %s}
spec:
  hostname: %[1]s.example.com
  upstreams: [{name: origin, servers: [{host: origin.example.com, port: "443"}]}]
  locations: [{path: "/*", upstream: origin, cache: {edgeTTL: "60"}}]
`, name)
		dir := s.MkAbs(name)
		err := errors.Join(os.MkdirAll(filepath.Join(dir, "manifests"), 0o755), os.WriteFile(filepath.Join(dir, "trueup.yaml"), []byte(text), 0o600),
			os.WriteFile(filepath.Join(dir, "manifests", "cdn.yaml"), []byte(cdn), 0o600))
		if err != nil {
			return err
		}
		allowed = append(allowed, w.UUID)
	}
	s.Setenv("TRUEUP_WORKSPACE", strings.Join(allowed, " "))
	return nil
}

// writeProject writes trueup.yaml into a folder, and makes the ledger.
func writeProject(s *Script, dir, text string) error {
	file := filepath.Join(s.MkAbs(dir), "trueup.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	var out strings.Builder
	code, err := s.runInside(&out, &out, "ledger", "init", "--adopt=none", "-C", dir)
	if err != nil || code != 0 {
		return fmt.Errorf("ledger init ends with %d, %w: %s", code, err, out.String())
	}
	id := regexp.MustCompile(`ledger (\S+) is ready`).FindStringSubmatch(out.String())
	if id == nil {
		return errors.New("ledger init printed no id")
	}
	s.Setenv("LEDGER_ID", id[1])
	text = strings.Replace(text, `"file:ledger"`, `"file:ledger", id: `+id[1], 1)
	return os.WriteFile(file, []byte(text), 0o600)
}

func cmdExits(s *Script, args []string) error {
	if len(args) < 2 {
		return ErrUsage
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	got, err := s.exitCode(args[1], args[2:]...)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("exit code %d, want %d", got, want)
	}
	return nil
}

// exitCode runs a program and returns how it ended.
func (s *Script) exitCode(program string, args ...string) (int, error) {
	if program == inside {
		return s.runInside(s.Stdout(), s.Stderr(), args...)
	}
	err := s.Exec(program, args...)
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode(), nil
	}
	return 0, err
}

// planDigest is how a plan shows its digest, in which the ids of a ledger and of
// live objects count, and so differ from run to run.
var planDigest = regexp.MustCompile(`sha256(:|&#58;)[0-9a-f]{64}`)

// loopback is an address of this machine in text and in Markdown, whose port changes.
var loopback = regexp.MustCompile(`127\.0\.0\.1(:|&#58;)[0-9]+`)

// dayAtEnd is when something was applied, in a list.
var dayAtEnd = regexp.MustCompile(`(?m), 20[0-9]{2}-[0-9]{2}-[0-9]{2}$`)

func cmdMasked(s *Script, args []string) error {
	name := "stdout"
	if len(args) == 1 {
		name = args[0]
	}
	text := planDigest.ReplaceAllString(s.ReadFile(name), "sha256$1...")
	text = dayAtEnd.ReplaceAllString(text, ", DAY")
	_, err := fmt.Fprint(s.Stdout(), loopback.ReplaceAllString(text, "127.0.0.1$1..."))
	return err
}

func cmdCommit(s *Script, args []string) error {
	if len(args) != 1 {
		return ErrUsage
	}
	if _, err := os.Stat(s.MkAbs(".git")); errors.Is(err, os.ErrNotExist) {
		if err := s.Exec("git", "init", "-q", "-b", "main"); err != nil {
			return err
		}
	}
	if err := s.Exec("git", "add", "-A", "manifests"); err != nil {
		return err
	}
	return s.Exec("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", args[0])
}

func cmdEdit(s *Script, args []string) error {
	if len(args) != 3 {
		return ErrUsage
	}
	file := s.MkAbs(args[0])
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(data, []byte(args[1])); n != 1 {
		return fmt.Errorf("%s says %q %d times", args[0], args[1], n)
	}
	text := strings.ReplaceAll(args[2], `\n`, "\n")
	return os.WriteFile(file, bytes.Replace(data, []byte(args[1]), []byte(text), 1), 0o600)
}
