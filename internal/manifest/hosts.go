package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"trueup/internal/kind"
)

// HostReader reads only the hosts of manifests, and reuses its buffers. The zero value is ready.
type HostReader struct {
	pool   NodePool
	buffer bytes.Buffer
	fields []string // the names of fields that have a host
	found  map[string]bool
}

// ReadHosts returns each hostname and each host of a location in the files of sources, and perhaps other texts, in the form
// of kind.HostKey. It checks nothing, and takes less than half of the time of Load.
func (r *HostReader) ReadHosts(sources []PathSource) (map[string]bool, error) {
	limits := Limits{}.orDefault()
	listed, err := listSources(sources, limits)
	if err != nil {
		return nil, err
	}
	r.fields, r.found = []string{"host"}, map[string]bool{}
	for _, k := range kind.AllKinds() {
		r.fields = append(r.fields, k.HostField)
	}
	for _, t := range listed.texts {
		data, err := t.readText(limits.File, &r.buffer)
		if err != nil {
			return nil, err
		}
		f := NewFileState(t.Path, data)
		f.Pool = &r.pool
		f.EachDocument(func(doc *yaml.Node) { r.addHosts(doc, false) })
	}
	return r.found, nil
}

// addHosts adds those in a node. A server is where requests are sent to, and its host is none that is served. But what has
// an anchor may stand elsewhere, too.
func (r *HostReader) addHosts(n *yaml.Node, isOfServer bool) {
	isOfServer = isOfServer && n.Anchor == ""
	if n.Anchor != "" {
		r.addHost(n)
	}
	for i, below := range n.Content {
		isBelowServer := isOfServer
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			name := cmp.Or(n.Content[i-1].Alias, n.Content[i-1]).Value
			if !isOfServer && slices.Contains(r.fields, name) {
				r.addHost(below)
			}
			isBelowServer = isOfServer || name == "servers"
		}
		r.addHosts(below, isBelowServer)
	}
}

// addHost adds the text of a node.
func (r *HostReader) addHost(n *yaml.Node) {
	if host := kind.HostKey(n.Value); n.Kind == yaml.ScalarNode && !r.found[host] {
		r.found[strings.Clone(host)] = true
	}
}
