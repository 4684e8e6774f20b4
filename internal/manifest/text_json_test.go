package manifest

import "testing"

// TestEscapesOutsideJSONAreAsTheyAre: in YAML a backslash may be just that, and half
// a character is left to the parser of YAML.
func TestEscapesOutsideJSONAreAsTheyAre(t *testing.T) {
	for _, text := range []string{
		`a: \/`, `{a: '\/'}`, "{\"a\": '\\/'}", `{"a": "\ud83d"}`, `{"a": "\ude00\ud83d"}`, "{\"a\": 1} # \\/\n",
	} {
		if got := joinSurrogates([]byte(text)); string(got) != text {
			t.Errorf("%s is read as %s", text, got)
		}
	}
	for text, want := range map[string]string{`{"a": "\\/"}`: `\/`, `{"a": "\\ud83d\\ude00"}`: `\ud83d\ude00`} {
		f := NewFileState("", []byte(text))
		if docs := f.DocumentNodes(); len(f.Findings) > 0 || docs[0].Content[0].Content[1].Value != want {
			t.Errorf("%s is read as %v, %v", text, docs, f.Findings)
		}
	}
}
