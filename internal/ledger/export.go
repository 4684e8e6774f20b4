package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// RescuePrefix begins the line of a record that could not be stored, as apply
// prints it and ReadBackup finds it in a log.
const RescuePrefix = "trueup: rescue record: "

// exportHead is the first line of an export. It counts the records, so that an
// export that was cut short is never restored.
type exportHead struct {
	Schema     string    `json:"schema"`
	ExportedAt time.Time `json:"exportedAt"`
	Records    int       `json:"records"`
	Genesis    Genesis   `json:"genesis"`
}

func (h exportHead) validate() error {
	if err := checkSchema(h.Schema); err != nil {
		return err
	}
	return h.Genesis.validate()
}

// Export writes the whole ledger as JSON Lines, the genesis first and then each
// record as it is stored, and returns how many records there were. It holds no
// secret, as the ledger holds none.
func (l *Ledger) Export(ctx context.Context, w io.Writer) (int, error) {
	records, err := l.List(ctx)
	if err != nil {
		return 0, err
	}
	g, err := l.usable(ctx)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	head := exportHead{Schema: Schema, ExportedAt: l.cfg.Now().UTC(), Records: len(records), Genesis: g}
	if err := enc.Encode(head); err != nil {
		return 0, fmt.Errorf("export ledger: %w", err)
	}
	for _, rec := range records {
		if err := enc.Encode(rec); err != nil {
			return 0, fmt.Errorf("export record of %s: %w", rec.Key, err)
		}
	}
	if err := out.Flush(); err != nil {
		return 0, fmt.Errorf("export ledger: %w", err)
	}
	return len(records), nil
}

// Backup is what ReadBackup found.
type Backup struct {
	// Genesis is that of an export; nil where there were rescue records only.
	Genesis *Genesis
	// ExportedAt is when the export was made.
	ExportedAt time.Time
	Records    []Record
}

// ReadBackup reads what Export wrote, or the rescue records in the output of a
// run, of which all other lines are skipped. An export must be whole.
func ReadBackup(r io.Reader) (Backup, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxFile)
	var b backupReader
	for n := 1; lines.Scan(); n++ {
		if err := b.line(lines.Bytes()); err != nil {
			return Backup{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Backup{}, err
	}
	return b.end()
}

// ReadBackupFolder reads records that lie in files of their own, as this machine
// keeps what it has seen of a ledger (Config.SeenCache).
func ReadBackupFolder(folder fs.FS) (Backup, error) {
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return Backup{}, err
	}
	var b Backup
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return Backup{}, err
		}
		rec, err := readBackupRecord(text)
		if err != nil {
			return Backup{}, fmt.Errorf("%s: %w", name, err)
		}
		b.Records = append(b.Records, rec)
	}
	if b.Records == nil {
		return Backup{}, errors.New("it holds no records")
	}
	return b, nil
}

// backupReader collects what the lines of a backup say.
type backupReader struct {
	Backup
	head    *exportHead
	rescued bool
	// strange is the first line that is neither a record nor empty; in the
	// output of a run there are many.
	strange error
}

func (b *backupReader) line(text []byte) error {
	if _, rescue, ok := bytes.Cut(text, []byte(RescuePrefix)); ok {
		rec, err := readBackupRecord(rescue)
		if err != nil {
			return fmt.Errorf("rescue record: %w", err)
		}
		b.rescued = true
		b.Records = append(b.Records, rec)
		return nil
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil
	}
	err := b.exported(text)
	if b.head != nil {
		return err
	}
	if b.strange == nil {
		b.strange = err
	}
	return nil
}

// exported reads a line of an export.
func (b *backupReader) exported(text []byte) error {
	if b.head == nil {
		var head exportHead
		if err := decode(text, &head); err != nil {
			return err
		}
		if err := head.validate(); err != nil {
			return err
		}
		b.head, b.Genesis, b.ExportedAt = &head, &head.Genesis, head.ExportedAt
		return nil
	}
	rec, err := readBackupRecord(text)
	b.Records = append(b.Records, rec)
	return err
}

func readBackupRecord(text []byte) (Record, error) {
	rec, err := decodeRecord(bytes.TrimSpace(text))
	if err == nil {
		err = rec.sound()
	}
	return rec, err
}

func (b *backupReader) end() (Backup, error) {
	switch {
	case b.head != nil && b.rescued:
		return Backup{}, errors.New("the file has an export and rescue records: import them one after the other")
	case b.head != nil && len(b.Records) != b.head.Records:
		return Backup{}, fmt.Errorf("it is truncated: it has %d of %d records", len(b.Records), b.head.Records)
	case b.head == nil && !b.rescued && b.strange != nil:
		return Backup{}, fmt.Errorf("it is not an export of a ledger, and has no line with %q: %w", strings.TrimSpace(RescuePrefix), b.strange)
	case b.head == nil && !b.rescued:
		return Backup{}, errors.New("it is empty")
	}
	return b.Backup, nil
}
