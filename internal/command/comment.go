package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"trueup/internal/diag"
	"trueup/internal/files"
	"trueup/internal/forge"
	"trueup/internal/report"
	"trueup/internal/view"
)

type commentOptions struct {
	pull       int
	repository string
	key        string
	issue      string
	result     string
	required   bool
}

func newComment(run *Run) *cobra.Command {
	var opts commentOptions
	cmd := newCommand(run, "comment FILE", func(ctx context.Context, args []string) (report.Document, error) {
		doc, err := runComment(ctx, run, opts, args[0])
		if errors.Is(err, errNotPosted) && !opts.required && !errors.Is(err, context.Canceled) && !errors.Is(err, diag.ErrReadOnly) {
			text := diag.OneLine(err)
			doc, err = messageDocument("warning: %s", text), nil
			doc.Annotations = diag.List{{Rule: view.NotPosted, Message: text, Severity: diag.Warning}}
		}
		return doc, err
	})
	f := cmd.Flags()
	f.IntVar(&opts.pull, "pr", 0, "`NUMBER` of the pull or merge request, if not the one that CI names")
	f.StringVar(&opts.repository, "repository", "", "`NAME` of the repository, such as OWNER/NAME, if not the one that CI names")
	f.StringVar(&opts.key, "key", "", "`NAME` of this comment, if a pull request has several, such as an environment (default the folder of -C)")
	f.StringVar(&opts.issue, "issue", "", "instead of a comment, keep one open issue with this `TITLE`")
	f.StringVar(&opts.result, "result", "", "with --issue: the `RESULT` in FILE, or its exit code. ok closes the issue, changes opens or updates it, others leave it")
	f.BoolVar(&opts.required, "required", false, "exit with 1 if the host does not accept it")
	return cmd
}

// errNotPosted says that a text could not be posted. It is a warning without --required.
var errNotPosted = errors.New("not posted")

// runComment keeps a comment or an issue up to date.
func runComment(ctx context.Context, run *Run, opts commentOptions, file string) (doc report.Document, err error) {
	if err := opts.check(); err != nil {
		return doc, err
	}
	body, err := readPostText(run, file)
	if err != nil {
		return doc, fmt.Errorf("read %s: %w", file, err)
	}
	if name := run.FindTokenVariable(body, forge.TokenVariables()...); name != "" {
		return doc, fmt.Errorf("%s: it contains the token of %s, so trueup does not post it: find out how it got there, and replace the token", file, name)
	}
	ci, err := forge.Detect(run.Getenv)
	if err != nil {
		run.Warn("%s", err)
	}
	ci.Repository = cmp.Or(opts.repository, ci.Repository)
	code := diag.ParseExit(opts.result)
	// The folder of -C is the same in each run of a pipeline, wherever a runner checks out.
	folder := filepath.ToSlash(files.ShownPath(run.Cwd, filepath.Clean(run.Chdir)))
	p := forge.StickyText{
		Key: cmp.Or(opts.key, folder), Pull: cmp.Or(opts.pull, ci.PullRequest), Title: opts.issue, Body: body,
		Resolved: code == diag.ExitOK,
	}
	switch {
	case ci.Host == forge.NoHost:
		return doc, errors.New("this is not a CI run of GitHub or GitLab, so trueup does not know where to comment: run it there")
	case opts.issue == "" && p.Pull == 0:
		return doc, fmt.Errorf("%w: this run does not belong to a pull request: name one with --pr NUMBER", errNotPosted)
	case opts.result != "" && code != diag.ExitOK && code != diag.ExitChanges:
		return messageDocument("the issue stays as it is: the result was %s, which neither opens nor closes it", opts.result), nil
	}
	return postText(ctx, run, ci, p)
}

// postText writes a comment or an issue.
func postText(ctx context.Context, run *Run, ci forge.CIContext, p forge.StickyText) (doc report.Document, err error) {
	host, err := openCodeHost(run, ci)
	if err != nil {
		return doc, fmt.Errorf("%w: %w", errNotPosted, err)
	}
	what, where := "comment", "pull request "+strconv.Itoa(p.Pull)
	if p.Title != "" {
		what, where = "issue", ci.Repository
	}
	res, err := host.Put(ctx, p)
	switch {
	case errors.Is(err, forge.ErrText):
		return doc, err
	case err != nil:
		return doc, fmt.Errorf("%w: %w", errNotPosted, err)
	}
	text := map[forge.TextOutcome]string{
		forge.Created: "the " + what + " is new", forge.Updated: "the " + what + " is updated",
		forge.Unchanged: "the " + what + " is up to date", forge.Closed: "the " + what + " is closed",
		forge.Nothing:  "nothing to report, and there is no " + what,
		forge.Outdated: "nothing written, because a newer run or commit wrote first",
	}[res.Outcome] + ": " + cmp.Or(res.URL, where)
	if res.Removed > 0 {
		text += fmt.Sprintf(" (older copies deleted: %d)", res.Removed)
	}
	return messageDocument("%s", text), nil
}

func (o commentOptions) check() error {
	isControl := func(r rune) bool { return r < ' ' || r == 0x7f }
	return cmp.Or(
		errorIf(o.pull < 0, "--pr is %d: write the number of a pull request", o.pull),
		errorIf(o.issue == "" && o.result != "", "--result belongs to an issue: use it with --issue TITLE"),
		errorIf(o.result != "" && diag.ParseExit(o.result) < 0, "--result is %q: write an exit code of trueup, such as 2, or its name", o.result),
		errorIf(o.issue != "" && o.pull != 0, "use either --issue or --pr"),
		errorIf(strings.ContainsFunc(o.key+o.issue, isControl), "--key and --issue must each be one line of text"),
	)
}

// maxPost limits what is read to be posted, in bytes: no host accepts more.
const maxPost = 4 << 20

// readPostText reads the text to post. It refuses a link, which may come with a pull request and would
// publish the file that it leads to.
func readPostText(run *Run, file string) (string, error) {
	var r io.Reader
	if file == "-" {
		r = run.OpenStdin("the Markdown to post")
	} else {
		full := run.FullPath(file)
		info, err := os.Lstat(full)
		if err != nil {
			return "", files.WithoutPath(err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", errors.New("it is a symbolic link, which could publish any file: name the file itself")
		}
		f, err := files.OpenInside(run.Dir(), file, full, os.O_RDONLY|files.NoWait)
		if err != nil {
			return "", files.WithoutPath(err)
		}
		defer func() { _ = f.Close() }()
		r = f
	}
	body, err := io.ReadAll(files.LimitReader(r, maxPost))
	if err == nil && strings.TrimSpace(string(body)) == "" {
		err = errors.New("it is empty: write it with plan --report markdown=FILE")
	}
	return string(body), err
}

// openCodeHost opens the client of the host that CI names.
func openCodeHost(run *Run, ci forge.CIContext) (*forge.RepositoryClient, error) {
	transport, err := run.CodeHostTransport()
	if err != nil {
		return nil, err
	}
	o := forge.ClientOptions{
		Transport: transport, UserAgent: userAgent(), Timeout: run.API.RequestTimeout, Now: run.Now, Sleep: run.Sleep,
		ReadOnly: run.ReadOnly,
	}
	if run.Verbose {
		o.Trace = func(op string, status int) {
			run.Inform("%s: %d %s", op, status, http.StatusText(status))
		}
	}
	if o.Token, err = ci.Host.Token(run.Getenv); err != nil {
		return nil, err
	}
	return forge.NewClient(ci, o)
}
