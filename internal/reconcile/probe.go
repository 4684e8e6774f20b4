package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"trueup/internal/api"
	"trueup/internal/kind"
	"trueup/internal/ledger"
	"trueup/internal/manifest"
)

// Probe returns a harmless purge of a kind for a hostname: its path does not exist. Session.Prove sends it again.
func Probe(k *kind.Kind, hostname string) (kind.Key, manifest.Source, error) {
	name := "trueup-probe-" + uuid.NewString()[:8]
	text, err := json.Marshal(map[string]any{
		"apiVersion": k.APIVersion, "kind": k.Name, "metadata": map[string]any{"name": name},
		"spec": map[string]any{"hostname": hostname, "paths": []string{"/.well-known/" + name}},
	})
	return kind.Key{Kind: k.Name, Name: name}, manifest.Source{Data: text, Display: "--probe-duplicates"}, err
}

// Prove sends the request of a key again, which the platform has accepted (docs/design.md 0.7). It records
// that the platform refused the duplicate. Any other answer is an error, and proves nothing.
func (s *Session) Prove(ctx context.Context, k *kind.Kind, key kind.Key, body []byte) (proof ledger.Proof, err error) {
	client := s.Platform.Client(0)
	defer client.Close()
	records, err := s.Ledger.Look(ctx, []kind.Key{key})
	if err != nil {
		return proof, err
	}
	if err := client.Turn(ctx, k); err != nil {
		return proof, err
	}
	now, err := s.Clock(client)(ctx, k)
	if err != nil {
		return proof, fmt.Errorf("the platform's time: %w", err)
	}
	if first := records[key].FirstClaimAt; first == nil || !s.View().Terms[k.Area].MaySend(*first, now) {
		return proof, fmt.Errorf("nothing was proven: %s was sent only once, because this run was paused for too long", key)
	}
	_, err = client.Create(ctx, k, body)
	var refused *api.Error
	switch {
	case err == nil:
		return proof, fmt.Errorf("the platform accepted %s a second time, so it may execute duplicates: trueup will keep asking a person about requests that got no answer", key)
	case !errors.As(err, &refused) || refused.Class != api.Taken:
		return proof, fmt.Errorf("the second %s was not refused as a duplicate; if this answer means a duplicate, describe it in purge.duplicate of trueup.yaml: %w", key, err)
	}
	proof = ledger.Proof{At: now.Now.UTC(), Name: key.Name, HTTP: refused.Status, By: s.env.Claim().Actor}
	return proof, s.Ledger.Prove(ctx, k.Area, proof)
}
