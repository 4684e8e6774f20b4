package adopt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"sync"
)

// maxFileName bounds the name of an object's file, in bytes, without its ending: some file systems that
// encrypt take 143.
const maxFileName = 120

// oddCharacter is what not every file system has, in one case. A name that begins with a dot would not be read,
// with a hyphen taken for a flag. deviceName is what Windows takes for a device, whatever follows a dot.
var (
	oddCharacter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[.-]|[^a-z0-9._-]`) })
	deviceName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`) })
)

// fileNameOf returns the name of an object's file, without its ending: safe on every file system, and
// another for each name.
func fileNameOf(name string) string {
	escape := func(text string) (out string) {
		for _, c := range []byte(text) {
			out += fmt.Sprintf("%%%02x", c)
		}
		return out
	}
	safe := oddCharacter().ReplaceAllStringFunc(name, escape)
	if deviceName().MatchString(safe) {
		safe = escape(safe[:1]) + safe[1:]
	}
	if len(safe) > maxFileName {
		sum := sha256.Sum256([]byte(name))
		// No name that is written out has a hyphen behind a percent sign.
		tail := "%-" + hex.EncodeToString(sum[:8])
		safe = safe[:maxFileName-len(tail)] + tail
	}
	return safe
}
