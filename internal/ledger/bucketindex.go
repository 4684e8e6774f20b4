package ledger

import (
	"context"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Recent is one listing, from the hour of since on: what is open sorts behind
// the hours.
func (s *bucketStore) Recent(ctx context.Context, workspace string, since time.Time) ([]Key, error) {
	if err := checkWorkspace(workspace); err != nil {
		return nil, err
	}
	if _, err := s.genesis(ctx); err != nil {
		return nil, err
	}
	dir := path.Join(indexDir, workspace) + "/"
	names, err := s.listAll(ctx, dir, dir+hourOf(since))
	if err != nil {
		return nil, err
	}
	s.seen.keepMarkers(workspace, names)
	return indexedKeys(workspace, names), nil
}

// taken is as of a store in files.
func (s *bucketStore) taken(ctx context.Context, key Key) (bool, error) {
	page, err := s.list(ctx, markersOf(key), start{}, 1)
	if err != nil || len(page.names) > 0 {
		return false, err
	}
	rec, err := s.record(ctx, key)
	return rec.Seq == 0, err
}

// enter makes those entries of the index that this run did not make, in their order.
func (s *bucketStore) enter(ctx context.Context, entries []string) (err error) {
	missing := s.seen.notEntered(entries)
	for i := 0; i < len(missing) && err == nil; i++ {
		err = s.ensure(ctx, missing[i])
	}
	if err == nil {
		s.seen.enter(missing)
	}
	return err
}

// maxSweep bounds how many markers one call removes that earlier runs left.
const maxSweep = 200

// sweep removes markers that Recent listed and whose records this run has since
// seen to be open no longer: their runs died, or may not remove them.
func (s *bucketStore) sweep(ctx context.Context) {
	names := s.seen.takeStale()
	names = names[:min(len(names), maxSweep)]
	// One that stays is found by the next run.
	_ = eachParallel(ctx, len(names), func(ctx context.Context, i int) error { return s.remove(ctx, names[i]) })
}

// leave removes the markers of a record that is open no longer. One that stays,
// because the run died or may not remove it, costs a look at the record.
func (s *bucketStore) leave(ctx context.Context, rec Record) {
	under := markersOf(rec.key())
	names := []string{under + "1"}
	if rec.Seq > 2 {
		var err error
		if names, err = s.listAll(ctx, under, ""); err != nil {
			return
		}
	}
	for _, name := range names {
		seq, err := strconv.Atoi(strings.TrimPrefix(name, under))
		if err != nil || seq > rec.Seq {
			continue
		}
		if s.remove(ctx, name) != nil {
			return
		}
	}
}

// bucketMemory is what a run saw, and needs not ask for again.
type bucketMemory struct {
	mu      sync.Mutex
	genesis *heldGenesis
	// records are the last versions that were seen, by folder.
	records map[string]Record
	entered map[string]bool
	// markers are those of open/ that were listed, by folder of their record.
	markers map[string][]marker
}

// marker is one of open/.
type marker struct {
	name string
	seq  int
}

func (m *bucketMemory) genesisKept() *heldGenesis {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.genesis
}

func (m *bucketMemory) keepGenesis(g *heldGenesis) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.genesis = g
}

// record returns a version of a record if it is the last that was seen.
func (m *bucketMemory) record(dir string, seq int) (Record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec, ok := m.records[dir]
	return rec, ok && rec.Seq == seq
}

func (m *bucketMemory) keep(dir string, rec Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[string]Record{}
	}
	m.records[dir] = rec
}

// keepMarkers keeps the markers among the names of an index.
func (m *bucketMemory) keepMarkers(workspace string, names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.markers = map[string][]marker{}
	for _, name := range names {
		key, ok := indexed(workspace, name)
		seq, err := strconv.Atoi(strings.TrimPrefix(name, markersOf(key)))
		if ok && err == nil {
			dir := recordDir(key)
			m.markers[dir] = append(m.markers[dir], marker{name: name, seq: seq})
		}
	}
}

// takeStale returns the markers that may be removed, and forgets them all.
func (m *bucketMemory) takeStale() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var stale []string
	for dir, markers := range m.markers {
		rec, ok := m.records[dir]
		for _, one := range markers {
			if ok && !rec.Open() && one.seq <= rec.Seq {
				stale = append(stale, one.name)
			}
		}
	}
	m.markers = nil
	return stale
}

func (m *bucketMemory) notEntered(entries []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var missing []string
	for _, e := range entries {
		if !m.entered[e] {
			missing = append(missing, e)
		}
	}
	return missing
}

func (m *bucketMemory) enter(entries []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entered == nil {
		m.entered = map[string]bool{}
	}
	for _, e := range entries {
		m.entered[e] = true
	}
}
