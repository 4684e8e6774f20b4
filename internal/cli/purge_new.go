package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/files"
	"trueup/internal/git"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
	"trueup/internal/purge"
	"trueup/internal/report"
)

// newManifest is a request that is to be written as a manifest.
type newManifest struct {
	purge.Spec
	spec   []byte
	digest canon.Sum
	key    kind.Key
	file   files.File
	// status is what became of it, where the manifest stands, and sent what the
	// ledger knows of its being sent before.
	status, where string
	line          int
	sent          ledger.Record
}

func (n newManifest) unnamed() bool { return n.key.Name == "" }

// says is what the ledger knows, in a sentence; empty for nothing.
func (n newManifest) says() string {
	if n.sent.State == "" {
		return ""
	}
	text, _ := ledger.Explain(n.sent)
	return text
}

// What became of a request, beside what becomes of a file.
const sentAlready = "sent already"

// purgeMaker makes manifests of what is wanted.
type purgeMaker struct {
	app *app
	// by is the command.
	by     string
	opts   purgeNewOptions
	loaded loaded
	source *purgeSource
	kind   *kind.Kind
	place  files.Folder
	// known is what the ledger knows; unknown says why it could not be asked.
	known   known
	unknown string
	made    []newManifest
	notes   purgeNotes
}

func runPurgeNew(ctx context.Context, a *app, opts purgeNewOptions, args []string) error {
	if err := opts.check(a); err != nil {
		return err
	}
	l, err := a.load(ctx, nil, false)
	if err != nil {
		return err
	}
	if err := refuseInvalid(l.findings, "the manifests are invalid, and nothing was written"); err != nil {
		return err
	}
	if a.global.sandbox {
		a.log(slog.LevelInfo, report.Banner)
	}
	m := &purgeMaker{app: a, by: "purge new", opts: opts, loaded: l, kind: purgeKind()}
	if m.place, err = a.purgePlace(l, opts.dir); err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	m.source = newPurgeSource(a, opts, l.set)
	if err := m.source.choose(); err != nil {
		return err
	}
	if err := m.source.gather(ctx, args); err != nil {
		return err
	}
	return m.finish(ctx)
}

// finish names and writes the manifests of what was gathered.
func (m *purgeMaker) finish(ctx context.Context) error {
	m.compose()
	m.askLedger(ctx)
	if err := m.nameAll(ctx); err != nil {
		return err
	}
	if err := m.write(ctx); err != nil {
		return err
	}
	return m.show()
}

// validBase reports whether names of files and of objects may begin so everywhere.
func validBase(name string) bool {
	const most = 150
	odd := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-.", r) }
	return len(name) <= most && !strings.ContainsFunc(name, odd) && strings.Trim(name, "-.") == name && !strings.Contains(name, "..")
}

func (o purgeNewOptions) check(a *app) error {
	switch {
	case !slices.Contains([]string{"text", "json"}, a.global.output) || len(a.global.reports) > 0:
		return errTextOrJSON
	case !validBase(o.name):
		return fmt.Errorf("--name is %q: write at most 150 lower-case letters, digits, hyphens and dots, such as rel-42", o.name)
	case o.collapse < 0 || o.collapse == 1:
		return fmt.Errorf("--collapse is %d: write 2 or more", o.collapse)
	case o.dir == onStdout && a.global.output == "json":
		return errors.New("--dir - writes manifests to standard output, and -o json what was written: leave out one of them")
	}
	return nil
}

func newPurgeSource(a *app, opts purgeNewOptions, set *manifest.Set) *purgeSource {
	s := &purgeSource{app: a, opts: opts, beside: map[string]string{}}
	for _, o := range hosting(set) {
		s.known = append(s.known, o.Host)
	}
	s.hosts, s.open = purge.NewHosts(s.known), len(s.known) == 0
	if s.open {
		a.log(slog.LevelInfo, "git has no CDN to check the hostname against; plan checks it against live CDNs")
	}
	return s
}

// compose makes requests of what is wanted.
func (m *purgeMaker) compose() {
	for _, c := range purge.Compose(m.source.wanted, m.opts.collapse) {
		m.notes.add(c, m.source.served)
		for _, part := range c.Split(purge.Limits()) {
			tree := part.Tree()
			if len(part.Subdomains) == 0 {
				delete(tree, "subdomains")
			}
			n := newManifest{Spec: part, spec: canon.Bytes(tree)}
			n.digest = plan.SpecDigest(m.kind, n.spec)
			m.made = append(m.made, n)
		}
	}
}

// askLedger reads what the ledger knows, where there is one.
func (m *purgeMaker) askLedger(ctx context.Context) {
	known, err := m.app.requests(ctx, m.loaded, m.keys(shortest))
	m.known = known
	switch {
	case err != nil:
		m.unknown = inOneLine(err)
	case known.view.Problem != "":
		m.unknown = known.view.Problem
	}
	if m.unknown != "" && len(m.made) > 0 {
		m.app.log(slog.LevelWarn, "trueup can't check names against the ledger or count active purges: "+m.unknown)
	}
}

// The digits of a digest in a name, and how many there are at most where others
// have the same.
const (
	shortest = 8
	longest  = 64
)

// keys are the names that the requests would have, with so many digits.
func (m *purgeMaker) keys(digits int) []kind.Key {
	keys := make([]kind.Key, len(m.made))
	for i, n := range m.made {
		keys[i] = kind.Key{Kind: m.kind.Name, Name: m.base() + "-" + digest(n.digest)[:digits]}
	}
	return keys
}

func digest(sum canon.Sum) string { return strings.TrimPrefix(sum.String(), "sha256:") }

// base is what the names begin with: of files of git they are the same in each
// run for the same commit.
func (m *purgeMaker) base() string {
	switch {
	case m.opts.name != "":
		return m.opts.name
	case m.source.commits.Head != "":
		return m.source.commits.At.Format("20060102") + "-" + m.source.commits.Head[:shortest]
	}
	return m.app.env.Now().UTC().Format("20060102")
}

// nameAll gives each request a name that means nothing else.
func (m *purgeMaker) nameAll(ctx context.Context) error {
	m.findWaiting()
	if err := m.findNames(ctx); err != nil {
		return err
	}
	for i := range m.made {
		n := &m.made[i]
		if n.unnamed() {
			return fmt.Errorf("the name %s-%s is taken: choose another with --name", m.base(), digest(n.digest))
		}
		if at := n.sent.AcceptedAt; at != nil && at.Before(m.source.commits.At) {
			return fmt.Errorf("%s was accepted at %s, before %.12s was committed: it purged the content of that time; start the name with this release (--name)", n.key, at.UTC().Format(clock), m.source.commits.Head)
		}
		m.remember(ctx, n)
	}
	return nil
}

// findNames tries names of more and more digits until each request has one, or
// there are no more digits.
func (m *purgeMaker) findNames(ctx context.Context) error {
	for digits := shortest; digits <= longest && slices.ContainsFunc(m.made, newManifest.unnamed); digits *= 2 {
		if digits > shortest && m.unknown == "" {
			known, err := m.app.requests(ctx, m.loaded, m.keys(digits))
			if err != nil {
				return err
			}
			m.known = known
		}
		for i, key := range m.keys(digits) {
			if n := &m.made[i]; n.unnamed() {
				m.tryName(n, key)
			}
		}
	}
	return nil
}

// findWaiting finds what the next apply purges anyway, by a manifest of another
// name. Who wants manifests on standard output applies them by themselves.
func (m *purgeMaker) findWaiting() {
	if m.unknown != "" || m.opts.dir == onStdout {
		return
	}
	requests, _ := plan.Requests(m.loaded.set, m.known.view, m.known.at)
	for i := range m.made {
		n := &m.made[i]
		for _, r := range requests {
			if r.Waits() && r.Status != plan.Refused && r.Spec.Covers(n.Spec) {
				n.key, n.status, n.where, n.line = r.Key, files.Unchanged, r.Manifest.Path, r.Manifest.Line
				break
			}
		}
	}
}

// tryName takes a name for a request, unless something else has it. Of what may
// have been sent there is a manifest again: apply knows what is to be done about it.
func (m *purgeMaker) tryName(n *newManifest, key kind.Key) {
	o, rec := m.loaded.set.Find(key), m.known.view.Records[key]
	sent := rec.State != "" && rec.State != ledger.Rejected
	switch {
	case o != nil && plan.SpecDigest(o.Kind, o.Spec) != n.digest, sent && (rec.SpecDigest == nil || *rec.SpecDigest != n.digest):
		return
	case o != nil:
		n.status, n.where, n.line = files.Unchanged, o.Path, o.Line
	case sent && !rec.Open():
		n.status = sentAlready
	}
	if n.key = key; sent {
		n.sent = rec
	}
}

// remember warns of a name that git has, or had before, where no ledger can tell
// what became of it.
func (m *purgeMaker) remember(ctx context.Context, n *newManifest) {
	if m.unknown == "" || m.place.Base == "" {
		return
	}
	r, err := git.At(ctx, m.place.Base)
	if err != nil {
		return // there is no history
	}
	commit, err := r.Alone().Touched(ctx, m.place.Name(fileOfPurge(n.key.Name)))
	if err != nil || commit == "" {
		return
	}
	in := "was in git before, until"
	if n.status == files.Unchanged {
		in = "is in git since"
	}
	m.app.log(slog.LevelWarn, fmt.Sprintf("%s %s commit %.12s: if it was sent, its name can't be used again; choose another with --name", n.key, in, commit))
}
