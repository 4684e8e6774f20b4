package manifest

import (
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestReadsAsYAMLSays has texts that parsers of YAML read in two ways: each is read as YAML 1.2 says, or refused.
func TestReadsAsYAMLSays(t *testing.T) {
	for text, want := range map[string]string{
		"a: &x {b: 1}\nc: &y {b: 2}\nd: {<<: *x, <<: *y}\n": "refused",
		"a: &x 1\n---\nb: *x\n":                             "refused",
		"{?foo: bar}\n":                                     "refused",
		"[?foo: bar]\n":                                     "refused",
		"[?foo]\n":                                          "refused",
		"- ?foo\n":                                          `["?foo"]`,
		"{? foo : bar}\n":                                   `{"foo":"bar"}`,
		"a: &x:1 b\n":                                       "refused",
		"a: ! 12\n":                                         "refused",
		"a: !\n":                                            "refused",
		"a: [b:]\n":                                         "refused",
		"a: {b:}\n":                                         "refused",
		"a: |\n  b":                                         `{"a":"b\n"}`,
		"a: |\n  b\n":                                       `{"a":"b\n"}`,
		"a: |\n  b\n\n\n":                                   `{"a":"b\n"}`,
		"a: |\n  b\n  ":                                     `{"a":"b\n"}`,
		"a: >\n  b\n  c\n":                                  `{"a":"b c\n"}`,
		"a: >\n  b\n  c":                                    `{"a":"b c\n"}`,
		"a: |+\n  b\n\n":                                    `{"a":"b\n\n"}`,
		"a: |+\n  b\n\n  ":                                  `{"a":"b\n\n\n"}`,
		"a: |\n  b\n # c":                                   `{"a":"b\n"}`,
		"a: !!int 1.5\n":                                    "refused",
		"a: !!float 1\n":                                    "refused",
		"a: 1e3\n":                                          `{"a":1000}`,
		"a: |\n  \tb\n":                                     `{"a":"\tb\n"}`,
		"a: |2\n  \tb\n":                                    `{"a":"\tb\n"}`,
		"{\"a\"\n: 1}\n":                                    `{"a":1}`,
		"{\"a\": {\"b\" \n\n  :[1]}}\n":                     `{"a":{"b":[1]}}`,
		"a: 0e400\n":                                        `{"a":0}`,
	} {
		f := &FileState{Path: "in.yaml", Lines: LineIndex{Data: []byte(text)}, MaxValues: 1 << 20}
		var c converter
		got := ""
		f.EachDocument(func(n *yaml.Node) {
			c.reset(f)
			c.convertValue(n.Content[0], n.Content[0], nil)
			got += string(c.out.json)
		})
		if f.Findings.HasErrors() {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q is read as %s, not as %s", text, got, want)
		}
	}
}
