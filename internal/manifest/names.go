package manifest

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"sync/atomic"

	"trueup/internal/kind"
)

// LoadNames finds the objects of manifests without reading all of each: they have a kind, a name, a host and
// a path. It is for completion: it skips what it can't read, and checks nothing.
func LoadNames(ctx context.Context, sources []PathSource, opts LoadSettings) *Set {
	opts.Limits = opts.Limits.orDefault()
	set := &Set{byKey: map[kind.Key]*Object{}}
	found, err := listSources(sources, opts.Limits)
	if err != nil {
		return set
	}
	all := make([][]*Object, len(found.texts))
	var total atomic.Int64
	EachFile(ctx, opts, len(all), func(o *outliner, i int) (more bool) {
		data, err := found.texts[i].readFast(opts.Limits.File, &o.buffer)
		fits := total.Add(int64(len(data))) <= opts.Limits.Total
		if err == nil && fits {
			all[i] = o.outline(data, found.texts[i].Path)
		}
		return fits
	})
	for _, objects := range all {
		for _, o := range objects {
			if set.byKey[o.Key()] == nil {
				set.byKey[o.Key()] = o
				set.Objects = append(set.Objects, o)
			}
		}
	}
	return set
}

// outliner finds the objects of texts, one after the other. It has the values of a document by path, and
// the section that its lines are in, whose fields have an indentation.
type outliner struct {
	buffer  []byte
	path    string
	objects []*Object
	values  map[string]string
	section string
	indent  int
	// found reports that objects has the one of this document.
	found bool
}

// outline finds the objects of a text by its lines. It parses a text in which they are not on lines of
// their own.
func (o *outliner) outline(data []byte, path string) []*Object {
	*o = outliner{buffer: o.buffer, path: path, values: o.values}
	o.beginDocument()
	for at, end := 0, 0; at < len(data); at = end {
		if end = at + bytes.IndexByte(data[at:], '\n') + 1; end == at {
			end = len(data)
		}
		if skip := o.found && data[at] != '-' && data[at] != '.'; !skip && !o.readLine(data[at:end]) {
			return parseObjects(data, path)
		}
	}
	o.endDocument()
	return o.objects
}

func (o *outliner) beginDocument() {
	if o.values == nil {
		o.values = map[string]string{}
	}
	clear(o.values)
	o.section, o.indent, o.found = "", 0, false
}

// readLine reads a line. It reports whether lines are enough to tell what the document has.
func (o *outliner) readLine(line []byte) bool {
	text := bytes.TrimLeft(line, " ")
	indent := len(line) - len(text)
	switch {
	case len(text) == 0 || strings.IndexByte("\r\n#", text[0]) >= 0:
	case indent > 0:
		o.readSectionLine(text, indent)
	case bytes.HasPrefix(line, []byte("---")):
		o.endDocument()
	default:
		o.section, o.indent = o.readField("", line), 0
		return 'a' <= line[0] && line[0] <= 'z' && o.values["metadata"] == "" && o.values["spec"] == ""
	}
	return true
}

// readSectionLine reads a line of a section.
func (o *outliner) readSectionLine(text []byte, indent int) {
	o.indent = cmp.Or(o.indent, indent)
	if indent == o.indent && (o.section == "metadata" || o.section == "spec") && strings.IndexByte("nh", text[0]) >= 0 {
		o.readField(o.section+".", text)
		o.addObject(false)
	}
}

// readField notes the value of a line, and returns the name of its field.
func (o *outliner) readField(of string, line []byte) string {
	name, value, _ := strings.Cut(string(line), ":")
	value, _, _ = strings.Cut(value, " #")
	if value = strings.Trim(value, " \r\n\"'"); value != "" {
		o.values[of+name] = value
	}
	return name
}

// addObject adds the object of the document, unless it has no name yet or, before the end, no host.
func (o *outliner) addObject(atEnd bool) {
	k, ok := kind.FindByEnvelope(o.values["apiVersion"], o.values["kind"])
	if !ok || o.found || o.values["metadata.name"] == "" {
		return
	}
	if host := o.values["spec."+k.HostField]; atEnd || host != "" {
		o.objects = append(o.objects, &Object{Kind: k, Name: o.values["metadata.name"], Host: host, Path: o.path})
		o.found = true
	}
}

// endDocument ends a document.
func (o *outliner) endDocument() {
	o.addObject(true)
	o.beginDocument()
}

// parseObjects finds the objects of a text by its nodes.
func parseObjects(data []byte, path string) (objects []*Object) {
	for _, doc := range NewFileState(path, data).DocumentNodes() {
		root := RootNode(doc)
		name := ScalarText(MemberValue(MemberValue(root, "metadata"), "name"))
		if k, ok := kind.FindByEnvelope(ScalarText(MemberValue(root, "apiVersion")), ScalarText(MemberValue(root, "kind"))); ok && name != "" {
			objects = append(objects, &Object{Kind: k, Name: name, Host: ScalarText(MemberValue(MemberValue(root, "spec"), k.HostField)), Path: path})
		}
	}
	return objects
}
