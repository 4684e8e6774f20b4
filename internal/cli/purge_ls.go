package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/plan"
	"trueup/internal/purge"
	"trueup/internal/report"
)

type purgeListOptions struct {
	all  bool
	only []string
}

func newPurgeList(a *app) *cobra.Command {
	var opts purgeListOptions
	cmd := &cobra.Command{
		Use: "ls [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.failed("purge ls", runPurgeList(cmd.Context(), a, opts, args))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opts.all, "all", false, "also list old purges that are only in the ledger")
	f.StringArrayVar(&opts.only, "only", nil, "list only purges of `STATUS`; repeatable")
	_ = cmd.RegisterFlagCompletionFunc("only", completeWords(purgeStatuses()...)) // it is there
	return cmd
}

// statusActive is what people are shown in place of a request's being posted while
// it counts against limits.
const statusActive = "active"

func purgeStatuses() []string {
	list := []string{statusActive}
	for _, s := range []plan.Status{
		plan.Due, plan.Refused, plan.Begun, plan.Again, plan.Unclear, plan.Accepted, plan.Done, plan.GivenUp, plan.NotKnown,
	} {
		list = append(list, string(s))
	}
	return list
}

// known is what the ledger knows of requests that are sent once, and when that was.
type known struct {
	view ledger.View
	at   time.Time
}

// requests reads the records of requests in git, of others that were sent lately,
// and of more keys. Nothing is asked of the platform.
func (a *app) requests(ctx context.Context, l loaded, more []kind.Key) (known, error) {
	if !l.project.exists() && !a.global.sandbox {
		return known{view: ledger.View{
			Problem: "there is no trueup.yaml " + a.searched() + ", so trueup knows none", Fix: "run trueup init, or try --sandbox",
		}}, nil
	}
	w, err := a.enter(ctx, l.project, l.set)
	if err != nil {
		return known{}, err
	}
	defer w.close()
	book, err := w.book(ctx)
	if err != nil {
		return known{}, err
	}
	keys := slices.Clone(more)
	for _, o := range l.set.Objects {
		if o.Kind.Policy == kind.Once {
			keys = append(keys, o.Key())
		}
	}
	view, err := book.View(ctx, keys)
	return known{view, w.api.Now()}, err
}

// allRequests adds all that the ledger keeps of such requests.
func (a *app) allRequests(ctx context.Context, k *known) error {
	book, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return err
	}
	defer closeAll()
	records, err := book.List(ctx)
	if err != nil {
		return ledgerError(err)
	}
	for _, rec := range records {
		if _, there := k.view.Records[rec.Key]; !there && rec.State != "" {
			k.view.Records[rec.Key] = rec
		}
	}
	return nil
}

func runPurgeList(ctx context.Context, a *app, opts purgeListOptions, paths []string) error {
	if !slices.Contains([]string{"text", "json"}, a.global.output) || len(a.global.reports) > 0 {
		return errTextOrJSON
	}
	for _, s := range opts.only {
		if !slices.Contains(purgeStatuses(), s) {
			return fmt.Errorf("--only is %q: write one of %s%s", s, strings.Join(purgeStatuses(), ", "), didYouMean(s, purgeStatuses()))
		}
	}
	l, err := a.load(ctx, paths, false)
	if err != nil {
		return err
	}
	if err := refuseInvalid(l.findings, "the manifests are invalid (see trueup validate)"); err != nil {
		return err
	}
	k, err := a.requests(ctx, l, nil)
	if err != nil {
		k.view = ledger.Unreadable(err)
	}
	if opts.all && k.view.Problem == "" {
		if err := a.allRequests(ctx, &k); err != nil {
			return err
		}
	}
	list := purgeList{Format: purgeListFormat, Sandbox: a.global.sandbox, Ledger: k.view.ID, At: k.at, Problem: k.view.Problem, Fix: k.view.Fix}
	list.PartOfTree = l.project.partly(a.dir(), paths)
	list.fill(plan.Requests(l.set, k.view, k.at))
	list.explainLeft(k.view)
	list.keep(opts.only)
	if a.global.output == "json" {
		return a.out.JSON(list)
	}
	return list.write(a)
}

// purgeListFormat is the version of the JSON form of purge ls
// (schemas/purge-ls.schema.json).
const purgeListFormat = "trueup.purge-ls/v1"

// purgeList is what purge ls shows.
type purgeList struct {
	Format  string `json:"format"`
	Sandbox bool   `json:"sandbox"`
	// PartOfTree says that not all manifests of the project were read: what has no
	// File may be in git all the same.
	PartOfTree bool `json:"partOfTree"`
	// At is the moment that decides about what is active.
	At     time.Time `json:"at,omitzero"`
	Ledger string    `json:"ledger,omitempty"`
	// Problem says why the ledger can't be used, and Fix what to do about it.
	Problem string        `json:"ledgerProblem,omitempty"`
	Fix     string        `json:"ledgerFix,omitempty"`
	Purges  []listedPurge `json:"purges"`
	Hosts   []listedHost  `json:"hostnames"`
}

type listedPurge struct {
	kind.Key
	Status plan.Status `json:"status"`
	shownSpec
	// Active says that it counts against the limits of its hostname, from Since
	// until Until.
	Active     bool      `json:"active"`
	Since      time.Time `json:"since,omitzero"`
	Until      time.Time `json:"until,omitzero"`
	AcceptedAt time.Time `json:"acceptedAt,omitzero"`
	// File and Line are where the manifest is; File is empty where git has none.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Edited says that the manifest is not what was sent.
	Edited bool   `json:"edited"`
	Says   string `json:"says,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

type listedHost struct {
	Hostname string      `json:"hostname"`
	Active   plan.Budget `json:"active"`
	WithDue  plan.Budget `json:"withDue"`
	AtMost   plan.Budget `json:"atMost"`
	Limits   plan.Budget `json:"limits"`
}

func (l *purgeList) fill(requests []plan.RequestStatus, hosts []plan.HostUsage) {
	l.Purges, l.Hosts = []listedPurge{}, []listedHost{}
	for _, r := range requests {
		p := listedPurge{
			Key: r.Key, Status: r.Status, shownSpec: shownOf(r.Spec), Active: r.Active, Since: r.Since, Until: r.Until,
			AcceptedAt: r.AcceptedAt, Edited: r.Edited, Says: r.Says, Fix: r.Fix,
		}
		if r.Manifest != nil {
			p.File, p.Line = r.Manifest.Path, r.Manifest.Line
		}
		l.Purges = append(l.Purges, p)
	}
	for _, h := range hosts {
		l.Hosts = append(l.Hosts, listedHost{
			h.Hostname, plan.Budget(h.Active), plan.Budget(h.WithDue), plan.Budget(h.AtMost), plan.Budget(purge.Limits()),
		})
	}
}

// explainLeft says of what has no outcome and has left git that it is not sent
// again.
func (l *purgeList) explainLeft(view ledger.View) {
	for i := range l.Purges {
		p := &l.Purges[i]
		if rec := view.Records[p.Key]; p.File == "" && !l.PartOfTree && rec.Open() {
			p.Says, p.Fix = ledger.ExplainLeft(rec)
		}
	}
}

// keep leaves out purges of other statuses.
func (l *purgeList) keep(only []string) {
	l.Purges = slices.DeleteFunc(l.Purges, func(p listedPurge) bool {
		return len(only) > 0 && !slices.Contains(only, string(p.Status)) && !slices.Contains(only, p.shown())
	})
}

// shown is the status as people are shown it.
func (p listedPurge) shown() string {
	if p.Active && p.Status == plan.Accepted {
		return statusActive
	}
	return string(p.Status)
}

// clock is how people are shown a time, in UTC.
const clock = "2006-01-02 15:04Z"

// when says when it was sent, and until when it counts.
func (p listedPurge) when() string {
	var parts []string
	if !p.AcceptedAt.IsZero() {
		parts = append(parts, "accepted "+p.AcceptedAt.UTC().Format(clock))
	}
	if p.Active {
		parts = append(parts, "counts until "+p.Until.UTC().Format(clock))
	}
	return strings.Join(parts, ", ")
}

func (l *purgeList) where(p listedPurge) string {
	switch {
	case p.File == "" && l.PartOfTree:
		return "(not in the manifests that were read)"
	case p.File == "":
		return "(not in git)"
	case p.Edited:
		return fmt.Sprintf("%s:%d (edited since)", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// write shows it as tables, and below them what a person must do.
func (l *purgeList) write(a *app) error {
	if l.Sandbox {
		if err := a.out.Printf("%s\n\n", report.Banner); err != nil {
			return err
		}
	}
	rows := make([][]string, len(l.Purges))
	for i, p := range l.Purges {
		rows[i] = []string{p.shown(), p.Name, p.words(), p.when(), l.where(p)}
	}
	switch {
	case len(rows) == 0 && l.Problem != "":
		rows = [][]string{{"no such purges in git"}}
	case len(rows) == 0:
		rows = [][]string{{"no purges"}}
	}
	if err := a.out.Marked(rows, report.Options{Width: a.env.Width}); err != nil {
		return err
	}
	for _, p := range l.Purges {
		if p.Fix == "" {
			continue
		}
		if err := a.out.Printf("\n%s\n  fix: %s\n", p.Says, p.Fix); err != nil {
			return err
		}
	}
	if l.Problem != "" {
		return a.out.Printf("\nledger: %s\n  fix: %s\n", l.Problem, l.Fix)
	}
	return l.writeHosts(a)
}

func (l *purgeList) writeHosts(a *app) error {
	if len(l.Hosts) == 0 {
		return nil
	}
	limits := purge.Limits()
	rows := [][]string{{"limits, with active purges", "requests", "paths", "prefixes"}}
	of := func(n, most int) string { return fmt.Sprintf("%d of %d", n, most) }
	for _, h := range l.Hosts {
		rows = append(rows, []string{
			"  " + h.Hostname, of(h.Active.Requests, limits.Requests), of(h.Active.Paths, limits.Paths), of(h.Active.Prefixes, limits.Prefixes),
		})
		if h.WithDue != h.Active {
			rows = append(rows, []string{
				"    with due purges", strconv.Itoa(h.WithDue.Requests), strconv.Itoa(h.WithDue.Paths), strconv.Itoa(h.WithDue.Prefixes),
			})
		}
	}
	if err := errors.Join(a.out.Printf("\n"), a.out.Table("", rows)); err != nil {
		return err
	}
	for _, h := range l.Hosts {
		text := overLimits(plan.HostUsage{Hostname: h.Hostname, WithDue: purge.Usage(h.WithDue), AtMost: purge.Usage(h.AtMost)})
		if text != "" {
			if err := a.out.Printf("  %s\n", text); err != nil {
				return err
			}
		}
	}
	return nil
}
