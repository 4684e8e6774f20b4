package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

// window is the most memory that a zstd frame may ask for: the compressor's --ultra needs no more.
const window = 128 << 20

// decompressed returns the text of a log, which says by its first bytes how it is compressed.
func decompressed(log io.Reader) (io.Reader, error) {
	r := bufio.NewReader(log)
	magic, err := r.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// One goroutine: Read needs no Close.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	}
	return r, nil
}
