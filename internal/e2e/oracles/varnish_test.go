package oracles

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"trueup/internal/routing"
)

// chunk is how many sets a request is compared with, after as many chunks.
const chunk = 50

// TestVarnish: a chain of conditions takes the first that matches. Varnish compares an address as it came, so
// nothing is left out.
func TestVarnish(t *testing.T) {
	needs(t, "varnishd", "tcc")
	sets := drawAll(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "vcl")
	if err := os.WriteFile(config, []byte(vcl(sets)), 0o600); err != nil {
		t.Fatal(err)
	}
	// tcc compiles in a tenth of the time of gcc.
	socket := start(t, dir, "varnishd", "-F", "-j", "none", "-n", filepath.Join(dir, "n"), "-a", filepath.Join(dir, "socket"), "-T", "none",
		"-p", "cc_command=exec tcc -w -shared -o %o %s", "-p", "vcc_allow_inline_c=off", "-s", "malloc,1m", "-f", config)
	compare(t, socket, sets, routing.FirstInList, routing.LongestPath)
}

func vcl(sets []set) string {
	var b, chunks strings.Builder
	b.WriteString("vcl 4.1;\nbackend none none;\n")
	for n, s := range sets {
		fmt.Fprintf(&b, "sub set_%d {\n", n)
		for i, l := range s.locations {
			fmt.Fprintf(&b, "if (%s && %s) { return (synth(200, \"%d/%d\")); }\n", vclHost(under(l.host, n)), vclPath(l.path), n, i)
		}
		b.WriteString("}\n")
	}
	chunks.WriteString("sub vcl_recv {\n")
	for n := range sets {
		if n%chunk == 0 {
			fmt.Fprintf(&b, "sub chunk_%d {\n", n/chunk)
			fmt.Fprintf(&chunks, "if (req.http.x-chunk == \"%d\") { call chunk_%d; }\n", n/chunk, n/chunk)
		}
		fmt.Fprintf(&b, "if (req.http.x-set == \"%d\") { call set_%d; }\n", n, n)
		if n%chunk == chunk-1 || n == len(sets)-1 {
			b.WriteString("}\n")
		}
	}
	chunks.WriteString("return (synth(404)); }\n")
	return b.String() + chunks.String() + `sub vcl_synth { if (resp.status == 200) { set resp.http.x-location = resp.reason; } return (deliver); }`
}

func vclHost(host string) string {
	domain, below := strings.CutPrefix(host, "*")
	switch {
	case host == "":
		return "true"
	case below:
		return fmt.Sprintf(`req.http.host ~ {"%s$"}`, regexp.QuoteMeta(domain))
	}
	return fmt.Sprintf(`req.http.host == %q`, host)
}

func vclPath(pattern string) string {
	if stem, prefix := strings.CutSuffix(pattern, "*"); prefix {
		return fmt.Sprintf(`req.url ~ {"^%s"}`, regexp.QuoteMeta(stem))
	}
	return fmt.Sprintf(`req.url == {"%s"}`, pattern)
}
