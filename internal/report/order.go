package report

import (
	"bytes"

	"trueup/internal/parallel"
)

// inOrder renders n parts, several at once, and hands them to take in their order, until that returns false. It
// holds few of them in memory.
func inOrder(n int, render func(b *bytes.Buffer, i int) error, take func(text []byte) (more bool, err error)) error {
	const atOnce = 64
	var texts [atOnce]bytes.Buffer
	var failed [atOnce]error
	for from := 0; from < n; from += atOnce {
		some := min(atOnce, n-from)
		parallel.Each(some, func(i int) {
			texts[i].Reset()
			failed[i] = render(&texts[i], from+i)
		})
		for i := range some {
			if failed[i] != nil {
				return failed[i]
			}
			if more, err := take(texts[i].Bytes()); err != nil || !more {
				return err
			}
		}
	}
	return nil
}
