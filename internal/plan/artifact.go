package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/internal/canon"
)

// MaxFile bounds the file of a plan, in bytes.
const MaxFile = 64 << 20

// checksumField is the member of a plan's file that the checksum stands in.
const checksumField = "checksum"

// Encode returns the file of a plan that was made at the time: canonical JSON
// with a checksum over all of it, and a newline. The plan must be one that may be
// shown (Shown).
func Encode(p *Plan, at time.Time) ([]byte, error) {
	kept := *p
	kept.CreatedAt = at.UTC().Truncate(time.Second)
	v, err := canon.Decode([]byte(mustEncode(kept)))
	if err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	tree := v.(map[string]any)
	tree[checksumField] = canon.Digest(canon.Bytes(tree)).String()
	b := append(canon.Bytes(tree), '\n')
	if len(b) > MaxFile {
		return nil, fmt.Errorf("the plan is larger than %d MiB: narrow it with --target", MaxFile>>20)
	}
	return b, nil
}

// Decode reads the file of a plan, and refuses one of which any byte is not as
// Encode wrote it. That proves no origin: whoever writes a file can write a
// checksum. Nothing that is read here is ever sent.
func Decode(file []byte) (*Plan, error) {
	if len(file) > MaxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	v, err := canon.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON that trueup wrote: %w", err)
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is no plan: it is not a JSON object")
	}
	if err := checkFormat(tree); err != nil {
		return nil, err
	}
	if err := checkBytes(file, tree); err != nil {
		return nil, err
	}
	var p Plan
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("it is no plan: %w", err)
	}
	return &p, p.check()
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
		return fmt.Errorf("its form is %.60q, and this is a program for %s: use the one that made it, %.60q", format, Format, tool)
	case strings.HasPrefix(format, "trueup.result/"):
		return errors.New("it is a result (-o json), and no plan: write one with plan --out FILE")
	}
	return fmt.Errorf("it is no plan: its format is not %s", Format)
}

// checkBytes refuses a file of which a byte was changed.
func checkBytes(file []byte, tree map[string]any) error {
	canonical := append(canon.Bytes(tree), '\n')
	if !bytes.Equal(file, canonical) {
		return errors.New("it was changed since it was written: its bytes are not in the canonical form")
	}
	checksum, _ := tree[checksumField].(string)
	delete(tree, checksumField)
	if canon.Digest(canon.Bytes(tree)).String() != checksum {
		return errors.New("it was changed since it was written, or is damaged: its checksum is another")
	}
	return nil
}

// check holds what every plan that Make returns has.
func (p *Plan) check() error {
	for i := range p.Items {
		it := &p.Items[i]
		if it.Request != nil && string(it.Request.Body) == "null" {
			it.Request.Body = nil
		}
		requests := sends(it.Op) || it.Op == Delete
		switch {
		case !slices.Contains(ops(), it.Op):
			return fmt.Errorf("it is no plan: the operation %.60q of %.300s is unknown", it.Op, it.Key)
		case requests != (it.Request != nil):
			return fmt.Errorf("it is no plan: %.300s is to %s, and its request does not go with that", it.Key, it.Op)
		case (it.Op == Post || it.Op == Deferred) && it.Purge == nil:
			return fmt.Errorf("it is no plan: it does not say what %.300s is about", it.Key)
		}
	}
	if p.Digest != p.digest() {
		return fmt.Errorf("its digest is not that of what it says; it was made by %.60q", p.Tool)
	}
	return nil
}

func ops() []Op {
	return []Op{None, Create, Patch, Post, Delete, Blocked, InFlight, Kept, Deferred}
}
