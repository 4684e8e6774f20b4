package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"
	"time"

	"trueup/internal/kind"
)

// A log has a file for each entry, counted from 1:
//
//	<7 digits>/<10 digits>-<entry>.jsonl
//
// The digits count down, so the newest entry is the first of a listing. A file that has several entries is compressed; in
// git, which finds what they share, only a long one.
const (
	logDir            = "log"
	newestFirst int64 = 9_999_999_999
	maxSegments       = 6       // how many files have all that readers of the newest entry need
	maxUnpacked       = 4 << 30 // bounds an unpacked file, in bytes
)

// entryFile returns the path of an entry's file.
func entryFile(entry int) string {
	name := fmt.Sprintf("%010d-%d.jsonl", newestFirst-int64(entry), entry)
	return path.Join(logDir, name[:7], name)
}

func entryOfFile(name string) (entry int, err error) {
	var digits int64
	_, _ = fmt.Sscanf(path.Base(name), "%d-%d", &digits, &entry)
	if entry < 1 || entryFile(entry) != name {
		return 0, fmt.Errorf("%w: trueup did not write %s: remove it", ErrDamaged, name)
	}
	return entry, nil
}

// segment is what the file of an entry has: the records that it changed, and those that the entries right before it
// changed, so that readers need few files. The file has a head, the JSON of a segment, and for each record an index line,
// the JSON of a line, and the record.
type segment struct {
	Schema string `json:"schema"`
	// Entry is the number of the entry, Entries of how many entries the segment has the newest records.
	Entry   int `json:"entry"`
	Entries int `json:"entries"`
	// Rest are the other entries that readers need, oldest first.
	Rest []int `json:"rest,omitempty"`
	// ID identifies the entry, After the one before the segment. They detect a mix of two logs.
	ID      string `json:"id"`
	After   string `json:"after,omitempty"`
	Records int    `json:"records"`
	// Genesis was written by entry GenesisAt, if that is in the range.
	Genesis   *Genesis `json:"genesis,omitempty"`
	GenesisAt int      `json:"genesisAt,omitempty"`
	// Folded finds the records that earlier folds moved. The segment that begins the log has it.
	Folded *foldIndex `json:"folded,omitempty"`
	lines  []indexLine
}

// indexLine lets readers find recent requests without decoding records. At is the entry that changed the record last.
type indexLine struct {
	At        int    `json:"at"`
	Seq       int    `json:"seq"`
	Workspace string `json:"workspace"`
	kind.Key
	Open       bool       `json:"open,omitempty"`
	ClaimedAt  *time.Time `json:"claimedAt,omitempty"`
	AcceptedAt *time.Time `json:"acceptedAt,omitempty"`
	// text is the record's JSON, or nil once rec is decoded. If held is set, heldMark stands for it there.
	text, held []byte
	rec        *Record // a pointer, because it is large, and what a run writes it decodes only at its end
}

func (r Record) newIndexLine(at int) indexLine {
	l := indexLine{At: at, Seq: r.Seq, Workspace: r.Workspace, Key: r.Key}
	if r.State != "" {
		l.Open, l.ClaimedAt, l.AcceptedAt = r.IsOpen(), r.ClaimedAt, r.AcceptedAt
	}
	return l
}

// isSince reports whether the request is open, or was claimed or accepted since.
func (l *indexLine) isSince(then time.Time) bool {
	late := func(t *time.Time) bool { return t != nil && !t.Before(then) }
	return l.Open || late(l.ClaimedAt) || late(l.AcceptedAt)
}

func (l *indexLine) decodeRecord() (Record, error) {
	if l.rec != nil {
		return *l.rec, nil
	}
	rec, err := l.decodeText()
	if err == nil && (rec.Key != l.Key || rec.Seq != l.Seq) {
		err = fmt.Errorf("%w: the index names another record: the file has %s of workspace %s, seq %d", ErrDamaged, rec.Key, rec.Workspace, rec.Seq)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read record of %s in entry %d of the ledger's log: %w", l.Key, l.At, err)
	}
	l.rec, l.text, l.held = &rec, nil, nil
	return rec, nil
}

// heldMark stands in a text for the spec that the caller has in memory. To decode the spec, and to keep it twice, takes
// most of the time and memory of a plan that changes nothing.
const heldMark = `"the spec that the caller has"`

// setText sets the text. It leaves a spec out that equals held, unless another string may read as heldMark.
func (l *indexLine) setText(text, held []byte) {
	l.text = text
	for _, name := range []string{`"spec":`, `"applied":`} {
		before, after, _ := bytes.Cut(text, []byte(name))
		after, found := bytes.CutPrefix(after, held)
		if !found || len(held) == 0 {
			continue
		}
		short := slices.Concat(before, []byte(name), []byte(heldMark), after)
		if bytes.Count(short, []byte(heldMark)) == 1 && bytes.IndexByte(short, '\\') < 0 {
			l.text, l.held = short, held
			return
		}
	}
}

// textParts returns the text with its spec, in parts.
func (l *indexLine) textParts() [][]byte {
	if l.held == nil {
		return [][]byte{l.text}
	}
	before, after, _ := bytes.Cut(l.text, []byte(heldMark))
	return [][]byte{before, l.held, after}
}

func (l *indexLine) decodeText() (Record, error) {
	rec, err := decodeRecord(l.text)
	if l.held == nil {
		return rec, err
	}
	for _, own := range []*CanonicalJSON{&rec.Spec, &rec.Applied} {
		if err == nil && string(*own) == heldMark {
			*own = l.held
			return rec, nil
		}
	}
	return decodeRecord(slices.Concat(l.textParts()...))
}

// entryBefore returns the entry that the segment follows.
func (p segment) entryBefore() int { return p.Entry - p.Entries }

func (p segment) encodeSegment(packed bool) ([]byte, error) {
	p.Schema = Schema
	return encodeFile(packed && p.Entries > 1 || len(p.lines) > batchMost, func(out io.Writer) error {
		err := writeLine(out, p)
		for i := 0; i < len(p.lines) && err == nil; i++ {
			l := &p.lines[i]
			if err = writeLine(out, l); err == nil && l.text != nil {
				writeSealed(out, l.textParts()...)
				_, _ = io.WriteString(out, "\n")
			} else if err == nil {
				err = writeLine(out, l.rec)
			}
		}
		return err
	})
}

// zippers are reused, because each is large.
var zippers = sync.Pool{New: func() any {
	zip, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return zip
}}

// encodeFile returns the content of a file, whose lines write writes.
func encodeFile(packed bool, write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	out := io.Writer(&b)
	zip := zippers.Get().(*gzip.Writer)
	defer zippers.Put(zip)
	if zip.Reset(&b); packed {
		out = zip
	}
	err := write(out)
	if err == nil && packed {
		err = zip.Close()
	}
	if err == nil && b.Len() > maxFile {
		err = errTooLong
	}
	return b.Bytes(), err
}

// unpackFile returns a reader of a file's lines.
func unpackFile(content []byte) (*bufio.Reader, error) {
	in, packed := bufio.NewReader(bytes.NewReader(content)), bytes.HasPrefix(content, []byte{0x1f, 0x8b})
	if packed {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, asDamaged(err)
		}
		in = bufio.NewReader(io.LimitReader(zip, maxUnpacked))
	}
	return in, nil
}

// readLine returns the next line, or nil after the last one.
func readLine(in *bufio.Reader) []byte {
	text, err := in.ReadBytes('\n')
	if err != nil {
		return nil
	}
	return text[:len(text)-1]
}

// decodeFile parses a file. The function next returns the next line, or nil after the last one.
func decodeFile(content []byte, parse func(next func() []byte) error) error {
	in, err := unpackFile(content)
	if err != nil {
		return err
	}
	err = parse(func() []byte { return readLine(in) })
	left, broken := io.Copy(io.Discard, in)
	if err == nil && left > 0 {
		err = errors.New("content after the last record")
	}
	return asDamaged(cmp.Or(broken, err))
}

// decodeHead parses only the head of an entry's file.
func decodeHead(content []byte, entry int) (p segment, err error) {
	in, err := unpackFile(content)
	if err != nil {
		return p, err
	}
	err = cmp.Or(decodeSealed(readLine(in), &p), p.checkHead(entry))
	return p, asDamaged(err)
}

// decodeSegment parses the file of an entry, but not its records.
func (s *logStore) decodeSegment(content []byte, entry int) (p segment, err error) {
	err = decodeFile(content, func(next func() []byte) error {
		if err := cmp.Or(decodeSealed(next(), &p), p.checkHead(entry)); err != nil {
			return err
		}
		for range p.Records {
			var l indexLine
			if err := decodeSealed(next(), &l); err != nil {
				return err
			}
			text, err := checkChecksum(next())
			if text == nil {
				return fmt.Errorf("record of %s: %w", l.Key, cmp.Or(err, errors.New("cut short")))
			}
			l.setText(text, s.held(l.Key))
			p.lines = append(p.lines, l)
		}
		return nil
	})
	return p, err
}

func (p *segment) checkHead(entry int) error {
	if err := checkSchema(p.Schema); err != nil {
		return err
	}
	if p.Entry != entry || p.Entries < 1 || p.Entries > entry || !slices.IsSorted(p.Rest) {
		return fmt.Errorf("its content has another place in the log: %d entries up to %d", p.Entries, p.Entry)
	}
	if p.Genesis != nil {
		return p.Genesis.validate()
	}
	return nil
}
