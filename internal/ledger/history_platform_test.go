package ledger_test

import (
	"cmp"
	"fmt"
	"time"

	"trueup/internal/api"
	"trueup/internal/canon"
	"trueup/internal/kind"
)

// answer is what a platform, or the network before it, says instead of an object.
func answer(class api.ErrorClass, status int, text string) *api.Error {
	return &api.Error{Class: class, Status: status, Message: text}
}

func silence(text string) error { return answer(api.Unknown, 0, text) }
func unsent(text string) error  { return answer(api.Unsent, 0, text) }

func refusal(status int) error {
	class := map[int]api.ErrorClass{403: api.Denied, 404: api.Absent, 409: api.Taken}[status]
	return answer(cmp.Or(class, api.Rejected), status, "no")
}

// refuses is what a platform makes of a second request of a name.
type refuses int

// The ways of platforms: a conflict, one that shows the object, words that say
// nothing, a success with the object that was there, or none at all: it
// executes the request again.
const (
	byConflict refuses = iota
	byConflictShown
	byOtherWords
	bySuccess
	notAtAll
)

// platform is the documented platform in memory: it knows the names of purges
// for about 24 hours, and those of snapshots for ever.
type platform struct {
	refuses refuses
	now     func() time.Time
	// life is how long the name of the next purge is known.
	life func() time.Duration

	known map[kind.Key]kind.LiveObject
	until map[kind.Key]time.Time
	// ours counts how often a request of ours was executed, theirs those of
	// others.
	ours, theirs map[kind.Key]int
	count        int
}

func newPlatform(how refuses, now func() time.Time, life func() time.Duration) *platform {
	p := &platform{
		refuses: how, now: now, life: life,
		known: map[kind.Key]kind.LiveObject{}, until: map[kind.Key]time.Time{},
		ours: map[kind.Key]int{}, theirs: map[kind.Key]int{},
	}
	cdn, _ := kind.FindKind("CDN")
	shop := p.object(cdn, "shop", []byte(`{"hostname":"shop.example.com"}`))
	shop.Host = "shop.example.com"
	p.known[shop.Key()] = shop
	return p
}

func (p *platform) object(k *kind.Kind, name string, spec []byte) kind.LiveObject {
	p.count++
	o := kind.LiveObject{
		Kind: k, Name: name, Namespace: "acme", UID: fmt.Sprintf("uid-%d", p.count),
		CreationTimestamp: p.now().UTC().Format(time.RFC3339), Spec: spec, Digest: canon.Digest(spec),
	}
	if k.IsCreateOnly() {
		o.Status = []byte(`{"readyToUse":true}`)
	}
	return o
}

// executed tells how often a request of the name was executed, whoever sent it.
func (p *platform) executed(key kind.Key) int { return p.ours[key] + p.theirs[key] }

// post is a request that has arrived.
func (p *platform) post(k *kind.Kind, name string, spec []byte, count map[kind.Key]int) (kind.LiveObject, error) {
	key := kind.Key{Kind: k.Name, Name: name}
	if old, ok := p.get(key); ok && p.refuses != notAtAll {
		switch p.refuses {
		case byConflictShown:
			shown := answer(api.Taken, 409, "exists")
			shown.Existing = &old
			return kind.LiveObject{}, shown
		case byOtherWords:
			return kind.LiveObject{}, refusal(422)
		case bySuccess:
			return old, nil
		case byConflict, notAtAll:
			return kind.LiveObject{}, refusal(409)
		}
	}
	count[key]++
	o := p.object(k, name, spec)
	if _, ok := p.get(key); ok && k.IsCreateOnly() {
		return o, nil // another object, which the name does not lead to
	}
	p.known[key] = o
	if k.IsRequestOnly() {
		p.until[key] = p.now().Add(p.life())
	}
	return o, nil
}

// meddle is a request of another client, with the same content. Two snapshots under
// one name would only ever be a person's to tell apart.
func (p *platform) meddle(k *kind.Kind, name string, spec []byte) {
	if k.IsRequestOnly() || p.refuses != notAtAll {
		_, _ = p.post(k, name, spec, p.theirs)
	}
}

// get is what the platform has of that name.
func (p *platform) get(key kind.Key) (kind.LiveObject, bool) {
	o, ok := p.known[key]
	end, ends := p.until[key]
	return o, ok && (!ends || p.now().Before(end))
}
