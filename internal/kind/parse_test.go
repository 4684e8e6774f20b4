package kind

import (
	"strings"
	"testing"
)

func TestParseSchemaRefuses(t *testing.T) {
	for doc, want := range map[string]string{
		`{`:                          "unexpected end",
		`{"type":"tuple"}`:           `unknown type "tuple"`,
		`{"type":["string","null"]}`: "cannot unmarshal",
		`{"properties":{"a":{"$ref":"other.json"}}}`:                         `$ref "other.json" is not a definition`,
		`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":1}}}`: `field "a"`,
		`{"properties":{"a":{"items":{"type":"tuple"}}}}`:                    `field "a": field "": unknown type`,
		`{"properties":{"a":3}}`:                                             `field "a"`,
	} {
		if _, err := parseSchema([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", doc, err, want)
		}
	}
}

// TestFlagsHoldBelow: what is said of an object holds for its fields and for
// the elements of its lists, and not beside it.
func TestFlagsHoldBelow(t *testing.T) {
	root, err := parseSchema([]byte(`{"properties":{
		"a":{"x-trueup-readonly":true,"x-trueup-sensitive":true,"properties":{"b":{"items":{"properties":{"c":{}}}}}},
		"d":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, ok := root.FieldAt([]string{"a", "b[]", "c"})
	if !ok || !c.ReadOnly || !c.Sensitive || c.Immutable || c.NotSent {
		t.Errorf("a.b[].c is %+v", c)
	}
	if d := root.Fields["d"]; d.ReadOnly || d.Sensitive || d.Risk != NoRisk {
		t.Errorf("d is %+v", d)
	}
}

func TestSchemaThatIsNotEmbeddedIsAFaultOfTheProgram(t *testing.T) {
	for _, name := range []string{"none", "schemas.go"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			(&Kind{Name: name}).Root()
		}()
	}
}
