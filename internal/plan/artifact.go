package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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

// itemsField is read and written an item at a time: together they are many times the text.
const itemsField = "items"

// Encode returns the file of a plan, which must be one of Shown: canonical JSON with a checksum over
// all of it, and a newline.
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
	none := canon.Sum{}.String()
	fields[checksumField] = none
	var text bytes.Buffer
	stream(&text, fields, itemsField, len(p.Items), func(i int) any { return tree(&p.Items[i]) })
	if failed != nil {
		return nil, fmt.Errorf("write a plan: %w", failed)
	}
	before, behind, _ := bytes.Cut(text.Bytes(), checksumMember(none))
	b := slices.Concat(before, checksumMember(checksum(before, behind)), behind, []byte("\n"))
	if len(b) > MaxFile {
		return nil, fmt.Errorf("the plan is larger than %d MiB: narrow it with --target", MaxFile>>20)
	}
	return b, nil
}

// checksumMember is unlike any text before it, because quotes in texts are escaped.
func checksumMember(sum string) []byte { return []byte(`"` + checksumField + `":"` + sum + `",`) }

// checksum is the digest of what is before and behind the member.
func checksum(before, behind []byte) string {
	h := sha256.New()
	h.Write(before)
	h.Write(behind)
	return canon.Sum(h.Sum(nil)).String()
}

// Decode reads the file of a plan, and rejects any byte that Encode did not write. That proves no
// origin: whoever writes a file can write a checksum. Apply never sends what Decode returns.
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
	sum, _ := fields[checksumField].(string)
	before, behind, found := bytes.Cut(bytes.TrimSuffix(file, []byte("\n")), checksumMember(sum))
	if !found || sum != checksum(before, behind) {
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

// apart takes the items out of the text of a plan. It returns any other text as it is.
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

// canonical reports whether a file, its items and the rest have the canonical form.
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

// checkFormat rejects what is not of this version of the form.
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

// Of reports whether the plan was made from exactly these manifests. An offline plan matches all.
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
