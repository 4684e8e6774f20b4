package ledger

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"trueup/internal/kind"
)

// The index of a store of files says which records are young and which are open,
// so that a reader need not look at all. It is of empty files whose names say
// it, below index/<workspace>/:
//
//	<yyyymm>/<ddhh>/<entry>   for the UTC hour in which a request was claimed or accepted
//	open/<entry>=<seq>        for the transition that left it open
//
// They are there durably before the record is, and the marker before the hours: an entry
// with a marker and without its record is of a claim that never happened, or is being
// made, and the reader passes over it. Without a marker there was a record, and somebody
// took it away. A marker of open/ may be removed once the record's
// seq is no less than its own and its request not open: any later claim has a
// higher seq, and a marker of its own.
const (
	indexDir = "index"
	openDir  = "open"
)

// hourOf is the folder of an hour. These sort as the hours do, and before openDir.
func hourOf(t time.Time) string { return t.UTC().Format("200601/0215") }

// hourForm tells a folder of an hour from others.
var hourForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{6}/[0-9]{4}/`) })

// entries are the paths that the index must hold before the record is written.
func (r Record) entries() []string {
	if r.State == "" {
		return nil
	}
	var paths []string
	if r.Open() {
		paths = append(paths, markerOf(r.key(), r.Seq))
	}
	for _, t := range []*time.Time{r.ClaimedAt, r.AcceptedAt} {
		if t == nil {
			continue
		}
		p := path.Join(indexDir, r.Workspace, hourOf(*t), entryOf(r.Key))
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// markerOf is the path of the marker of a transition.
func markerOf(key Key, seq int) string { return markersOf(key) + strconv.Itoa(seq) }

// markersOf is what the paths of all markers of a record begin with.
func markersOf(key Key) string {
	return path.Join(indexDir, key.Workspace, openDir, entryOf(key.Key)) + "="
}

// An entry is cut into pieces, because names of files are limited to 255 bytes.
const (
	maxPiece = 200
	pieceEnd = "_/"
)

// entryOf is KIND=NAME in the letters that every store keeps apart: of a name
// they are lower-case letters, digits and hyphens, and for other bytes an
// underscore and two hexadecimal digits.
func entryOf(key kind.Key) string {
	var b bytes.Buffer
	b.WriteString(key.Kind + "=")
	for _, c := range []byte(key.Name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return string(bytes.Join(slices.Collect(slices.Chunk(b.Bytes(), maxPiece)), []byte(pieceEnd)))
}

// escaped is what entryOf writes for other bytes.
var escaped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_[0-9a-f]{2}`) })

// indexed reads the key of a path below the index of a workspace; false means
// that it is not of the index.
func indexed(workspace, p string) (Key, bool) {
	entry := strings.TrimPrefix(p, path.Join(indexDir, workspace)+"/")
	if rest, ok := strings.CutPrefix(entry, openDir+"/"); ok {
		entry = rest[:max(strings.LastIndexByte(rest, '='), 0)]
	} else if at := hourForm().FindString(entry); at != "" {
		entry = entry[len(at):]
	} else {
		return Key{}, false
	}
	k, name, ok := strings.Cut(strings.ReplaceAll(entry, pieceEnd, ""), "=")
	name = escaped().ReplaceAllStringFunc(name, func(s string) string {
		b, _ := hex.DecodeString(s[1:])
		return string(b)
	})
	key := Key{Workspace: workspace, Key: kind.Key{Kind: k, Name: name}}
	return key, ok && entryOf(key.Key) == entry
}

// checkWorkspace refuses what can't be part of a path.
func checkWorkspace(workspace string) error {
	if !part().MatchString(workspace) {
		return fmt.Errorf("read index of workspace %q: it can't be part of a path", workspace)
	}
	return nil
}

// indexedKeys are the keys of the paths below the index of a workspace, each once.
func indexedKeys(workspace string, paths []string) []Key {
	var keys []Key
	seen := map[Key]bool{}
	for _, p := range paths {
		if key, ok := indexed(workspace, p); ok && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}
