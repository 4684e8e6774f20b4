package generate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// snapshotFormat is the version of the JSON form of a Snapshot.
const snapshotFormat = "trueup.new-snapshot/v1"

// WrittenSnapshot is a manifest of a snapshot that WriteSnapshot wrote.
type WrittenSnapshot struct {
	Format  string `json:"format"`
	Sandbox bool   `json:"sandbox"`
	kind.Key
	Status string `json:"status"`
	File   string `json:"file"`
	Disk   string `json:"disk"`
	Text   []byte `json:"-"` // for standard output
}

// WriteSnapshot writes the manifest of a new snapshot of a disk for the command by. Of the options, only Name and Dir
// count; the name is by default that of the disk and the date.
func WriteSnapshot(ctx context.Context, env PurgeEnv, o PurgeOptions, by, disk string) (WrittenSnapshot, error) {
	kinds := kind.AllKinds()
	m := &manifestMaker{PurgeEnv: env, PurgeOptions: o, by: by, fallback: snapshotsFolder, purgeSource: purgeSource{head: []string{"of the disk " + disk}}}
	m.kind = kinds[slices.IndexFunc(kinds, func(k *kind.Kind) bool { return k.IsCreateOnly() && len(k.DiskField) > 0 })]
	if m.Name == "" {
		m.Name = sanitizeName(disk) + m.Now().UTC().Format("-2006-01-02")
	}
	r := &requestManifest{spec: snapshotSpec(m.kind, disk), namespace: m.inferNamespace()}
	r.Key = kind.Key{Kind: m.kind.Name, Name: m.Name}
	m.made = []*requestManifest{r}
	if disk == "" {
		return WrittenSnapshot{}, errors.New("the name of the disk is empty")
	}
	if err := m.CheckValues(); err != nil {
		return WrittenSnapshot{}, err
	}
	if err := m.findFolder(); err != nil {
		return WrittenSnapshot{}, fmt.Errorf("--dir: %w", err)
	}
	for _, step := range []func(context.Context) error{m.checkNameFree, m.draftManifests, m.writeManifests} {
		if err := step(ctx); err != nil {
			return WrittenSnapshot{}, err
		}
	}
	return WrittenSnapshot{snapshotFormat, env.Sandbox, r.Key, r.Status, r.File, disk, r.file.Content}, nil
}

// snapshotSpec returns the spec of a snapshot: the only allowed values of other fields, and the disk.
func snapshotSpec(k *kind.Kind, disk string) []byte {
	spec, _ := k.Root().Fields["spec"].ExampleValue(false).(map[string]any)
	at := spec
	for _, step := range k.DiskField[:len(k.DiskField)-1] {
		at, _ = at[step].(map[string]any)
	}
	at[k.DiskField[len(k.DiskField)-1]] = disk
	return canon.Encode(spec)
}

// inferNamespace returns the workspace that other snapshots name, if no project names it.
func (m *manifestMaker) inferNamespace() string {
	i := slices.IndexFunc(m.Set.Objects, func(o *manifest.Object) bool { return o.Kind == m.kind })
	if m.Project.Exists() || i < 0 {
		return ""
	}
	return m.Set.Objects[i].Namespace
}

// sanitizeName returns a text without what no name has.
func sanitizeName(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(nameRunes, r) {
			return r
		}
		return '-'
	}, strings.ToLower(text)), "-.")
}

// checkNameFree refuses a name that git or the ledger has: a snapshot is never made twice under one name.
func (m *manifestMaker) checkNameFree(ctx context.Context) error {
	key := m.made[0].Key
	if o := m.Set.Find(key); o != nil {
		return fmt.Errorf("%s is in git, in %s: choose another --name", key, o.Path)
	}
	if m.readLedger(ctx, []kind.Key{key}); m.unknown != "" {
		return nil
	}
	if rec := m.view.Records[key]; rec.State != "" && rec.State != ledger.Rejected || rec.Applied != nil {
		says, _ := ledger.ExplainRecord(rec)
		return fmt.Errorf("%s: choose another --name", says)
	}
	return nil
}
