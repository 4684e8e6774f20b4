package generate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"trueup/internal/api"
	"trueup/internal/config"
	"trueup/internal/diag"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
	"trueup/internal/plan"
)

// PullSelection is what a run reads. Empty, it is all that the configured areas have.
type PullSelection []objectPattern

type objectPattern struct {
	text string
	kind *kind.Kind
	name string // may have the wildcards of path.Match, and is empty for all objects of the kind
}

func (p objectPattern) hasKey(key kind.Key) bool {
	like, _ := path.Match(p.name, key.Name)
	return p.kind.Name == key.Kind && (p.name == "" || p.name == key.Name || like)
}

func (p objectPattern) isExact() bool { return p.name != "" && !strings.ContainsAny(p.name, `*?[\`) }

// ReadableKinds returns the kinds whose live objects can be listed and read.
func ReadableKinds() []*kind.Kind {
	return slices.DeleteFunc(slices.Clone(kind.AllKinds()), func(k *kind.Kind) bool { return !k.Documents(kind.List) || !k.Documents(kind.Get) })
}

func pluralNames() []string {
	return diag.MapList(ReadableKinds(), func(k *kind.Kind) string { return k.Plural() })
}

// ParseSelection reads KIND and KIND/NAME.
func ParseSelection(args []string) (s PullSelection, err error) {
	for _, arg := range args {
		name, object, named := strings.Cut(arg, "/")
		k, ok := kind.FindKind(name)
		switch {
		case !ok || named && object == "":
			return s, fmt.Errorf("%q is not a KIND or KIND/NAME: write %s, or one of these with a name, such as %s/NAME",
				arg, strings.Join(pluralNames(), ", "), strings.TrimSuffix(pluralNames()[0], "s"))
		case !slices.Contains(ReadableKinds(), k):
			return s, fmt.Errorf("the platform can't list %s, so there is nothing to pull: see trueup ledger ls for those that were posted", k.Plural())
		}
		if _, err := path.Match(object, ""); err != nil {
			return s, fmt.Errorf("%q is not a pattern of names: write one such as cdn/shop-*", arg)
		}
		s = append(s, objectPattern{text: arg, kind: k, name: object})
	}
	return s, nil
}

func (s PullSelection) hasKey(key kind.Key) bool {
	return slices.ContainsFunc(s, func(p objectPattern) bool { return p.hasKey(key) })
}

// selectConfiguredKinds replaces an empty selection by all kinds of areas with an address: who has only CDNs needs no address
// for snapshots.
func (r *pullRun) selectConfiguredKinds(s PullSelection) (PullSelection, error) {
	if len(s) > 0 {
		return s, nil
	}
	for _, k := range ReadableKinds() {
		if r.platform.API.Endpoints[k.Area].Base != nil {
			s = append(s, objectPattern{kind: k})
			continue
		}
		r.Inform("%s are left out, because no address of the %s area is configured", k.Plural(), k.Area)
	}
	if len(s) == 0 {
		return s, errors.New("no address of the platform is configured: set TRUEUP_DELIVERY_URL and TRUEUP_COMPUTE_URL, " +
			"or choose a profile with --profile, or try --sandbox")
	}
	return s, nil
}

func (r *pullRun) readLive(ctx context.Context, asked PullSelection) error {
	asked, err := r.selectConfiguredKinds(asked)
	if err != nil {
		return err
	}
	if err := r.openLedger(ctx); err != nil {
		return err
	}
	if r.opts.Past.Text != "" {
		if asked, err = r.readWrites(ctx, asked); err != nil {
			return err
		}
	}
	state, err := r.fetchLive(ctx, asked)
	if err != nil {
		return err
	}
	r.chooseItems(state, asked)
	r.usePastSpecs()
	if err := asked.checkSelected(r.Items); err != nil || r.ledger == nil || r.view.Problem != "" {
		return err
	}
	return r.ledger.AddToView(ctx, &r.view, kind.KeysOf(r.Items))
}

// openLedger reads the records of the objects in git. If the ledger is missing or can't be read, trueup still writes
// manifests.
func (r *pullRun) openLedger(ctx context.Context) (err error) {
	if r.opts.Dir == ToStdout {
		return nil
	}
	if r.ledger, err = r.platform.OpenLedger(ctx); err != nil {
		return err
	}
	r.view, err = r.ledger.ReadView(ctx, kind.KeysOf(r.set.Objects))
	if err != nil && ctx.Err() == nil {
		r.view, err = ledger.UnreadableView(err), nil
	}
	r.Problem, r.Fix = r.view.Problem, r.view.Fix
	return err
}

func (r *pullRun) fetchLive(ctx context.Context, asked PullSelection) (kind.LiveState, error) {
	progress, end := r.Begin("reading what is live")
	defer end()
	reader := api.NewReader(r.platform.API)
	defer reader.Close()
	opts := api.FetchOptions{
		Parallelism: r.API.Parallelism, Names: r.view.RemoteNames(), Whole: true,
		Progress: func(done int) { progress(done, 0) }, Doubt: r.needsReread,
	}
	named := &manifest.Set{} // to be read even if a list lacks them
	var listed []*kind.Kind
	for _, p := range asked {
		if !slices.Contains(opts.Also, p.kind) {
			opts.Also = append(opts.Also, p.kind)
		}
		if p.isExact() {
			named.Objects = append(named.Objects, &manifest.Object{Kind: p.kind, Name: p.name})
		} else if !slices.Contains(listed, p.kind) {
			listed = append(listed, p.kind)
		}
	}
	state, err := api.FetchState(ctx, reader, named, opts)
	if err != nil {
		if diag.ExitOf(err) == diag.ExitAuth && len(opts.Also) > 1 {
			err = fmt.Errorf("%w; to skip that, name what to pull: %s", err, strings.Join(pluralNames(), ", "))
		}
		return state, err
	}
	r.warnOfLists(listed, state.Lists)
	return state, nil
}

// needsReread reports whether to read a listed object by name, because it differs from git and the list may lag behind: trueup
// wrote the object lately, or git is to take what it shows.
func (r *pullRun) needsReread(key kind.Key, listed kind.LiveObject) bool {
	git, rec := r.set.Find(key), r.view.Records[key]
	return git != nil && (r.opts.Replace || rec.WrittenLately(r.platform.API.Now())) &&
		!plan.NeedsNoRequest(listed.Kind, r.project.Overrides, rec, git.Spec, listed)
}

// warnOfLists warns of incomplete lists, and doubts the workspace if a list is empty.
func (r *pullRun) warnOfLists(listed []*kind.Kind, lists map[string]kind.ListInfo) {
	for _, k := range listed {
		list := lists[k.Name]
		question, fix := r.platform.Workspace.EmptyListQuestion(k)
		switch {
		case !list.Complete:
			r.Partial = true
			r.Warn("the list of %s is incomplete: run pull again", k.Name)
		case question != "" && list.Items == 0 && !r.Sandbox:
			r.Doubts = append(r.Doubts, question+" If not, "+fix+".")
		}
	}
}

// EmptyWorkspaceQuestion returns what to ask, and what to do if the answer is no, if a workspace has none of the objects that most have.
func EmptyWorkspaceQuestion(ctx context.Context, w *config.Platform) (question, fix string, err error) {
	reader := api.NewReader(w.API)
	defer reader.Close()
	for _, k := range ReadableKinds() {
		question, fix := w.Workspace.EmptyListQuestion(k)
		// The ledger of the environment must be created before it admits a token.
		if question == "" || w.API.Endpoints[k.Area].Base == nil || w.AdmitAreas(ctx, k.Area) != nil {
			continue
		}
		switch hasAny, err := reader.HasAny(ctx, k); {
		case err != nil:
			return "", "", err
		case !hasAny:
			return question, fix, nil
		}
	}
	return "", "", nil
}

// chooseItems makes an item of each selected live object, under the name that git has for it.
func (r *pullRun) chooseItems(state kind.LiveState, asked PullSelection) {
	inGit := map[kind.Key]kind.Key{}
	for key, remote := range r.view.RemoteNames() {
		inGit[kind.Key{Kind: key.Kind, Name: remote}] = key
	}
	all := slices.AppendSeq(slices.Clone(state.Unmanaged), maps.Values(state.Objects))
	slices.SortFunc(all, func(a, b kind.LiveObject) int {
		return cmp.Or(cmp.Compare(a.Kind.Name, b.Kind.Name), cmp.Compare(a.Name, b.Name))
	})
	for _, o := range all {
		key, isRenamed := inGit[o.Key()]
		if !isRenamed {
			key = o.Key()
		}
		if !asked.hasKey(key) && !asked.hasKey(o.Key()) {
			continue
		}
		item := &PulledObject{Kind: key.Kind, Name: key.Name, live: o, manifest: r.set.Find(key)}
		if item.manifest != nil {
			item.File, item.Line = item.manifest.Path, item.manifest.Line
		}
		r.Items = append(r.Items, item)
	}
}

func (s PullSelection) checkSelected(items []*PulledObject) error {
	var missing []error
	for _, p := range s {
		found := slices.ContainsFunc(items, func(i *PulledObject) bool { return p.hasKey(i.Key()) || p.hasKey(i.live.Key()) })
		switch {
		case found || p.name == "":
		case p.isExact():
			missing = append(missing, fmt.Errorf("%s/%s is not live: trueup pull %s --diff shows what is", p.kind.Name, p.name, p.kind.Plural()))
		default:
			missing = append(missing, fmt.Errorf("no live object matches %s", p.text))
		}
	}
	return errors.Join(missing...)
}
