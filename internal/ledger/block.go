package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"

	"trueup/internal/blob"
)

// foldedRecord is a record of a block, and its text there.
type foldedRecord struct {
	Record
	text []byte
}

// sum is the record's checksum. Sums of many are added up, so that their order and blocks don't matter.
func (r foldedRecord) sum() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(r.text)
	return h.Sum64()
}

func sumOf(records []foldedRecord) (sum uint64) {
	for _, r := range records {
		sum += r.sum()
	}
	return sum
}

func compareFolded(r foldedRecord, key string) int { return strings.Compare(r.String(), key) }

// blockHead begins the file of a block.
type blockHead struct {
	Schema string `json:"schema"`
	ID     string `json:"id"`
	Sum    uint64 `json:"sum64"`
}

func encodeBlock(id string, records []foldedRecord, packed bool) ([]byte, error) {
	return encodeFile(packed, func(out io.Writer) error {
		err := writeLine(out, blockHead{Schema, id, sumOf(records)})
		for _, r := range records {
			_, _ = fmt.Fprintf(out, "%s\n", r.text)
		}
		return err
	})
}

func decodeBlock(content []byte, want recordBlock) (records []foldedRecord, err error) {
	err = decodeFile(content, func(next func() []byte) error {
		var head blockHead
		if err := decodeSealed(next(), &head); err != nil {
			return err
		}
		for text := next(); text != nil; text = next() {
			rec, err := decodeRecord(bytes.Clone(text))
			if err != nil {
				return err
			}
			records = append(records, foldedRecord{rec, text})
		}
		sorted := slices.IsSortedFunc(records, func(a, b foldedRecord) int { return compareFolded(a, b.String()) })
		if err := checkSchema(head.Schema); err != nil {
			return err
		}
		if !sorted || len(records) == 0 || len(records) != want.Records || head.ID != want.ID || head.Sum != sumOf(records) || records[0].String() != want.First {
			return errors.New("its records are not those of the ledger's index")
		}
		return nil
	})
	return records, err
}

// blockBuilder makes the blocks of a fold.
type blockBuilder struct {
	index foldIndex
	made  []recordBlock
	files []blob.Blob
	// sum is what the records of made add up to.
	sum uint64
}

// add counts a record that the ledger had not folded, or with -1 one that it has no more.
func (f *blockBuilder) add(r foldedRecord, n int) {
	f.index.Records += n
	f.index.Sum += uint64(n) * r.sum()
	f.sum += uint64(n) * r.sum()
}

// writeBlocks writes blocks with more records, which are sorted, in place of those that these belong to. It returns the
// index of all blocks.
func (s *logStore) writeBlocks(ctx context.Context, records []Record) (foldIndex, error) {
	f, old := blockBuilder{index: s.state.folded}, s.state.folded.Blocks
	if f.index.Blocks = nil; len(old) == 0 {
		old = []recordBlock{{}}
	}
	for i, b := range old {
		more := records
		if i+1 < len(old) {
			n, _ := slices.BinarySearchFunc(records, old[i+1].First, func(r Record, key string) int { return strings.Compare(r.String(), key) })
			more = records[:n]
		}
		if records = records[len(more):]; len(more) > 0 {
			if err := s.rewriteBlock(ctx, &f, b, more); err != nil {
				return f.index, err
			}
		} else if b.ID != "" {
			f.index.Blocks = append(f.index.Blocks, b)
		}
	}
	return f.index, s.createBlocks(ctx, &f)
}

// rewriteBlock makes blocks of the records that a block has, if there is one, and more.
func (s *logStore) rewriteBlock(ctx context.Context, f *blockBuilder, b recordBlock, more []Record) error {
	var all []foldedRecord
	if b.ID != "" {
		var err error
		if all, err = s.readBlock(ctx, b); err != nil {
			return err
		}
	}
	f.sum += sumOf(all)
	for _, rec := range more {
		text, err := encodeLine(rec)
		if err != nil {
			return err
		}
		r := foldedRecord{rec, text}
		f.add(r, 1)
		i, again := slices.BinarySearchFunc(all, rec.String(), compareFolded)
		if again { // an import has replaced it
			f.add(all[i], -1)
			all[i] = r
		} else {
			all = slices.Insert(all, i, r)
		}
	}
	parts := (len(all) + maxInBlock - 1) / maxInBlock
	for part := range slices.Chunk(all, (len(all)+parts-1)/parts) {
		made := recordBlock{ID: uuid.NewString(), First: part[0].String(), Records: len(part)}
		content, err := encodeBlock(made.ID, part, !s.inGit)
		if err != nil {
			return err
		}
		f.made, f.index.Blocks = append(f.made, made), append(f.index.Blocks, made)
		f.files = append(f.files, blob.Blob{Name: made.fileName(), Content: content, Note: "fold"})
	}
	return nil
}

// createBlocks creates the blocks, and reads them, because what they lack is lost with the next fold.
func (s *logStore) createBlocks(ctx context.Context, f *blockBuilder) error {
	if len(f.files) == 0 {
		return nil
	}
	if err := s.folded.Prepare(ctx); err != nil {
		return err
	}
	if err := s.folded.Create(ctx, f.files...); err != nil {
		return err
	}
	var sum uint64
	for _, b := range f.made {
		records, err := s.readBlock(ctx, b)
		if err != nil {
			return err
		}
		sum += sumOf(records)
	}
	if sum != f.sum {
		return errors.New("folded records are not those of the log: this is a bug")
	}
	return nil
}
