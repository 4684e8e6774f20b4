package manifest

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"

	"trueup/internal/kind"
)

// Names finds the objects of manifests without reading all of each: they have a kind, a name, a host and
// a path. It is for completion: it skips what it can't read, and checks nothing.
func Names(ctx context.Context, sources []Source, opts Options) *Set {
	opts.Limits = opts.Limits.orDefault()
	set := &Set{byKey: map[kind.Key]*Object{}}
	found, err := list(sources, opts.Limits)
	if err != nil {
		return set
	}
	all := make([][]*Object, len(found.texts))
	var total atomic.Int64
	opts.eachFile(len(all), func(i int) {
		var buffer bytes.Buffer
		data, err := found.texts[i].read(opts.Limits.File, &buffer)
		if err == nil && ctx.Err() == nil && total.Add(int64(len(data))) <= opts.Limits.Total {
			all[i] = outline(data, found.texts[i].Path)
		}
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

// outline finds the objects of a text by its lines. It parses a text in which they are not on lines of
// their own.
func outline(data []byte, path string) (objects []*Object) {
	o := outlined{}
	end := func() {
		if k, ok := kind.ForEnvelope(o["apiVersion"], o["kind"]); ok && o["metadata.name"] != "" {
			objects = append(objects, &Object{Kind: k, Name: o["metadata.name"], Host: o["spec."+k.HostField], Path: path})
		}
		clear(o)
	}
	section, indent := "", 0
	for line := range bytes.Lines(data) {
		width := len(line) - len(bytes.TrimLeft(line, " "))
		switch c := line[min(width, len(line)-1)]; {
		case c == '\n' || c == '\r' || c == '#':
		case width == 0 && bytes.HasPrefix(line, []byte("---")):
			end()
			section = ""
		case width == 0 && (c|0x20 < 'a' || c|0x20 > 'z'):
			return parsed(data, path)
		case width == 0:
			if section, indent = o.take("", line), 0; o["metadata"] != "" || o["spec"] != "" {
				return parsed(data, path)
			}
		case section == "metadata" || section == "spec":
			if indent == 0 {
				indent = width
			}
			if width == indent && (c == 'n' || c == 'h') {
				o.take(section+".", line[width:])
			}
		}
	}
	end()
	return objects
}

// outlined has the values of a document by path.
type outlined map[string]string

// take notes the value of a line, and returns the name of its field.
func (o outlined) take(of string, line []byte) string {
	name, value, _ := strings.Cut(string(line), ":")
	value, _, _ = strings.Cut(value, " #")
	value = strings.Trim(value, " \r\n\"'")
	if value != "" {
		o[of+name] = value
	}
	return name
}

// parsed finds the objects of a text by its nodes.
func parsed(data []byte, path string) (objects []*Object) {
	for _, doc := range fileOf(path, data).read() {
		root := rootOf(doc)
		name := peekText(peek(peek(root, "metadata"), "name"))
		if k, ok := kind.ForEnvelope(peekText(peek(root, "apiVersion")), peekText(peek(root, "kind"))); ok && name != "" {
			objects = append(objects, &Object{Kind: k, Name: name, Host: peekText(peek(peek(root, "spec"), k.HostField)), Path: path})
		}
	}
	return objects
}
