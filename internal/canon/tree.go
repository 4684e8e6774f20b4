package canon

// Object returns a decoded object, or nil for another value.
func Object(v any) map[string]any {
	object, _ := v.(map[string]any)
	return object
}

// At returns what a decoded value has at a path of fields, or nil.
func At(v any, path ...string) any {
	for _, name := range path {
		v = Object(v)[name]
	}
	return v
}

// TextAt returns the text at a path of fields of a decoded value, or "".
func TextAt(v any, path ...string) string {
	text, _ := At(v, path...).(string)
	return text
}
