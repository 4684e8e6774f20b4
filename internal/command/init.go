package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/generate"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/report"
	"trueup/internal/sandbox"
)

// mostDoubt limits the look at a workspace by an init that could do without.
const mostDoubt = 10 * time.Second

func newInit(run *Run) *cobra.Command {
	var o generate.SetupChoices
	var cmd *cobra.Command
	cmd = newCommand(run, "init", func(ctx context.Context, _ []string) (doc report.Document, err error) {
		s, err := prepareSetup(ctx, run, &o)
		if err != nil {
			return doc, err
		}
		defer s.Close()
		if !s.HasChanges() {
			return nothingToSetUp(ctx, run, s)
		}
		if doc, err = setUp(ctx, run, s, o); err != nil && run.StdinIsTTY && s.IsNew {
			line := "trueup init"
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if answer := f.Value.String(); answer != "" && f.Value.Type() == "string" {
					line += " --" + f.Name + " " + ledger.ShellQuote(answer)
				}
			})
			run.Inform("to give these answers again: %s", line)
		}
		return doc, err
	})
	f := cmd.Flags()
	f.SortFlags = false // they are in the order of the questions
	f.StringVar(&o.Workspace, "workspace", "", "`NAME` of the workspace, from your profile in the web console")
	f.StringVar(&o.UUID, "uuid", "", "`UUID` of the workspace, from the same place")
	f.StringVar(&o.Ledger, "ledger", "", "`STORE` of the ledger: git:REF, file:PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX, postgres:NAME or none")
	f.StringVar(&o.Adopt, "adopt", "", "which requests in git were sent before: all, none or a `GLOB` (see ledger init --help)")
	f.StringVar(&o.Manifests, "manifests", "", "`WHAT` the manifests describe: pull (what is live), examples or none")
	f.StringVar(&o.CI, "ci", "", "the CI `SERVICE`: github, gitlab or none")
	f.StringVar(&o.Source, "trueup", "", "the repository and commit that CI builds trueup from: `OWNER/NAME@COMMIT`, on the host of --ci")
	f.StringVar(&o.Branch, "branch", "", "the `BRANCH` to apply (default the remote's default branch, or the current one)")
	f.BoolVar(&o.Agents, "agents", false, "add AGENTS.md, with rules for coding agents")
	f.BoolVar(&o.Yes, "auto-approve", false, "do not ask before writing")
	restrictFlag(f, "manifests", manifestChoices()...)
	restrictFlag(f, "ci", ciChoices()...)
	return cmd
}

func manifestChoices() []string {
	return []string{generate.FromLive, generate.FromExamples, generate.None}
}

func ciChoices() []string {
	return append(slices.Sorted(maps.Keys(generate.CIServices())), generate.None)
}

// setUp asks, and writes what init adds.
func setUp(ctx context.Context, run *Run, s *generate.Setup, o generate.SetupChoices) (doc report.Document, err error) {
	if !o.Yes {
		if doc, err = confirmSetup(run, s); err != nil {
			return doc, err
		}
	}
	if !run.Sandbox {
		if err = confirmWorkspace(ctx, run, s, o.Yes); err != nil {
			return doc, fmt.Errorf("nothing was written: %w", err)
		}
	}
	var id string
	ready := func() error { return nil }
	if s.CreatesLedger() {
		w, err := run.Open(ctx, s.Project, &manifest.Set{})
		if err != nil {
			return doc, err
		}
		defer w.Close()
		n := prepareLedger(run, s.Project, w, o.Adopt)
		if err := createLedger(ctx, run, n, &doc); err != nil {
			return doc, fmt.Errorf("nothing was written, because the ledger could not be created: %w", err)
		}
		id, ready = w.Ledger.ID, func() error { return n.CheckReady(ctx) }
	}
	if err := s.WriteEdits(id); err != nil {
		return doc, err
	}
	if err := addSetupMessages(run, &doc, s); err != nil {
		return doc, err
	}
	if !s.FromLive {
		addMessageLines(&doc, s.NextSteps())
		return doc, ready()
	}
	return initFromLive(ctx, run, s, doc.Messages, ready)
}

// nothingToSetUp is the result of an init that has nothing to do. The ledger may still lack an address.
func nothingToSetUp(ctx context.Context, run *Run, s *generate.Setup) (doc report.Document, err error) {
	if err = addSetupMessages(run, &doc, s); err != nil {
		return doc, err
	}
	other := ""
	if s.Waits || s.LacksLedger() {
		other = " else"
	} else if !run.Sandbox {
		w, err := run.Open(ctx, s.Project, &manifest.Set{})
		if err != nil {
			return doc, err
		}
		defer w.Close()
		if err = prepareLedger(run, s.Project, w, "").CheckReady(ctx); err != nil {
			return doc, err
		}
	}
	addMessage(&doc, "nothing%s to do: everything%[1]s is there", other)
	return doc, nil
}

// initFromLive pulls manifests. Its result lists the setup files, the pulled objects and the next steps.
func initFromLive(ctx context.Context, run *Run, s *generate.Setup, written []string, ready func() error) (doc report.Document, err error) {
	pulled, err := runPull(ctx, run, generate.PullOptions{}, nil)
	if err != nil {
		err = fmt.Errorf("everything is written except the manifests: %w; trueup pull writes them", err)
	}
	err = errors.Join(err, s.EnsureManifestFolder())
	if err == nil {
		addMessageLines(&doc, s.NextSteps())
		err = ready()
	}
	doc.ExitCode = pulled.ExitCode
	doc.Data = map[string]any{"format": "trueup.init/v1", "messages": slices.Concat(written, doc.Messages), "pull": pulled.Data}
	doc.Text = func(out report.LineWriter, shown report.FormatOptions) {
		writeLines(out, written)
		if pulled.Text != nil {
			pulled.Text(out, shown)
		}
	}
	return doc, err
}

func writeLines(out report.LineWriter, lines []string) {
	for _, line := range lines {
		out.Printf("%s\n", line)
	}
}

// prepareSetup inspects the repository and completes the options.
func prepareSetup(ctx context.Context, run *Run, o *generate.SetupChoices) (*generate.Setup, error) {
	if run.Sandbox && o.Ledger != "" && o.Ledger != generate.None {
		return nil, errors.New("--sandbox has its own ledger: remove --ledger. To add one for the real platform later, run trueup init --ledger STORE")
	}
	near, err := run.FindProject()
	if err != nil {
		return nil, err
	}
	s, err := generate.OpenSetup(ctx, run.Options, near)
	if err != nil {
		return nil, err
	}
	if s.IsNew {
		err = askMissing(run, s, o)
	}
	if err == nil {
		err = s.ChooseOptions(ctx, *o)
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

// confirmSetup shows what init will do, and asks. Without a terminal, the result shows it.
func confirmSetup(run *Run, s *generate.Setup) (doc report.Document, err error) {
	addMessage(&doc, "In %s:", s.Top.Name())
	switch {
	case s.Waits:
		addMessage(&doc, "  name the ledger %s, which waits for the git remote %s", s.Store, ledger.GitRemote(s.Store))
	case strings.HasPrefix(s.Store, "file:"):
		addMessage(&doc, "  create the ledger %s, which works on this machine only, and test its store", s.Store)
	case s.Store != "":
		addMessage(&doc, "  create the ledger %s, and test its store", s.Store)
	}
	for _, e := range s.Edits {
		switch e.State {
		case files.Kept:
			addMessage(&doc, "  leave %s as it is: %s", e.Shown, e.Why)
		case generate.ToWrite, generate.ToAdd:
			addMessage(&doc, "  %s %s", e.State, e.Shown)
		}
	}
	if s.FromLive {
		addMessage(&doc, "  write manifests of what is live in workspace %s", s.Project.Workspace.Name)
	}
	if !run.StdinIsTTY {
		return doc, errors.New("nothing was written, because there is no terminal to ask on: add --auto-approve")
	}
	writeLines(run.stderr(), doc.Messages)
	return report.Document{}, run.requireYes("nothing was written", "\nType yes to do this [no]: ")
}

// confirmWorkspace asks before init goes on with a workspace that has none of the objects that most have: its UUID may
// be wrong. If yes is true, it warns, unless pull will.
func confirmWorkspace(ctx context.Context, run *Run, s *generate.Setup, yes bool) error {
	asking := ctx
	if !s.FromLive { // init needs no platform
		limited, cancel := context.WithTimeout(ctx, mostDoubt)
		defer cancel()
		asking = limited
	}
	var doubt, fix string
	w, err := run.Open(asking, s.Project, &manifest.Set{})
	if err == nil {
		defer w.Close()
		doubt, fix, err = generate.EmptyWorkspaceQuestion(asking, w)
	}
	switch {
	case s.FromLive && (err != nil || yes):
		return err
	case doubt == "":
	case yes:
		run.Warn("%s If not, %s", doubt, fix)
	default:
		return run.requireYes("the workspace may be another one", "\n%s\nIf not, %s.\nType yes to go on [no]: ", doubt, fix)
	}
	return nil
}

// addSetupMessages lists the files with what init did, and shows what to add to files that it left alone.
func addSetupMessages(run *Run, doc *report.Document, s *generate.Setup) error {
	if s.Project.Dir != run.Dir() {
		addMessage(doc, "the project file is %s", s.Project.Dir)
	}
	var kept []string
	for _, e := range s.Edits {
		addMessage(doc, "%s %s", e.State, e.Shown)
		if e.State != files.Kept {
			continue
		}
		kept = append(kept, e.Shown)
		addMessage(doc, "  %s", e.Why)
		if wanted := e.NewContent(); wanted != nil {
			addMessageLines(doc, "\n"+string(wanted)+"\n")
		}
	}
	if s.Waits {
		addMessage(doc, "the ledger %s waits for the git remote %s: %s, which creates the ledger", s.Store, ledger.GitRemote(s.Store), s.AddRemoteAdvice())
	}
	if s.LacksLedger() {
		addMessage(doc, noLedger+ledger.Create)
	}
	if s.NeedsID() {
		addMessage(doc, "now write its id below ledger: in trueup.yaml, so that trueup never uses another ledger by mistake:")
		addMessage(doc, "")
		addMessage(doc, "  id: %s", s.ID)
	}
	if len(kept) > 0 {
		return fmt.Errorf("unchanged, because it exists with other content: %s. Below is what init would write: add that, or remove the file and run init again", strings.Join(kept, ", "))
	}
	return nil
}

// question is a question of init.
type question struct {
	value    *string
	about    string // says what each answer leads to
	prompt   string
	proposed string // the answer of Enter; if empty, Enter asks again
	check    func(string) error
}

const (
	aboutName   = "The name of your workspace, from your profile in the web console. trueup looks\nfor snapshots under it."
	aboutUUID   = "Its UUID, from the same place. trueup changes CDNs of this workspace only."
	aboutLedger = `The ledger records what trueup sent, so that nothing is sent twice.
  git:refs/trueup/ledger  a ref on the remote origin, for all who can push%s
  s3://BUCKET/PREFIX      a bucket, for all who have its credentials
  gs://BUCKET/PREFIX      the same in Google Cloud Storage; azblob:// is Azure's
  postgres:NAME           a PostgreSQL database, for all who have a role there
  file:.trueup/ledger     a folder: works on this machine only, and not in CI
  none                    trueup sends no purges and no snapshots`
	noRemoteYet    = ";\n                          waits until you add that remote"
	aboutManifests = `The first manifests. None of these changes the platform.
  pull      a file for each live object, so that the first plan is empty.
  examples  a file for each kind, to edit.
  none      an empty folder.`
	aboutCI = `Files for CI, which plans each pull request and applies what is merged.
  github  writes .github/workflows
  gitlab  writes .gitlab-ci.yml
  none    writes nothing; trueup init --ci adds them later`
	aboutSource = "CI builds trueup from one commit of a repository on the same host, and runs\n" +
		"it with your tokens. Type none to write no files for CI."
)

// askMissing completes the options of a new project, or names the flags that are missing. It asks for nothing that is
// known.
func askMissing(run *Run, s *generate.Setup, o *generate.SetupChoices) error {
	name, err := fillKnownAnswers(run, s, o)
	if err != nil {
		return err
	}
	segment := func(answer string) error { return config.CheckWorkspace(kind.Workspace{Name: answer, UUID: answer}) }
	waits := ""
	if s.Remote == "" {
		waits = noRemoteYet
	}
	for _, q := range []question{
		{&o.Workspace, aboutName, "workspace", name, segment},
		{&o.UUID, aboutUUID, "uuid", "", segment},
		{&o.Ledger, fmt.Sprintf(aboutLedger, waits), "ledger", s.ProposeLedger(), s.CheckStore},
		{&o.Manifests, aboutManifests, "manifests", s.ProposeManifests(), oneOfChecker("--manifests", manifestChoices())},
	} {
		if run.Sandbox && o.Workspace != "" {
			o.UUID = cmp.Or(o.UUID, config.SandboxUUID(o.Workspace))
		}
		if err := askValue(run, o.Yes, q); err != nil {
			return err
		}
	}
	var missing []string
	if o.Workspace == "" {
		missing = append(missing, "--workspace NAME")
	}
	if o.UUID == "" {
		missing = append(missing, "--uuid UUID")
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("there is no terminal to ask on: add %s. Both are in your profile in the web console; --sandbox needs neither", strings.Join(missing, " and "))
	case o.CI == "" && s.InGit && !o.Yes && run.StdinIsTTY:
		return chooseCI(run, o)
	}
	return nil
}

// fillKnownAnswers fills in what the environment says or a folder shows, and returns the name to propose for the workspace.
func fillKnownAnswers(run *Run, s *generate.Setup, o *generate.SetupChoices) (name string, err error) {
	manifests := s.ProposeManifests()
	if manifests == generate.None { // there are some
		o.Manifests = cmp.Or(o.Manifests, manifests)
	}
	if run.Sandbox {
		o.Ledger = generate.None
		return sandbox.WorkspaceName, nil
	}
	if s.StoreFromEnv {
		o.Ledger = cmp.Or(o.Ledger, s.ProposeLedger())
	}
	pin, err := run.FindPin(s.Project)
	if err != nil {
		return "", err
	}
	o.UUID = cmp.Or(o.UUID, pin.Workspace)
	return "", s.CheckStore(s.ProposeLedger()) // the environment's is not shown unless it is a store
}

func oneOfChecker(flag string, choices []string) func(string) error {
	return func(answer string) error { return checkOneOf(flag, answer, choices) }
}

// chooseCI asks for a CI service, and for the repository to build trueup from.
func chooseCI(run *Run, o *generate.SetupChoices) error {
	err := askValue(run, false, question{&o.CI, aboutCI, "ci", generate.None, oneOfChecker("--ci", ciChoices())})
	if err != nil || o.CI == generate.None || o.Source != "" {
		return err
	}
	service := generate.CIServices()[o.CI]
	err = askValue(run, false, question{&o.Source, aboutSource, service.Example, "", func(answer string) error {
		if answer == generate.None {
			return nil
		}
		return service.CheckSource(answer)
	}})
	if o.Source == generate.None {
		o.CI, o.Source = generate.None, ""
	}
	return err
}

// askValue fills in a value that no flag sets, from the proposal or an answer. Without a terminal, a value
// that has no proposal stays empty.
func askValue(run *Run, yes bool, q question) error {
	if *q.value == "" && (yes && q.proposed != "" || !run.StdinIsTTY) {
		*q.value = q.proposed
	}
	if *q.value != "" || !run.StdinIsTTY {
		return nil
	}
	writeLines(run.stderr(), strings.Split("\n"+q.about, "\n"))
	shown := " (no default)"
	if q.proposed != "" {
		shown = " [" + q.proposed + "]"
	}
	for *q.value == "" {
		answer, err := run.ask("%s%s: ", q.prompt, shown)
		if err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
		if answer = cmp.Or(answer, q.proposed); answer == "" {
			continue
		}
		if err := q.check(answer); err != nil {
			run.Warn("%s", diag.OneLine(err))
			continue
		}
		*q.value = answer
	}
	return nil
}
