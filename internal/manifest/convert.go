package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/canon"
	"trueup/internal/diag"
	"trueup/internal/kind"
)

// The limits of a document: far above any real manifest, and far below what hurts.
const (
	MaxDepth = 64
	tooDeep  = "nested more than 64 levels deep"
	flatten  = "flatten the document: no documented field is nested this deeply"
	// maxParsedDepth is what the parser reads, so that a finding about MaxDepth has its field.
	maxParsedDepth = 200
	maxAliased     = 100_000
	// maxExpanded is in bytes, of a whole file.
	maxExpanded = 16 << 20
)

// converter turns the nodes of one document into a tree, and in the same pass into canonical JSON with a
// place for each value.
type converter struct {
	file *FileState
	out  jsonWithPlaces
	// last is the place that was written last.
	last lineColumn
	// spec is where out.json has the spec.
	spec struct{ from, to int }
	path []pathStep
	// pairs is a stack of the members of the mappings that are open.
	pairs []mappingMember
	// open are the anchors that are being expanded. aliased counts their nodes in this document, and
	// expanded their bytes in the whole file.
	open              []*yaml.Node
	aliased, expanded int
	// stopped reports whether a limit was exceeded, which ends the document.
	stopped bool
	// trees has small mappings, of which this document has the first used ones. Most garbage would be mappings.
	trees []map[string]any
	used  int
	// exempt lists names that are not misspelt, by path.
	exempt map[string][]string
}

// pathStep is one part of the path to the current node: a name, or an index from 0.
type pathStep struct {
	name  string
	index int
}

// mappingMember is a member of a mapping. of is the mapping that contains it in the file: for a merge key, the
// included one.
type mappingMember struct {
	name       string
	key, value *yaml.Node
	of         *yaml.Node
}

func (c *converter) reset(f *FileState) {
	c.file, c.out, c.last = f, jsonWithPlaces{c.out.json[:0], c.out.places[:0]}, lineColumn{}
	c.spec.from, c.spec.to = 0, 0
	c.path, c.pairs, c.open = c.path[:0], c.pairs[:0], c.open[:0]
	c.aliased, c.stopped, c.used = 0, false, 0
}

// tree returns an empty mapping for some members, which is valid until reset. A large map takes long to clear.
func (c *converter) tree(members int) map[string]any {
	const maxTrees, maxReused = 4096, 8
	if members > maxReused || c.used == maxTrees {
		return make(map[string]any, members)
	}
	if c.used == len(c.trees) {
		c.trees = append(c.trees, make(map[string]any, maxReused))
	}
	c.used++
	tree := c.trees[c.used-1]
	clear(tree)
	return tree
}

// fieldPath writes a path as findings show it.
func fieldPath(steps []pathStep) string {
	path := ""
	for _, s := range steps {
		if s.index >= 0 {
			path = kind.JoinIndex(path, s.index)
		} else {
			path = kind.JoinField(path, s.name)
		}
	}
	return path
}

func (c *converter) addError(n *yaml.Node, rule, message, fix string) *diag.Finding {
	return c.file.AddError(n.Line, n.Column, rule, fieldPath(c.path), message, fix)
}

func (c *converter) reportMember(p mappingMember, rule string, severity diag.Severity, message, fix string) *diag.Finding {
	path := fieldPath(append(c.path, pathStep{p.name, -1}))
	return c.file.AddFinding(p.key.Line, p.key.Column, rule, severity, path, message, fix)
}

// stopAtLimit reports a limit and ends the document.
func (c *converter) stopAtLimit(n *yaml.Node, rule, message, fix string) any {
	if !c.stopped {
		c.addError(n, rule, message, fix)
	}
	c.stopped = true
	return c.emitScalar(n, nil)
}

// emitScalar writes a scalar and returns it. A value with a finding is null.
func (c *converter) emitScalar(n *yaml.Node, v any) any {
	c.recordPosition(n)
	c.out.json = canon.Append(c.out.json, v)
	return v
}

func (c *converter) recordPosition(n *yaml.Node) {
	at := newLineColumn(n.Line, n.Column)
	c.out.places, c.last = c.out.places.appendPosition(c.last, at), at
}

// convertValue converts a node. at is the node at which findings point: the key, if the node is a member of a
// mapping.
func (c *converter) convertValue(n, at *yaml.Node, f *kind.Field) any {
	switch {
	case c.stopped, len(c.open) > 0 && !c.countExpansion(n):
		return c.emitScalar(n, nil)
	case n.Kind == yaml.AliasNode && slices.Contains(c.open, n.Alias):
		return c.stopAtLimit(n, RuleAlias, fmt.Sprintf("the alias *%s contains itself", n.Value), "write the value itself")
	case n.Kind == yaml.AliasNode:
		return c.convertAlias(n.Alias, n.Alias, at, f)
	case strings.Contains(n.Anchor, ":"):
		c.addError(n, RuleAlias, "parsers disagree where the name of this anchor ends", "give it a name of letters, digits and hyphens")
		return c.emitScalar(n, nil)
	case len(c.path) > MaxDepth:
		return c.stopAtLimit(at, ruleDepth, tooDeep, flatten)
	case n.Kind == yaml.MappingNode:
		return c.convertMapping(n, at, f)
	case n.Kind == yaml.SequenceNode:
		return c.convertSequence(n, at, f)
	}
	return c.convertScalar(n, at, f)
}

func (c *converter) countExpansion(n *yaml.Node) bool {
	if c.aliased++; c.aliased > maxAliased {
		c.stopAtLimit(n, RuleAlias, fmt.Sprintf("aliases expand to more than %d values", maxAliased),
			"write the values themselves, or use fewer aliases")
	}
	return !c.stopped
}

// convertAlias converts a value from elsewhere in the document, below from.
func (c *converter) convertAlias(from, n, at *yaml.Node, f *kind.Field) any {
	before := len(c.out.json)
	c.open = append(c.open, from)
	v := c.convertValue(n, at, f)
	c.open = c.open[:len(c.open)-1]
	if c.expanded += len(c.out.json) - before; c.expanded > maxExpanded {
		c.stopAtLimit(at, RuleAlias, "aliases expand to more than "+bytesOf(maxExpanded), "write the values themselves, or use fewer aliases")
	}
	return v
}

func (c *converter) convertSequence(n, at *yaml.Node, f *kind.Field) any {
	c.checkTag(n, "!!seq")
	c.recordPosition(at)
	item := kind.DocumentedItem(f)
	list := make([]any, len(n.Content))
	c.out.json = append(c.out.json, '[')
	for i, e := range n.Content {
		if i > 0 {
			c.out.json = append(c.out.json, ',')
		}
		c.path = append(c.path, pathStep{index: i})
		list[i] = c.convertValue(e, e, item)
		c.path = c.path[:len(c.path)-1]
		if n.Style&yaml.FlowStyle != 0 {
			c.refuseQuestionMark(e, e)
		}
	}
	c.out.json = append(c.out.json, ']')
	return list
}

func (c *converter) convertMapping(n, at *yaml.Node, f *kind.Field) any {
	c.checkTag(n, "!!map")
	c.recordPosition(at)
	base := len(c.pairs)
	c.collectMembers(n)
	c.dropDuplicates(base)
	tree := c.tree(len(c.pairs) - base)
	c.out.json = append(c.out.json, '{')
	for i, p := range c.pairs[base:] {
		if i > 0 {
			c.out.json = append(c.out.json, ',')
		}
		c.out.json = append(canon.Append(c.out.json, p.name), ':')
		tree[p.name] = c.convertMember(p, n, f)
	}
	c.out.json = append(c.out.json, '}')
	c.checkMembers(c.pairs[base:], tree, f)
	c.pairs = c.pairs[:base]
	return tree
}

func (c *converter) convertMember(p mappingMember, n *yaml.Node, f *kind.Field) any {
	field := kind.DocumentedMember(f, p.name)
	top := len(c.path) == 0
	c.path = append(c.path, pathStep{p.name, -1})
	defer func() { c.path = c.path[:len(c.path)-1] }()
	if top && p.name == "spec" {
		c.spec.from = len(c.out.json)
		defer func() { c.spec.to = len(c.out.json) }()
	}
	if p.of != n {
		c.expanded += len(p.name)
		return c.convertAlias(p.of, p.value, p.key, field)
	}
	return c.convertValue(p.value, p.key, field)
}

// collectMembers pushes the members of a mapping before those that merge keys include, because the first of a
// name wins.
func (c *converter) collectMembers(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if IsMerge(key) {
			continue
		}
		if name, ok := c.convertKey(key); ok {
			c.pairs = append(c.pairs, mappingMember{name, key, n.Content[i+1], n})
		}
	}
	var first *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case !IsMerge(key):
		case first != nil:
			c.addError(key, ruleDuplicateKey, fmt.Sprintf("the mapping has the key << twice, first in line %d", first.Line), "write one list: <<: [*ONE, *OTHER]")
		default:
			first = key
			c.collectMerged(key, n.Content[i+1])
		}
	}
}

// collectMerged collects the members that a merge key includes, from a mapping or a list of mappings.
func (c *converter) collectMerged(key, source *yaml.Node) {
	from := source
	if from.Kind == yaml.AliasNode {
		from = from.Alias
	}
	if c.stopped || !c.countExpansion(source) {
		return
	}
	switch {
	case slices.Contains(c.open, from):
		c.stopAtLimit(source, RuleAlias, "a merge key includes the mapping that contains it", "write the members themselves")
	case from.Kind == yaml.MappingNode:
		c.aliased += len(from.Content) / 2
		c.open = append(c.open, from)
		c.collectMembers(from)
		c.open = c.open[:len(c.open)-1]
	case from.Kind == yaml.SequenceNode && source == from:
		for _, e := range from.Content {
			c.collectMerged(key, e)
		}
	default:
		c.addError(key, RuleAlias, "a merge key (<<) needs a mapping or a list of mappings", "write <<: *NAME, where &NAME marks a mapping")
	}
}

// dropDuplicates sorts the members from base on by name and keeps the first of each name. Two in the same
// mapping are a mistake.
func (c *converter) dropDuplicates(base int) {
	pairs := c.pairs[base:]
	slices.SortStableFunc(pairs, func(a, b mappingMember) int { return strings.Compare(a.name, b.name) })
	kept := pairs[:0]
	var last mappingMember
	for _, p := range pairs {
		switch {
		case len(kept) == 0 || last.name != p.name:
			kept = append(kept, p)
		case last.of == p.of:
			c.reportMember(p, ruleDuplicateKey, diag.Error,
				fmt.Sprintf("the mapping has the key %s twice, first in line %d", diag.Quote(p.name), last.key.Line),
				fmt.Sprintf("keep one of the lines %d and %d", last.key.Line, p.key.Line))
		}
		last = p
	}
	c.pairs = c.pairs[:base+len(kept)]
}

func (c *converter) convertKey(n *yaml.Node) (string, bool) {
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	if target.Kind != yaml.ScalarNode {
		c.addError(n, ruleKey, "a key is a mapping or a list, not text", "write the key as text; render a template such as {{ name }} first")
		return "", false
	}
	name := target.Value
	if c.refuseQuestionMark(n, target) {
		return "", false
	}
	switch {
	case target.Tag == loneTag, target.Style&yaml.TaggedStyle != 0 && target.Tag != "!!str":
		c.addError(n, ruleTag, fmt.Sprintf("the tag %s on a key", target.Tag), "remove the tag")
		return "", false
	case IsPlain(target) && ResolveScalar(name) != PlainText:
		x := c.addError(n, ruleKey, fmt.Sprintf("not every YAML parser reads the key %s as text", diag.Quote(name)), "write "+strconv.Quote(name)+":")
		if n == target {
			x.Write = strconv.Quote(name)
		}
	}
	c.checkText(n, name, true)
	return name, true
}

// refuseQuestionMark reports a question mark at the start of a scalar, at a place where some parsers read that a key follows.
func (c *converter) refuseQuestionMark(at, n *yaml.Node) bool {
	after, odd := strings.CutPrefix(n.Value, "?")
	if odd = odd && n.Kind == yaml.ScalarNode && IsPlain(n); odd {
		c.addError(at, ruleKey, "YAML parsers disagree whether a key starts with the question mark before "+diag.Quote(after), "write "+strconv.Quote(n.Value)+" or "+strconv.Quote(after))
	}
	return odd
}

func (c *converter) checkTag(n *yaml.Node, want string) {
	if n.Tag != want {
		c.addError(n, ruleTag, fmt.Sprintf("YAML parsers disagree about the meaning of the tag %s", diag.Quote(n.Tag)), "remove the tag")
	}
}

// convertNumber rejects numbers that double precision reads as infinity or zero. These would also make the
// check of the schema expensive.
func (c *converter) convertNumber(n *yaml.Node, s string) any {
	if !inDoubleRange(s) {
		c.addError(n, ruleNumber, diag.Shorten(s)+" is outside the range of numbers that all JSON parsers support",
			"write a number between -1e308 and 1e308, and no closer to zero than 1e-308")
		return c.emitScalar(n, nil)
	}
	return c.emitScalar(n, canon.Number(json.Number(s)))
}
