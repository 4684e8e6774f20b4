package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"trueup/internal/canon"
	"trueup/internal/kind"
)

// Client is a Reader that can also write. It sends every write once: whoever
// asked decides by the Error whether to ask again, and takes a Turn for each.
type Client struct {
	*Reader
	writes *http.Client
	limit  *rate.Limiter
}

// NewClient returns a Client that connects when it is first used.
func NewClient(cfg Config) *Client {
	r := newReader(cfg, newTransport)
	r.cfg.Retry.Failures = 0
	perSecond := r.cfg.WritesPerSecond
	limit := rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	if r.cfg.onLoopback() {
		limit.SetLimit(rate.Inf)
	}
	return &Client{Reader: r, writes: newHTTP(r.transport), limit: limit}
}

// Turn waits until the rate limit, and the pause that the platform may have
// asked for, let the next write of a kind go. No write waits by itself, so that
// nothing stands between a last look and the write that it is for (docs/design.md 0.8).
// Its error is a NotSent.
func (c *Client) Turn(ctx context.Context, k *kind.Kind) error {
	w, g := &call{kind: k, turn: true}, c.gates[k.Area]
	if err := c.shut(g, w); err != nil {
		return err
	}
	if err := c.limit.Wait(ctx); err != nil {
		e := w.unsent("waiting for the rate limit: %v", err)
		e.err = err
		return e
	}
	return c.await(ctx, g, w)
}

// Create makes an object (docs/platform.md 4 rows 3, 7 and 9). Any 2xx is success;
// where the answer does not show the object, only its name is returned. Where
// the object is of another name, or of another kind, it is not known what was
// made; but the platform may name a snapshot as it likes (docs/platform.md 1).
func (c *Client) Create(ctx context.Context, k *kind.Kind, body []byte) (kind.Object, error) {
	return c.write(ctx, kind.Create, k, nameOf(body), body)
}

// Patch sends a merge patch (docs/platform.md 4 row 8). Any 2xx is success; where
// the answer does not show the object, only its name is returned.
func (c *Client) Patch(ctx context.Context, k *kind.Kind, name string, body []byte) (kind.Object, error) {
	return c.write(ctx, kind.Patch, k, name, body)
}

// Delete removes an object (docs/platform.md 4 row 4). Success means accepted: the
// object may go on terminating for a while.
func (c *Client) Delete(ctx context.Context, k *kind.Kind, name string) error {
	_, err := c.write(ctx, kind.Delete, k, name, nil)
	return err
}

func (c *Client) write(ctx context.Context, verb kind.Verb, k *kind.Kind, name string, body []byte) (kind.Object, error) {
	w, err := c.newCall(verb, k, name)
	if err != nil {
		return kind.Object{}, err
	}
	w.body = body
	a, err := c.send(ctx, c.writes, w, 1)
	if err != nil {
		return kind.Object{}, err
	}
	defer a.close()
	if !isSuccess(a) {
		return kind.Object{}, c.answered(w, a)
	}
	answer, err := c.readBody(a)
	if err != nil {
		return kind.Object{}, w.unreadable(a, err, nil)
	}
	o, err := c.written(w, answer)
	if err != nil {
		return kind.Object{}, w.unreadable(a, err, head(answer))
	}
	return o, nil
}

// written reads the answer to a write that was accepted: the object, or any
// other JSON, or nothing. What is no JSON, is about another object, or says that
// it failed, leaves open what happened. The version is not looked at: the
// platform has two of one kind (docs/platform.md 2.3).
func (c *Client) written(w *call, body []byte) (kind.Object, error) {
	bare := kind.Object{Kind: w.kind, Name: w.name}
	if len(bytes.TrimSpace(body)) == 0 {
		return bare, nil
	}
	v, err := canon.Decode(body)
	if err != nil {
		return kind.Object{}, err
	}
	tree, ok := v.(map[string]any)
	if !ok || tree["kind"] == "Status" && tree["status"] != "Failure" {
		return bare, nil
	}
	if !holdsObject(tree) {
		if said := failureIn(tree); said != "" {
			return kind.Object{}, errors.New("the answer says that it failed: " + said)
		}
		if other := tree["kind"]; other != nil && other != w.kind.Name {
			return kind.Object{}, mismatchf("the answer is not a %s: %v", w.kind.Name, other)
		}
		return bare, nil
	}
	return c.shown(w, tree)
}

// shown reads the object that the answer to a write shows.
func (c *Client) shown(w *call, tree map[string]any) (kind.Object, error) {
	o, err := newObject(tree, w.kind, c.cfg.Workspace)
	if err == nil && o.Name != w.name && !w.renames() {
		err = mismatchf("the answer is about %s, not %s", o.Name, w.name)
	}
	return o, err
}

// renames reports whether the object may have another name than was asked for:
// the platform says so of what is made at a moment (docs/platform.md 1).
func (c *call) renames() bool { return c.verb == kind.Create && c.kind.CreateOnly() }

// holdsObject reports whether an answer names an object.
func holdsObject(tree map[string]any) bool {
	meta, _ := tree["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name != "" && tree["kind"] != "Status"
}

// failureIn returns what an answer without an object complains of, or "".
func failureIn(tree map[string]any) string {
	said := sentence(tree, 0)
	if tree["kind"] == "Status" {
		return cmp.Or(said, "status Failure")
	}
	for _, key := range []string{"success", "ok", "status", "code"} {
		if isFailure(tree[key]) {
			return cmp.Or(said, fmt.Sprintf("%s is %v", key, tree[key]))
		}
	}
	for _, key := range []string{"error", "errors"} {
		if sentence(tree[key], 0) != "" {
			return said
		}
	}
	return ""
}

// isFailure recognises how an answer says of itself that it failed: by false, by
// a word, or by a status as HTTP numbers them.
func isFailure(v any) bool {
	switch t := v.(type) {
	case bool:
		return !t
	case string:
		return slices.Contains([]string{"error", "fail", "failed", "failure"}, strings.ToLower(t))
	case json.Number:
		n, err := t.Int64()
		return err == nil && n >= http.StatusBadRequest && n <= 599
	}
	return false
}

// nameOf returns metadata.name of a body that is about to be sent.
func nameOf(body []byte) string {
	v, err := canon.Decode(body)
	if err != nil {
		return ""
	}
	tree, _ := v.(map[string]any)
	meta, _ := tree["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}
