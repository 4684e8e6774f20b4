package cli

import (
	"strings"
	"testing"
)

func TestExplainOffersTheNearestField(t *testing.T) {
	for topic, want := range map[string]string{
		"CDN.spec.tls.froced":             "did you mean forced?",
		"cdn.spec.locations.cache.edgTTL": "did you mean edgeTTL?",
		"CDN.spce.tls":                    "did you mean spec?",
		"CDN.spec.tls.forced.x":           "has no field",
	} {
		if _, err := explain(topic); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", topic, want, err)
		}
	}
}
