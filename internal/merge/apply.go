package merge

// Apply returns target with a merge patch applied (RFC 7386 section 2). It
// never changes its arguments; the result may share subtrees with both.
func Apply(patch, target any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	out := make(map[string]any, len(t)+len(p))
	for k, v := range t {
		out[k] = v
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = Apply(v, out[k])
		}
	}
	return out
}

// StripNulls returns v without the fields and list elements that are null: the
// body of a creation, where "must be absent" is said by leaving it out (design
// 0.4).
func StripNulls(v any) any { return sendable(nil, v) }
