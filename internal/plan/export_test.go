package plan

import "bytes"

// Assertion returns what a plan asserts.
func (p *Plan) Assertion() []byte {
	var b bytes.Buffer
	p.writeAssertion(&b)
	return b.Bytes()
}
