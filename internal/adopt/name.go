package adopt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// maxFileName bounds the name of an object's file, in bytes, without its ending:
// some file systems that encrypt take 143.
const maxFileName = 120

// deviceName is what Windows takes for a device, whatever follows a dot.
var deviceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`) })

// fileNameOf is the name of an object's file, without its ending: of characters
// that every file system has, in one case, and another for each name. What is
// not a small letter, a digit or one of . _ - is written as %XX.
func fileNameOf(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0
		// A name that begins with a dot would not be read, with a hyphen taken for
		// a flag.
		if !plain || i == 0 && (c == '.' || c == '-') {
			fmt.Fprintf(&b, "%%%02x", c)
			continue
		}
		b.WriteByte(c)
	}
	safe := b.String()
	if deviceName().MatchString(safe) {
		safe = fmt.Sprintf("%%%02x", safe[0]) + safe[1:]
	}
	if len(safe) > maxFileName {
		sum := sha256.Sum256([]byte(name))
		// No name that is written out has a hyphen behind a percent sign.
		tail := "%-" + hex.EncodeToString(sum[:8])
		safe = safe[:maxFileName-len(tail)] + tail
	}
	return safe
}
