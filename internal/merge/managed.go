package merge

// LeaveSome tells whether the rules leave any field to the server.
func (r *Rules) LeaveSome() bool {
	if r == nil {
		return false
	}
	if r.skip() {
		return true
	}
	for _, child := range r.Fields {
		if child.LeaveSome() {
			return true
		}
	}
	return r.Item.LeaveSome()
}

// Managed returns what of a desired value is git's: without the fields that the
// rules ignore or leave to the server. It never mutates.
func Managed(rules *Rules, desired any) any {
	switch t := desired.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, v := range t {
			if child := rules.field(k); !child.skip() {
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
