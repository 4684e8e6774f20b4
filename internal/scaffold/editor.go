package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"trueup/internal/kind"
)

// The settings files of VS Code in a repository, and the names to write into them.
const (
	settingsFile   = ".vscode/settings.json"
	extensionsFile = ".vscode/extensions.json"
	schemasSetting = "yaml.schemas"
	recommended    = "recommendations"
	unwanted       = "unwantedRecommendations"
	yamlExtension  = "redhat.vscode-yaml"
)

// editSchema updates the schema, unless somebody edited it.
func editSchema(was []byte) ([]byte, error) {
	switch unedited, current := kind.CheckEditorSchema(was); {
	case current:
		return was, nil
	case was != nil && !unedited:
		return nil, errors.New("it was edited by hand")
	}
	return kind.EditorSchema(), nil
}

// editSettings makes VS Code use the schema for the files that match patterns. folder is that of the
// project in the repository. It keeps an existing setting for the schema.
func editSettings(folder string, patterns []string) change {
	return func(was []byte) ([]byte, error) {
		doc, err := parseCommented(was)
		if err != nil {
			return nil, err
		}
		file := "./" + path.Join(folder, kind.EditorSchemaFile)
		list := strings.ReplaceAll(jsonText(patterns), `","`, `", "`)
		all := doc.member(schemasSetting)
		if all == nil {
			return doc.add(doc.root, jsonText(schemasSetting)+": {\n\t"+jsonText(file)+": "+list+"\n}"), nil
		}
		schemas, ok := all.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s in it is not an object", schemasSetting)
		}
		if memberOf(schemas, file) != nil {
			return was, nil
		}
		return doc.add(*all, jsonText(file)+": "+list), nil
	}
}

// editExtensions makes VS Code recommend an extension for YAML, unless the file lists it as unwanted.
func editExtensions(was []byte) ([]byte, error) {
	doc, err := parseCommented(was)
	if err != nil {
		return nil, err
	}
	list := doc.member(recommended)
	switch {
	case hasText(list, yamlExtension) || hasText(doc.member(unwanted), yamlExtension):
		return was, nil
	case list == nil:
		return doc.add(doc.root, jsonText(recommended)+": ["+jsonText(yamlExtension)+"]"), nil
	}
	if _, ok := list.Value.(*hujson.Array); !ok {
		return nil, fmt.Errorf("%s in it is not a list", recommended)
	}
	return doc.add(*list, jsonText(yamlExtension)), nil
}

// commented is a JSON object with comments and trailing commas. An edit only adds to its text.
type commented struct {
	text []byte
	root hujson.Value
}

// maxBrackets limits the nesting of the text, because hujson has no limit and anybody can write the file.
const maxBrackets = 10_000

func parseCommented(text []byte) (commented, error) {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxBrackets {
		return commented{}, fmt.Errorf("it has more than %d lists and objects", maxBrackets)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n}\n")
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return commented{}, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return commented{}, errors.New("it is not a JSON object")
	}
	return commented{text, root}, nil
}

func (c commented) member(name string) *hujson.Value {
	root, _ := c.root.Value.(*hujson.Object)
	return memberOf(root, name)
}

// memberOf returns the value of the last member with the name, which is the effective one, or nil.
func memberOf(o *hujson.Object, name string) *hujson.Value {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if key, ok := o.Members[i].Name.Value.(hujson.Literal); ok && key.String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

func hasText(v *hujson.Value, text string) bool {
	if v == nil {
		return false
	}
	list, _ := v.Value.(*hujson.Array)
	return list != nil && slices.ContainsFunc(list.Elements, func(e hujson.Value) bool {
		word, ok := e.Value.(hujson.Literal)
		return ok && strings.EqualFold(word.String(), text)
	})
}

// add returns the text with what added as the last element of a list or member of an object. It is on its own
// line if the others are. In what, a tab means one step of indentation.
func (c commented) add(to hujson.Value, what string) []byte {
	first, last, comma := edges(to)
	shut := to.EndOffset - 1
	outer := c.indent(to.StartOffset)
	indent, alone, after := outer+"    ", true, to.StartOffset+1
	if last > 0 {
		after = last
		if alone = bytes.Contains(c.text[to.StartOffset:first], []byte("\n")); alone {
			indent = c.indent(first)
		}
	}
	// Keep a comment that follows the last element.
	kept := bytes.TrimRight(c.text[after:shut], " \t\r\n")
	rest := c.text[after+len(kept) : shut]
	alone = alone || bytes.Contains(kept, []byte("//"))
	end := lineEnd(c.text)
	before, behind := " ", ""
	if alone {
		before = end + indent
		step := strings.TrimPrefix(indent, outer)
		what = strings.NewReplacer("\n", end+indent, "\t", step).Replace(what)
		if !bytes.Contains(rest, []byte("\n")) {
			rest = []byte(end + outer)
		}
	} else {
		what = strings.NewReplacer("\n", "", "\t", "").Replace(what)
	}
	if comma {
		behind = ","
	}
	out := bytes.Clone(c.text[:after])
	if last > 0 && !comma {
		out = append(out, ',')
	}
	out = append(append(out, kept...), before+what+behind...)
	return append(append(out, rest...), c.text[shut:]...)
}

// edges returns where the first element of a list, or member of an object, starts, and where the last
// one ends; both are 0 if there is none. comma reports whether a comma follows the last one.
func edges(v hujson.Value) (first, last int, comma bool) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		if n := len(v.Members); n > 0 {
			end := v.Members[n-1].Value
			return v.Members[0].Name.StartOffset, end.EndOffset, end.AfterExtra != nil
		}
	case *hujson.Array:
		if n := len(v.Elements); n > 0 {
			end := v.Elements[n-1]
			return v.Elements[0].StartOffset, end.EndOffset, end.AfterExtra != nil
		}
	}
	return 0, 0, false
}

func (c commented) indent(offset int) string {
	line := c.text[bytes.LastIndexByte(c.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}
