package merge

// LeaveSome reports whether the rules exclude any field from the comparison.
func (r *Rules) LeaveSome() bool { return r.has((*Rules).excluded) }

// omits reports whether the rules omit anything at or below the node.
func (r *Rules) omits() bool { return r.has((*Rules).omitted) }

// has reports whether the node or one below it is such.
func (r *Rules) has(such func(*Rules) bool) bool {
	if r == nil {
		return false
	}
	if such(r) || r.Item.has(such) {
		return true
	}
	for _, child := range r.Fields {
		if child.has(such) {
			return true
		}
	}
	return false
}

// Managed returns what of a desired value is git's: without the fields that the
// rules ignore or leave to the server. It never mutates.
func Managed(rules *Rules, desired any) any {
	switch t := desired.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, v := range t {
			if child := rules.field(k); !child.excluded() {
				out[k] = Managed(child, v)
			}
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, v := range t {
			out[i] = Managed(rules.item(), v)
		}
		return out
	default:
		return desired
	}
}
