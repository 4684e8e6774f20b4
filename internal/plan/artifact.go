package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"trueup/internal/canon"
	"trueup/internal/manifest"
)

// MaxFile bounds the file of a plan, in bytes.
const MaxFile = 64 << 20

// checksumField is the member of a plan's file with the checksum.
const checksumField = "checksum"

// itemsField is the member that is read and written an item at a time: all of
// them together are many times the text.
const itemsField = "items"

// Encode returns the file of a plan that was made at the time: canonical JSON
// with a checksum over all of it, and a newline. The plan must be one that may be
// shown (Shown).
func Encode(p *Plan, at time.Time) ([]byte, error) {
	kept := *p
	kept.CreatedAt = at.UTC().Truncate(time.Second)
	kept.Items = kept.Items[:0]
	var failed error
	tree := func(v any) any {
		t, err := canon.Decode([]byte(mustEncode(v)))
		failed = cmp.Or(failed, err)
		return t
	}
	fields, _ := tree(kept).(map[string]any)
	var text bytes.Buffer
	stream(&text, fields, itemsField, len(p.Items), func(i int) any { return tree(&p.Items[i]) })
	if failed != nil {
		return nil, fmt.Errorf("write a plan: %w", failed)
	}
	b := append(checked(text.Bytes(), fields), '\n')
	if len(b) > MaxFile {
		return nil, fmt.Errorf("the plan is larger than %d MiB: narrow it with --target", MaxFile>>20)
	}
	return b, nil
}

// checked is the text of an object of these fields with its checksum in it.
func checked(text []byte, fields map[string]any) []byte {
	return slices.Insert(text, beforeChecksum(fields), checksumMember(canon.Digest(text).String())...)
}

// checksumMember is the member as it stands among others.
func checksumMember(checksum any) []byte {
	return append(canon.Append([]byte(`"`+checksumField+`":`), checksum), ',')
}

// beforeChecksum is how much of a canonical text of these fields stands before
// the checksum.
func beforeChecksum(fields map[string]any) int {
	before := maps.Clone(fields)
	maps.DeleteFunc(before, func(name string, _ any) bool { return name >= checksumField })
	if len(before) == 0 {
		return len("{")
	}
	return len(canon.Bytes(before)) // the text goes on with a comma where that ends the object
}

// Decode reads the file of a plan, and rejects one with any byte that Encode did not
// write. That proves no origin: whoever writes a file can write a checksum. Apply
// never sends what Decode returns.
func Decode(file []byte) (*Plan, error) {
	if len(file) > MaxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	rest, items := apart(file)
	v, err := canon.Decode(rest)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON that trueup wrote: %w", err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a plan: it is not a JSON object")
	}
	if err := checkFormat(fields); err != nil {
		return nil, err
	}
	if !canonical(file, rest, fields, items) {
		return nil, errors.New("it was changed: its bytes are not in the canonical form")
	}
	if checksum, _ := fields[checksumField].(string); checksum != checksumOf(file, fields) {
		return nil, errors.New("it was changed or damaged: its checksum does not match")
	}
	var p Plan
	err = decode(rest, &p)
	if len(items) > 0 {
		p.Items = make([]Item, len(items))
	}
	for i := range items {
		err = cmp.Or(err, decode(items[i], &p.Items[i]))
	}
	if err != nil {
		return nil, fmt.Errorf("it is not a plan: %w", err)
	}
	p.Weigh() // the file does not decide that
	return &p, p.check()
}

func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// apart takes the items out of the text of a plan. What is no list of items is
// left as it is.
func apart(file []byte) (rest []byte, items [][]byte) {
	var value json.RawMessage
	d := json.NewDecoder(bytes.NewReader(file))
	if open, _ := d.Token(); open != json.Delim('{') {
		return file, nil
	}
	for d.More() {
		switch name, err := d.Token(); {
		case err != nil || name != itemsField && d.Decode(&value) != nil:
			return file, nil
		case name != itemsField:
			continue
		}
		if open, _ := d.Token(); open != json.Delim('[') {
			return file, nil
		}
		start := d.InputOffset()
		for d.More() {
			if d.Decode(&value) != nil {
				return file, nil
			}
			end := int(d.InputOffset())
			items = append(items, file[end-len(value):end])
		}
		return slices.Concat(file[:start], file[d.InputOffset():]), items
	}
	return file, nil
}

// canonical reports whether a file, its items and the rest of it are the canonical
// form of what they say.
func canonical(file, rest []byte, fields map[string]any, items [][]byte) bool {
	size := len(rest) + max(0, len(items)-1) // commas
	for _, item := range items {
		size += len(item)
		if v, err := canon.Decode(item); err != nil || !bytes.Equal(canon.Bytes(v), item) {
			return false
		}
	}
	return size == len(file) && bytes.Equal(append(canon.Bytes(fields), '\n'), rest)
}

// checkFormat refuses what is not of this version of the form.
func checkFormat(tree map[string]any) error {
	format, _ := tree["format"].(string)
	name, version, _ := strings.Cut(format, "/")
	ours, _, _ := strings.Cut(Format, "/")
	switch {
	case format == Format:
		return nil
	case name == ours && version != "":
		tool, _ := tree["tool"].(string)
		return fmt.Errorf("its format is %.60q, and this program reads %s: use the version that made it, %.60q", format, Format, tool)
	case strings.HasPrefix(format, "trueup.result/"):
		return errors.New("it is a result (-o json), not a plan: write one with plan --out FILE")
	}
	return fmt.Errorf("it is not a plan: its format is not %s", Format)
}

// checksumOf is the digest of a file without its checksum and its last newline.
func checksumOf(file []byte, fields map[string]any) string {
	at := beforeChecksum(fields)
	behind := at + len(checksumMember(fields[checksumField]))
	if behind >= len(file) {
		return "" // it has nothing else
	}
	h := sha256.New()
	h.Write(file[:at])
	h.Write(file[behind : len(file)-1])
	return canon.Sum(h.Sum(nil)).String()
}

// Of reports whether the plan was made from exactly these manifests. An offline plan
// does not record its manifests, and matches all.
func (p *Plan) Of(set *manifest.Set) bool {
	return p.Manifests == nil || *p.Manifests == *setDigest(set)
}

// check holds what every plan that Make returns has.
func (p *Plan) check() error {
	for i := range p.Items {
		it := &p.Items[i]
		if it.Request != nil && string(it.Request.Body) == "null" {
			it.Request.Body = nil
		}
		requests := it.Op.sends() || it.Op == Delete
		switch {
		case !slices.Contains([]Op{None, Create, Patch, Post, Delete, Blocked, InFlight, Kept, Deferred}, it.Op):
			return fmt.Errorf("it is not a plan: the operation %.60q of %.300s is unknown", it.Op, it.Key)
		case requests != (it.Request != nil):
			return fmt.Errorf("it is not a plan: %.300s is to %s, and its request does not match", it.Key, it.Op)
		case (it.Op == Post || it.Op == Deferred) && it.Purge == nil:
			return fmt.Errorf("it is not a plan: it does not say what %.300s is", it.Key)
		}
	}
	if p.Digest != p.digest() {
		return fmt.Errorf("its digest does not match its content; it was made by %.60q", p.Tool)
	}
	return nil
}
