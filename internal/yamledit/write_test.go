package yamledit

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"trueup/internal/kind"
	"trueup/internal/manifest"
)

// TestWhatIsWrittenIsReadAgain: the text of a draft is a sound manifest of the
// same spec.
func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	k, _ := kind.FindKind("cdn")
	spec := `{"hostname":"a.example.com","locations":[{"cache":{"edgeTTL":"060","level":"standard"},"path":"/*"}],"tls":{"forced":"true"}}`
	text, err := WriteManifest(Draft{Kind: k, Name: "on", Spec: []byte(spec), Schema: "cdn.schema.json", Head: []string{"From live.", ""}})
	if err != nil {
		t.Fatal(err)
	}
	set, findings, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: text, Display: "-"}}, manifest.LoadSettings{})
	if err != nil || len(findings) > 0 || len(set.Objects) != 1 {
		t.Fatalf("%s\n%v, %v, %d objects", text, err, findings, len(set.Objects))
	}
	if got := set.Objects[0]; got.Name != "on" || string(got.Spec) != spec {
		t.Errorf("%s\nis read as %s of %s", text, got.Name, got.Spec)
	}
}

// TestFieldsBeyondTheSchemaAreSilenced: what live has and the schema does not
// know is written without a warning, wherever it stands.
func TestFieldsBeyondTheSchemaAreSilenced(t *testing.T) {
	k, _ := kind.FindKind("cdn")
	spec := `{"aaa":{"x":1},"empty":{},"hostname":"a.example.com","lines":"a\nb","list":[1],` +
		`"locations":[{"action":"redirect","path":"/*","upstream":"o"}],"upstreams":[` +
		`{"hc2":{"downThreshold":3},"name":"o","scheme":"https","servers":[{"Aa":{"b":1},"host":"h","passive":true}]}]}`
	text, err := WriteManifest(Draft{Kind: k, Name: "a", Spec: []byte(spec), Silence: "live has it"})
	if err != nil {
		t.Fatal(err)
	}
	set, findings, err := manifest.Load(context.Background(), []manifest.PathSource{{Data: text, Display: "-"}}, manifest.LoadSettings{Strict: true})
	if err != nil || len(findings) > 0 || len(set.Objects) != 1 {
		t.Fatalf("%s\n%v, %v", text, err, findings)
	}
	if got := string(set.Objects[0].Spec); got != spec || len(set.Silenced) != 8 {
		t.Errorf("%s\nis read as %s, and %d findings are silenced", text, got, len(set.Silenced))
	}
}

// TestTextsAreTheSameForEveryReader: line ends that only some readers of YAML know
// are escapes, and what some take for another type has quotes.
func TestTextsAreTheSameForEveryReader(t *testing.T) {
	k, _ := kind.FindKind("cdn")
	text, err := WriteManifest(Draft{Kind: k, Name: "a", Spec: []byte(`{"hostname":"a","tls":{"forced":"a\u2028b","auto":"="}}`)})
	if err != nil || !strings.Contains(string(text), `forced: "a\Lb"`) || !strings.Contains(string(text), `auto: "="`) {
		t.Errorf("%v\n%s", err, text)
	}
	if again, err := Format(text); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%v\n%s", err, again)
	}
}
