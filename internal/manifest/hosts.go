package manifest

import (
	"bytes"
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

// addHosts adds those in a node. A server is where requests are sent to, and its host is none that is served. But a
// node with an anchor may stand elsewhere, too.
func (r *HostReader) addHosts(n *yaml.Node, isOfServer bool) {
	isOfServer = isOfServer && n.Anchor == ""
	if n.Kind != yaml.MappingNode {
		for _, below := range n.Content {
			r.addHosts(below, isOfServer)
		}
		return
	}
	for i := 1; i < len(n.Content); i += 2 {
		name, value := n.Content[i-1].Value, n.Content[i]
		isHost := !isOfServer && slices.Contains(r.fields, name)
		if host := kind.HostKey(value.Value); value.Kind == yaml.ScalarNode && (isHost || value.Anchor != "") && !r.found[host] {
			r.found[strings.Clone(host)] = true
		}
		r.addHosts(value, isOfServer || name == "servers")
	}
}
