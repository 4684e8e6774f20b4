package ledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The layout of a log, below its folder: for each entry, counted from 1,
//
//	<7 digits>/<10 digits>-<entry>.jsonl
//
// and where 4, 16, 64 … entries end with it, for what they left of the records
//
//	<7 digits>/<10 digits>-<entry>-last-<entries>.jsonl
//
// which is packed but in git, as .jsonl.gz.
// The digits count down, so that the newest entry is the first of a listing.
const (
	logDir            = "log"
	newestFirst int64 = 9_999_999_999
	// pieceFactor is how many pieces of one length are one of the next.
	pieceFactor = 4
	// maxPiece bounds a piece that is unpacked, in bytes.
	maxPiece = 4 << 30
)

// span are the entries of a piece of the log: how many, and the last of them.
type span struct{ last, entries int }

// name is the path of a piece's file; one of several entries may be packed.
func (p span) name(packed bool) string {
	name := fmt.Sprintf("%010d-%d", newestFirst-int64(p.last), p.last)
	folder := path.Join(logDir, name[:7])
	switch {
	case p.entries == 1:
		return path.Join(folder, name+".jsonl")
	case packed:
		return path.Join(folder, fmt.Sprintf("%s-last-%d.jsonl.gz", name, p.entries))
	}
	return path.Join(folder, fmt.Sprintf("%s-last-%d.jsonl", name, p.entries))
}

// spanOf reads a name.
func spanOf(name string) (span, error) {
	base, packed := strings.CutSuffix(path.Base(name), ".gz")
	_, rest, _ := strings.Cut(strings.TrimSuffix(base, ".jsonl"), "-")
	number, entries, several := strings.Cut(rest, "-last-")
	last, err := strconv.Atoi(number)
	p := span{last: last, entries: 1}
	if several && err == nil {
		p.entries, err = strconv.Atoi(entries)
	}
	if err != nil || last < 1 || p.entries < 1 || p.entries > last || p.name(packed) != name {
		return span{}, fmt.Errorf("%w: trueup did not write %s: remove it", ErrDamaged, name)
	}
	return p, nil
}

// fewestPieces are the fewest pieces for all entries up to the last, oldest first.
func fewestPieces(last int) []span {
	var pieces []span
	for last > 0 {
		p := span{last: last, entries: 1}
		for last%(p.entries*pieceFactor) == 0 {
			p.entries *= pieceFactor
		}
		pieces = append(pieces, p)
		last -= p.entries
	}
	slices.Reverse(pieces)
	return pieces
}

// parts are the pieces of the next shorter length, oldest first.
func (p span) parts() []span {
	var parts []span
	for n := range pieceFactor {
		parts = append(parts, span{last: p.last - (pieceFactor-1-n)*p.entries/pieceFactor, entries: p.entries / pieceFactor})
	}
	return parts
}

// piece is what some entries of a log left of the records: a head, and two lines for
// each record, one of the index and the record itself.
type piece struct {
	head  pieceHead
	lines []line
}

// pieceHead is the first line of a piece.
type pieceHead struct {
	Schema string `json:"schema"`
	// Entry is the number of its last entry, Entries how many it covers.
	Entry   int `json:"entry"`
	Entries int `json:"entries"`
	// ID names the last entry, After the one before the first: a log that was put
	// together of two is no log.
	ID    string `json:"id"`
	After string `json:"after,omitempty"`
	// Records is how many follow.
	Records int `json:"records"`
	// Genesis is that of entry GenesisAt, where that is one of these.
	Genesis   *Genesis `json:"genesis,omitempty"`
	GenesisAt int      `json:"genesisAt,omitempty"`
}

// line is a record as a log has it.
type line struct {
	lineHead
	// text is the record's JSON, or nil once it is decoded as rec.
	text []byte
	rec  Record
}

// lineHead is the line of the index: At is the entry that changed the record last.
type lineHead struct {
	At  int `json:"at"`
	Seq int `json:"seq"`
	indexed
}

// record decodes the record, for good.
func (l *line) record() (Record, error) {
	if l.text == nil {
		return l.rec, nil
	}
	rec, err := decodeRecord(l.text)
	if err == nil && (rec.key() != l.key() || rec.Seq != l.Seq) {
		err = fmt.Errorf("%w: it has seq %d of the record of %s in workspace %s, which belongs elsewhere", ErrDamaged, rec.Seq, rec.Key, rec.Workspace)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read record of %s in entry %d of the ledger's log: %w", l.Key, l.At, err)
	}
	l.rec, l.text = rec, nil
	return rec, nil
}

// encode is the content of a piece's file.
func (p piece) encode(pack bool) ([]byte, error) {
	var b bytes.Buffer
	out := io.Writer(&b)
	packed, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if pack = pack && p.head.Entries > 1; pack {
		out = packed
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	p.head.Schema, p.head.Records = Schema, len(p.lines)
	err := enc.Encode(p.head)
	for i := 0; i < len(p.lines) && err == nil; i++ {
		l := p.lines[i]
		if err = enc.Encode(l.lineHead); err == nil && l.text != nil {
			_, err = out.Write(append(bytes.Clone(l.text), '\n'))
		} else if err == nil {
			err = enc.Encode(l.rec)
		}
	}
	if err == nil && pack {
		err = packed.Close()
	}
	if err == nil && b.Len() > maxFile {
		err = fmt.Errorf("longer than %d bytes", maxFile)
	}
	return b.Bytes(), err
}

// decodePiece reads a piece's file. The records are decoded when they are asked for.
func decodePiece(b []byte, want span) (p piece, err error) {
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		if b, err = unpack(b); err != nil {
			return piece{}, damage(err)
		}
	}
	next := func() (text []byte) {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return nil
		}
		text, b = b[:end], b[end+1:]
		return text
	}
	if err := decode(next(), &p.head); err != nil {
		return piece{}, damage(err)
	}
	if err := p.head.check(want); err != nil {
		return piece{}, damage(err)
	}
	for range p.head.Records {
		var l line
		if err := decode(next(), &l.lineHead); err != nil {
			return piece{}, damage(err)
		}
		if l.text = next(); l.text == nil {
			return piece{}, damage(errors.New("cut short"))
		}
		p.lines = append(p.lines, l)
	}
	if len(b) > 0 {
		return piece{}, damage(errors.New("content after the last record"))
	}
	return p, nil
}

func unpack(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxPiece))
}

func (h pieceHead) check(want span) error {
	if err := checkSchema(h.Schema); err != nil {
		return err
	}
	if h.Entry != want.last || h.Entries != want.entries {
		return fmt.Errorf("it has %d entries up to %d, which belong elsewhere", h.Entries, h.Entry)
	}
	if h.Genesis != nil {
		return h.Genesis.validate()
	}
	return nil
}
