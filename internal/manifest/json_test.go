package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"trueup/internal/canon"
)

// TestEscapesOfJSONAreReadInTheirPlace: whatever an encoder of JSON escapes, the
// values are what JSON says, and every key and value is found where it stands.
func TestEscapesOfJSONAreReadInTheirPlace(t *testing.T) {
	parts := rapid.SampledFrom([]string{"a", "é", "😀", "/", `\\`, `\/`, `\"`, `\u00e9`, `\u2028`, `\n`, `\ud83d\ude00`, `\uD834\uDD1E`, ": ", " #"})
	texts := rapid.SliceOfN(rapid.SliceOfN(parts, 0, 6), 1, 8)
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		var want []lineColumn
		put := func(s string) { text.WriteString(s) }
		here := func() lineColumn {
			before := text.String()
			last := strings.LastIndex(before, "\n") + 1
			return lineColumn{uint32(strings.Count(before, "\n") + 1), uint32(utf8.RuneCountInString(before[last:]) + 1)}
		}
		put("{")
		for i, parts := range texts.Draw(t, "texts") {
			s := strings.Join(parts, "")
			if i > 0 {
				put(rapid.SampledFrom([]string{",", ", ", ",\n  "}).Draw(t, "between"))
			}
			want = append(want, here())
			put(fmt.Sprintf(`"%d%s": `, i, s))
			want = append(want, here())
			put(`"` + s + `"`)
		}
		put("}")
		var value any
		if err := json.Unmarshal([]byte(text.String()), &value); err != nil {
			t.Fatalf("%s: %v", text.String(), err)
		}
		f := NewFileState("x.json", []byte(text.String()))
		var got []lineColumn
		f.EachDocument(func(n *yaml.Node) {
			for _, e := range n.Content[0].Content {
				got = append(got, lineColumn{uint32(e.Line), uint32(e.Column)})
			}
			var c converter
			c.reset(f)
			tree, _ := c.convertValue(n.Content[0], n.Content[0], nil).(map[string]any)
			if read := canon.Encode(tree); !bytes.Equal(read, canon.Encode(value)) {
				t.Fatalf("%s is read as %s", text.String(), read)
			}
		})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s\nhas %v\nwant %v\n%v", text.String(), got, want, f.Findings)
		}
	})
}
