package scaffold

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"trueup/internal/kind"

	"github.com/tailscale/hujson"
)

func plainJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	std, err := hujson.Standardize([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var v map[string]any
	if err := json.Unmarshal(std, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// TestSettingsKeepWhatIsThere: one setting is added, with everything else of the
// text as it was, comments and all; and a second time nothing is.
func TestSettingsKeepWhatIsThere(t *testing.T) {
	edit := editSettings("envs/prod", []string{"envs/prod/trueup.yaml", "envs/prod/m/**/*.yaml"})
	const its = `"./envs/prod/.trueup.schema.json": ["envs/prod/trueup.yaml", "envs/prod/m/**/*.yaml"]`
	for name, tt := range map[string]struct{ was, want string }{
		"nothing":       {"", "{\n    \"yaml.schemas\": {\n        " + its + "\n    }\n}\n"},
		"an empty one":  {"{}", "{\n    \"yaml.schemas\": {\n        " + its + "\n    }\n}"},
		"only a remark": {"{\n  // nothing yet\n}\n", "{\n  // nothing yet\n    \"yaml.schemas\": {\n        " + its + "\n    }\n}\n"},
		"comments": {
			"// ours\n{\n  /* a */ \"a\": 1, // one\n  \"b\": [1, 2] // two\n  // the end\n}\n// after\n",
			"// ours\n{\n  /* a */ \"a\": 1, // one\n  \"b\": [1, 2], // two\n  // the end\n  \"yaml.schemas\": {\n    " + its + "\n  }\n}\n// after\n",
		},
		"a comma at the end": {
			"{\n\t\"a\": 1, // one\n}\n",
			"{\n\t\"a\": 1, // one\n\t\"yaml.schemas\": {\n\t\t" + its + "\n\t},\n}\n",
		},
		"one line":           {`{ "a": 1 }`, `{ "a": 1, "yaml.schemas": {` + its + `} }`},
		"one line, remarked": {"{\"a\": 1 // x\n}", "{\"a\": 1, // x\n    \"yaml.schemas\": {\n        " + its + "\n    }\n}"},
		"lines of Windows":   {"{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"yaml.schemas\": {\r\n    " + its + "\r\n  }\r\n}\r\n"},
		"other schemas": {
			"{\n  \"yaml.schemas\": {\n    \"./k8s.json\": \"k8s/*.yaml\" // theirs\n  },\n  \"z\": {}\n}\n",
			"{\n  \"yaml.schemas\": {\n    \"./k8s.json\": \"k8s/*.yaml\", // theirs\n    " + its + "\n  },\n  \"z\": {}\n}\n",
		},
		"no schemas yet": {"{\n  \"yaml.schemas\": {}\n}\n", "{\n  \"yaml.schemas\": {\n      " + its + "\n  }\n}\n"},
		"ours, by hand": {
			"{\"yaml.schemas\": {\"./envs/prod/.trueup.schema.json\": \"mine/*\"}}",
			"{\"yaml.schemas\": {\"./envs/prod/.trueup.schema.json\": \"mine/*\"}}",
		},
	} {
		got, err := edit([]byte(tt.was))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, tt.want)
			continue
		}
		again, err := edit(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: again: %v\n%s", name, err, again)
		}
		now := plainJSON(t, string(got))
		for field, value := range plainJSON(t, cmp.Or(tt.was, "{}")) {
			if field != schemasSetting && !reflect.DeepEqual(now[field], value) {
				t.Errorf("%s: %s was %v and is %v", name, field, value, now[field])
			}
		}
	}
}

func TestSettingsThatAreNotUnderstoodStay(t *testing.T) {
	for _, was := range []string{"[]", "{", "{]", `{"yaml.schemas": []}`, "\xef\xbb\xbf{}", `{"a": 'b'}`, strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<17)} {
		if got, err := editSettings(".", nil)([]byte(was)); err == nil {
			t.Errorf("%.60s became %.60s", was, got)
		}
	}
	for _, was := range []string{"3", `{"recommendations": {}}`} {
		if got, err := editExtensions([]byte(was)); err == nil {
			t.Errorf("%.60s became %.60s", was, got)
		}
	}
}

func TestExtensionsAreRecommendedOnce(t *testing.T) {
	for was, want := range map[string]string{
		"": "{\n    \"recommendations\": [\"redhat.vscode-yaml\"]\n}\n",
		"{\n  // why\n  \"recommendations\": [\n    \"golang.go\", // Go\n  ],\n}\n": "{\n  // why\n  \"recommendations\": [\n    \"golang.go\", // Go\n    \"redhat.vscode-yaml\",\n  ],\n}\n",
		`{"recommendations": []}`:                                  "{\"recommendations\": [\n    \"redhat.vscode-yaml\"\n]}",
		`{"recommendations": ["Redhat.VSCode-YAML"]}`:              `{"recommendations": ["Redhat.VSCode-YAML"]}`,
		`{"unwantedRecommendations": ["redhat.vscode-yaml"]}`:      `{"unwantedRecommendations": ["redhat.vscode-yaml"]}`,
		`{"recommendations": ["a"], "unwantedRecommendations": 3}`: `{"recommendations": ["a", "redhat.vscode-yaml"], "unwantedRecommendations": 3}`,
	} {
		got, err := editExtensions([]byte(was))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", was, err, got, want)
		}
	}
}

// FuzzSettings: whatever can be read is added to, and means the same besides.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"{}", "{\"a\": [1,], // x\n}", "{\"yaml.schemas\": {\"a\": {\"b\": 1}}}", "/**/{/**/}//"} {
		f.Add([]byte(seed))
	}
	edit := editSettings(".", []string{"a", "b"})
	f.Fuzz(func(t *testing.T, was []byte) {
		got, err := edit(was)
		if err != nil {
			return
		}
		now := plainJSON(t, string(got))
		schemas, _ := now[schemasSetting].(map[string]any)
		if schemas["./.trueup.schema.json"] == nil {
			t.Fatalf("%q became %q", was, got)
		}
		if again, err := edit(got); err != nil || string(again) != string(got) {
			t.Fatalf("%q became %q and then %q, %v", was, got, again, err)
		}
		if len(strings.TrimSpace(string(was))) == 0 {
			return
		}
		before := plainJSON(t, string(was))
		old, _ := before[schemasSetting].(map[string]any)
		for name, value := range old {
			if !reflect.DeepEqual(schemas[name], value) {
				t.Fatalf("%q became %q", was, got)
			}
		}
		delete(before, schemasSetting)
		delete(now, schemasSetting)
		if !reflect.DeepEqual(before, now) {
			t.Fatalf("%q became %q", was, got)
		}
	})
}

func TestIgnoredLinesAreAddedOnce(t *testing.T) {
	edit := editIgnored("file:ledger")
	for was, want := range map[string]string{
		"":                       "/.trueup/\n/ledger/\n",
		"*.bak":                  "*.bak\n/.trueup/\n/ledger/\n",
		"a\r\n.trueup\r\n":       "a\r\n.trueup\r\n/ledger/\r\n",
		"/.trueup/\n ledger/ \n": "/.trueup/\n ledger/ \n",
		"# .trueup/\n":           "# .trueup/\n/.trueup/\n/ledger/\n",
	} {
		if got, err := edit([]byte(was)); err != nil || string(got) != want {
			t.Errorf("%q became %q, %v", was, got, err)
		}
	}
}

// TestSchemaInAnotherLayoutIsTheSame: who formats every file of a repository and
// who runs init change nothing of each other.
func TestSchemaInAnotherLayoutIsTheSame(t *testing.T) {
	var dense bytes.Buffer
	if err := json.Compact(&dense, kind.EditorSchema()); err != nil {
		t.Fatal(err)
	}
	got, err := editSchema(dense.Bytes())
	if err != nil || !bytes.Equal(got, dense.Bytes()) {
		t.Errorf("it was written anew: %v", err)
	}
}
