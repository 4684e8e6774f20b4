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
	"strings"
	"time"

	"trueup/internal/kind"
)

// A log has a file for each entry, counted from 1, and a copy for each 4, 16, 64 … entries with their newest records:
//
//	<7 digits>/<10 digits>-<entry>.jsonl
//	<7 digits>/<10 digits>-<entry>-last-<entries>.jsonl.gz
//
// A copy in git is not packed, and has no .gz. The digits count down, so the newest entry is the first of a listing.
const (
	logDir            = "log"
	newestFirst int64 = 9_999_999_999
	pieceFactor       = 4       // how many pieces of one length make one of the next
	maxPiece          = 4 << 30 // bounds an unpacked piece, in bytes
)

// entryRange is a range of entries: the number of the last, and how many.
type entryRange struct {
	Entry   int `json:"entry"`
	Entries int `json:"entries"`
}

// entryBefore returns the entry that the first one follows.
func (p entryRange) entryBefore() int { return p.Entry - p.Entries }

// fileName returns the file's path.
func (p entryRange) fileName(packed bool) string {
	name := fmt.Sprintf("%010d-%d", newestFirst-int64(p.Entry), p.Entry)
	folder, end := name[:7], ".jsonl"
	if p.Entries > 1 {
		name += fmt.Sprintf("-last-%d", p.Entries)
		if packed {
			end += ".gz"
		}
	}
	return path.Join(logDir, folder, name+end)
}

func parseEntryRange(name string) (entryRange, error) {
	p := entryRange{Entries: 1}
	var digits int64
	_, _ = fmt.Sscanf(path.Base(name), "%d-%d-last-%d", &digits, &p.Entry, &p.Entries)
	if p.Entry < 1 || p.Entries < 1 || p.Entries > p.Entry || p.fileName(strings.HasSuffix(name, ".gz")) != name {
		return entryRange{}, fmt.Errorf("%w: trueup did not write %s: remove it", ErrDamaged, name)
	}
	return p, nil
}

// fewestPieces returns the fewest pieces with all entries up to last, oldest first.
func fewestPieces(last int) []entryRange {
	var pieces []entryRange
	for last > 0 {
		p := entryRange{last, 1}
		for last%(p.Entries*pieceFactor) == 0 {
			p.Entries *= pieceFactor
		}
		pieces = append(pieces, p)
		last = p.entryBefore()
	}
	slices.Reverse(pieces)
	return pieces
}

// splitSpan returns the next smaller pieces, oldest first.
func (p entryRange) splitSpan() (parts []entryRange) {
	short := p.Entries / pieceFactor
	for end := p.entryBefore() + short; end <= p.Entry; end += short {
		parts = append(parts, entryRange{end, short})
	}
	return parts
}

// segment has the records that a range of entries changed. Its file has a head, the JSON of a piece, and for each record
// an index line, the JSON of a line, and the record.
type segment struct {
	Schema string `json:"schema"`
	entryRange
	// ID identifies the last entry, After the one before the first. They detect a mix of two logs.
	ID      string `json:"id"`
	After   string `json:"after,omitempty"`
	Records int    `json:"records"`
	// Genesis was written by entry GenesisAt, if that is in the range.
	Genesis   *Genesis `json:"genesis,omitempty"`
	GenesisAt int      `json:"genesisAt,omitempty"`
	lines     []indexLine
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
	rec        Record
}

func (r Record) indexLine(at int) indexLine {
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
	if l.text == nil {
		return l.rec, nil
	}
	rec, err := l.decodeText()
	if err == nil && (rec.Key != l.Key || rec.Seq != l.Seq) {
		err = fmt.Errorf("%w: the index names another record: the file has %s of workspace %s, seq %d", ErrDamaged, rec.Key, rec.Workspace, rec.Seq)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read record of %s in entry %d of the ledger's log: %w", l.Key, l.At, err)
	}
	l.rec, l.text, l.held = rec, nil, nil
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

// wholeText returns the text with its spec.
func (l *indexLine) wholeText() []byte {
	if l.held == nil {
		return l.text
	}
	return bytes.Replace(l.text, []byte(heldMark), l.held, 1)
}

func (l *indexLine) decodeText() (Record, error) {
	if l.held != nil {
		rec, err := decodeRecord(l.text)
		for _, own := range []*CanonicalJSON{&rec.Spec, &rec.Applied} {
			if err == nil && string(*own) == heldMark {
				*own = l.held
				return rec, nil
			}
		}
	}
	return decodeRecord(l.wholeText())
}

func (p segment) encodePiece(packed bool) ([]byte, error) {
	var b bytes.Buffer
	out := io.Writer(&b)
	zip, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if packed = packed && p.Entries > 1; packed {
		out = zip
	}
	p.Schema, p.Records = Schema, len(p.lines)
	err := writeLine(out, p)
	for i := 0; i < len(p.lines) && err == nil; i++ {
		l := &p.lines[i]
		if err = writeLine(out, l); err == nil && l.text != nil {
			_, _ = fmt.Fprintf(out, "%s\n", addChecksum(l.wholeText()))
		} else if err == nil {
			err = writeLine(out, l.rec)
		}
	}
	if err == nil && packed {
		err = zip.Close()
	}
	if err == nil && b.Len() > maxFile {
		err = errTooLong
	}
	return b.Bytes(), err
}

// decodePiece parses a file, but not its records. held returns the spec that the caller has of an object, or nil.
func decodePiece(b []byte, want entryRange, held func(kind.Key) []byte) (p segment, err error) {
	in, packed := bufio.NewReader(bytes.NewReader(b)), bytes.HasPrefix(b, []byte{0x1f, 0x8b})
	if packed {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return p, asDamaged(err)
		}
		in = bufio.NewReader(io.LimitReader(zip, maxPiece))
	}
	err = p.decodePiece(in, want, held)
	if _, broken := io.Copy(io.Discard, in); broken != nil {
		err = broken
	}
	return p, asDamaged(err)
}

func (p *segment) decodePiece(in *bufio.Reader, want entryRange, held func(kind.Key) []byte) error {
	next := func() []byte {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		return text[:len(text)-1]
	}
	if err := cmp.Or(decodeSealed(next(), p), p.checkSpan(want)); err != nil {
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
		l.setText(text, held(l.Key))
		p.lines = append(p.lines, l)
	}
	if _, err := in.ReadByte(); err == nil {
		return errors.New("content after the last record")
	}
	return nil
}

func (p *segment) checkSpan(want entryRange) error {
	if err := checkSchema(p.Schema); err != nil {
		return err
	}
	if p.entryRange != want {
		return fmt.Errorf("its content has another place in the log: %d entries up to %d", p.Entries, p.Entry)
	}
	if p.Genesis != nil {
		return p.Genesis.validate()
	}
	return nil
}
