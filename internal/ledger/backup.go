package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// RescuePrefix begins a line with a record that trueup could not store. ReadBackup finds such lines in a log.
const RescuePrefix = "trueup: rescue record: "

// exportHead is the first line of an export. Records shows whether the export was cut short.
type exportHead struct {
	Schema     string    `json:"schema"`
	ExportedAt time.Time `json:"exportedAt"`
	Records    int       `json:"records"`
	Genesis    Genesis   `json:"genesis"`
}

// Export writes the genesis and then each record as JSON Lines, and returns the number of records. An export holds no
// secrets.
func (l *Ledger) Export(ctx context.Context, w io.Writer) (int, error) {
	records, err := l.ListRecords(ctx)
	if err != nil {
		return 0, err
	}
	g, err := l.readUsable(ctx)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(w)
	err = writeLine(out, exportHead{Schema: Schema, ExportedAt: l.cfg.Now().UTC(), Records: len(records), Genesis: g})
	for i := 0; i < len(records) && err == nil; i++ {
		err = writeLine(out, records[i])
	}
	if err = cmp.Or(err, out.Flush()); err != nil {
		return 0, fmt.Errorf("export ledger: %w", err)
	}
	return len(records), nil
}

// Backup is what ReadBackup found.
type Backup struct {
	// Genesis is nil for rescue records.
	Genesis    *Genesis
	ExportedAt time.Time
	Records    []Record
}

func (b *Backup) addRecord(text []byte) error {
	rec, err := decodeRecord(bytes.TrimSpace(text))
	if err == nil {
		err = rec.checkTransitions()
	}
	b.Records = append(b.Records, rec)
	return err
}

// ReadBackup reads a complete export, or the rescue records in the log of a run; it skips the log's other lines.
func ReadBackup(r io.Reader) (Backup, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxFile)
	var b backupReader
	for n := 1; lines.Scan(); n++ {
		if err := b.readLine(lines.Bytes()); err != nil {
			return Backup{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := cmp.Or(lines.Err(), b.checkEnd()); err != nil {
		return Backup{}, err
	}
	return b.Backup, nil
}

type backupReader struct {
	Backup
	announced int // the number of records that the head of an export promises
	rescued   bool
	strange   error // of the first line that is neither a head nor a rescue record: a log has many
}

func (b *backupReader) checkEnd() error {
	switch {
	case b.Genesis != nil && b.rescued:
		return errors.New("the file has an export and rescue records: import them one after the other")
	case b.Genesis != nil && len(b.Records) != b.announced:
		return fmt.Errorf("it is truncated: it has %d of %d records", len(b.Records), b.announced)
	case b.Genesis == nil && !b.rescued && b.strange != nil:
		return fmt.Errorf("it is not an export of a ledger, and has no line with %q: %w", strings.TrimSpace(RescuePrefix), b.strange)
	case b.Genesis == nil && !b.rescued:
		return errors.New("it is empty")
	}
	return nil
}

func (b *backupReader) readLine(text []byte) error {
	_, rescue, found := bytes.Cut(text, []byte(RescuePrefix))
	text = bytes.TrimSpace(text)
	switch {
	case found:
		b.rescued = true
		if err := b.addRecord(rescue); err != nil {
			return fmt.Errorf("rescue record: %w", err)
		}
	case len(text) == 0:
	case b.Genesis != nil:
		return b.addRecord(text)
	default:
		var head exportHead
		err := decodeSealed(text, &head)
		if err == nil {
			err = cmp.Or(checkSchema(head.Schema), head.Genesis.validate())
		}
		if err == nil {
			b.Genesis, b.ExportedAt, b.announced = &head.Genesis, head.ExportedAt, head.Records
		}
		b.strange = cmp.Or(b.strange, err)
	}
	return nil
}

// ReadBackupFolder reads one record from each .json file, such as those in Config.SeenCache.
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
		if err := b.addRecord(text); err != nil {
			return Backup{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if b.Records == nil {
		return Backup{}, errors.New("it holds no records")
	}
	return b, nil
}
