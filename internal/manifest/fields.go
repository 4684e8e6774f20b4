package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"trueup/internal/diag"
	"trueup/internal/kind"
)

// fieldCheck walks a document beside the field tree of its kind and warns of
// what the platform's document does not show.
type fieldCheck struct {
	*worker
	object *Object
	path   []step
}

func (w *worker) checkFields(o *Object, doc map[string]any) {
	c := fieldCheck{worker: w, object: o}
	c.mapping(doc, o.Kind.Root())
}

func (c *fieldCheck) value(v any, f *kind.Field) {
	switch t := v.(type) {
	case map[string]any:
		c.mapping(t, f)
	case []any:
		if f.Item == nil {
			return
		}
		c.path = append(c.path, step{})
		for i, e := range t {
			c.path[len(c.path)-1] = step{index: i}
			c.value(e, f.Item)
		}
		c.path = c.path[:len(c.path)-1]
	case string:
		if len(f.Seen) > 0 && !slices.Contains(f.Seen, t) {
			c.unseen(t, f)
		}
	}
}

func (c *fieldCheck) mapping(m map[string]any, f *kind.Field) {
	c.path = append(c.path, step{})
	for name, v := range m {
		c.path[len(c.path)-1] = step{name, -1}
		below := f.Fields[name]
		switch {
		case below == nil && f.Fields != nil && !f.Knows(name, m):
			c.unknown(name, m, f)
		case below != nil && below.NotSent && below.Type == kind.ObjectType:
			c.warn(ruleNotSent, name+" stay in git: the platform's document knows none, so they are not sent",
				"nothing to mend; remove them, or write them as comments, to be rid of this warning")
		case below != nil:
			c.value(v, below)
		}
	}
	c.path = c.path[:len(c.path)-1]
}

// unknown warns of a field that the schema does not have, and proposes one
// that is not there yet.
func (c *fieldCheck) unknown(name string, m map[string]any, f *kind.Field) {
	var free []string
	for _, known := range slices.Sorted(maps.Keys(f.Fields)) {
		if _, used := m[known]; !used {
			free = append(free, known)
		}
	}
	fix := "remove it, if it is a mistake; known here are " + strings.Join(slices.Sorted(maps.Keys(f.Fields)), ", ")
	if meant := nearest(name, free); meant != "" {
		fix = fmt.Sprintf("did you mean %s?", meant)
	}
	c.warn(ruleUnknownField, fmt.Sprintf("the platform's document shows no field %s here", quoteName(name)), fix)
}

func (c *fieldCheck) unseen(value string, f *kind.Field) {
	fix := "check it: the document shows " + strings.Join(quoted(f.Seen), ", ")
	if meant := nearest(value, f.Seen); meant != "" {
		fix = fmt.Sprintf("did you mean %s?", quoteText(meant))
	}
	c.warn(ruleUnknownValue, fmt.Sprintf("the platform's document shows no value %s for %s", quoteName(value), f.Name), fix)
}

func (c *fieldCheck) warn(rule, message, fix string) {
	path := fieldPath(c.path)
	line, column := c.object.Place(path)
	c.file.add(line, column, rule, diag.Warning, path, message, fix)
}
