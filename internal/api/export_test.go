package api

import (
	"io"
	"net/http"

	"trueup/internal/kind"
)

// ReaderTransport is what a Reader sends through.
func ReaderTransport(r *Reader) http.RoundTripper { return r.gets.Transport }

// DecodeList decodes one answer to a list and forgets it.
func DecodeList(r io.Reader, k *kind.Kind) error {
	src := &source{r: r, object: 16 << 20, list: 1 << 30}
	_, err := decodeList(src, k, kind.Workspace{}, func(kind.Object) error { return nil })
	return err
}
