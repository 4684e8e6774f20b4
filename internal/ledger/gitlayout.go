package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"trueup/internal/kind"
)

// The layout of a git store: ledger/genesis.json, ledger/recent.jsonl, and
// <kind>-<3 hex>/<29 hex>.json with the first digits of the sha256 of workspace
// and name. It is flat, because what a host leaves out is asked for level by
// level, and has so many folders because the list of all files comes with each
// that is read: of 100,000 records there are some 25.
const (
	gitFolder  = "ledger"
	gitGenesis = gitFolder + "/" + genesisFile
	gitRecents = gitFolder + "/" + "recent.jsonl"
)

var gitRecordForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{3}/[0-9a-f]{29}\.json$`)
})

func gitRecordPath(key Key) string {
	sum := sha256.Sum256([]byte(key.Workspace + "\n" + key.Name))
	digits := hex.EncodeToString(sum[:16])
	return key.Kind + "-" + digits[:3] + "/" + digits[3:] + ".json"
}

// gitRecord reads the record that a commit has at a path. It must belong there:
// a file that was copied over another would else speak for it.
func gitRecord(b []byte, place string) (Record, error) {
	rec, err := decodeRecord(b)
	if err == nil && gitRecordPath(rec.key()) != place {
		err = fmt.Errorf("%w: it holds the record of %s in workspace %s, which belongs elsewhere", ErrDamaged, rec.Key, rec.Workspace)
	}
	return rec, err
}

// gitRecentHours is of how many hours, in which something was claimed or
// accepted, the index keeps what is not open. Hours without any don't count, so
// that one wrong clock does not empty it.
const gitRecentHours = 72

// gitIndex is ledger/recent.jsonl: what is open, or was claimed or accepted lately, in
// the order of keys. Each commit of records has it as of these records.
type gitIndex []gitRecent

// gitRecent is a line of the index.
type gitRecent struct {
	Workspace string `json:"workspace"`
	kind.Key
	Open       bool       `json:"open,omitempty"`
	ClaimedAt  *time.Time `json:"claimedAt,omitempty"`
	AcceptedAt *time.Time `json:"acceptedAt,omitempty"`
}

func (e gitRecent) key() Key { return Key{Workspace: e.Workspace, Key: e.Key} }

// latest is the later of claim and acceptance, zero without both.
func (e gitRecent) latest() time.Time {
	var at time.Time
	for _, t := range []*time.Time{e.ClaimedAt, e.AcceptedAt} {
		if t != nil && t.After(at) {
			at = *t
		}
	}
	return at
}

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Workspace, other.Workspace), cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Name, other.Name))
}

func decodeIndex(b []byte) (gitIndex, error) {
	var x gitIndex
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	for dec.More() {
		var e gitRecent
		if err := dec.Decode(&e); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrDamaged, len(x)+1, err)
		}
		x = append(x, e)
	}
	return x, nil
}

func (x gitIndex) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, e := range x {
		if err := enc.Encode(e); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// with is the index after a record was written.
func (x gitIndex) with(rec Record) gitIndex {
	e := gitRecent{
		Workspace: rec.Workspace, Key: rec.Key, ClaimedAt: rec.ClaimedAt, AcceptedAt: rec.AcceptedAt,
		Open: rec.State == Claimed || rec.State == Unknown,
	}
	i, found := slices.BinarySearchFunc(x, e.key(), func(e gitRecent, k Key) int { return e.key().compare(k) })
	switch keep := rec.State != "" && (e.Open || !e.latest().IsZero()); {
	case keep && found:
		x[i] = e
	case keep:
		x = slices.Insert(x, i, e)
	case found:
		x = slices.Delete(x, i, i+1)
	}
	return x
}

// trimmed is the index without what is old.
func (x gitIndex) trimmed() gitIndex {
	hours := make([]time.Time, len(x))
	for i, e := range x {
		hours[i] = e.latest().Truncate(time.Hour)
	}
	slices.SortFunc(hours, time.Time.Compare)
	hours = slices.CompactFunc(hours, time.Time.Equal)
	if len(hours) <= gitRecentHours {
		return x
	}
	oldest := hours[len(hours)-gitRecentHours]
	return slices.DeleteFunc(x, func(e gitRecent) bool { return !e.Open && e.latest().Before(oldest) })
}

// since returns the keys of a workspace that are open, or were claimed or
// accepted since then.
func (x gitIndex) since(workspace string, then time.Time) []Key {
	var keys []Key
	for _, e := range x {
		if e.Workspace == workspace && (e.Open || !e.latest().Before(then)) {
			keys = append(keys, e.key())
		}
	}
	return keys
}

// gitHints are the last lines of a commit's message: what almost every reader
// needs of it, and whether there is so little that all is asked for at once.
// They save conversations with the remote and decide nothing: a commit without
// them, or with wrong ones, reads the same.
type gitHints struct {
	// genesis and recent are the ids of these files.
	genesis, recent string
	// records is how many there are, or -1.
	records int
}

func (h gitHints) String() string {
	s := "genesis " + h.genesis + "\nrecent " + h.recent + "\n"
	if h.records >= 0 {
		s += "records " + strconv.Itoa(h.records) + "\n"
	}
	return s
}

var gitHintForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\ngenesis ([0-9a-f]{40,64})\nrecent ([0-9a-f]{40,64})\n(?:records ([0-9]{1,9})\n)?$`)
})

func readHints(message string) gitHints {
	m := gitHintForm().FindStringSubmatch(message)
	if m == nil {
		return gitHints{records: -1}
	}
	n, err := strconv.Atoi(m[3])
	if err != nil {
		n = -1
	}
	return gitHints{genesis: m[1], recent: m[2], records: n}
}

// files are the files of the folder by name.
func (h gitHints) files() map[string]string {
	if h.genesis == "" {
		return nil
	}
	return map[string]string{path.Base(gitGenesis): h.genesis, path.Base(gitRecents): h.recent}
}
