//go:build linux

package hostile

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// htmlReport: a page runs the program's one script, asks for nothing, and holds
// no element, address or comment of anybody else.
func htmlReport(p *place) {
	for _, s := range []string{
		"<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><svg onload=alert(1)>", "</style><style>@import '//evil.example'</style>",
		"</script><script src=//evil.example></script>", "<!-- ", "--> ]]>", "javascript:alert(1)", "</title></head><base href=//evil.example>",
		"<meta http-equiv=refresh content='0;url=//evil.example'>", "<iframe srcdoc='x'>", "</code></td></table></details></article><form action=//evil.example>",
		"{{.Style}}", "`${alert(1)}`", "&lt;b&gt;", "\x00<b>\u202e",
	} {
		surround(p, s)
		for _, command := range [][]string{{"plan", "-v"}, {"drift"}, {"apply", "--auto-approve"}, {"validate"}} {
			p.run(append(command, "--report", "html=report.html")...)
			page, err := html.Parse(strings.NewReader(p.read("report.html")))
			if err != nil {
				p.Fatal(err)
			}
			checkPage(p, s, page)
		}
	}
}

// checkPage holds what a page has to what the program puts into one.
func checkPage(p *place, s string, page *html.Node) {
	p.Helper()
	var policy string
	counts := map[string]int{}
	for n := range page.Descendants() {
		if n.Type == html.CommentNode {
			p.Errorf("%q: a comment %q", s, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		counts[n.Data]++
		if n.Namespace != "" || slices.Contains([]string{"img", "svg", "iframe", "base", "link", "object", "embed", "video", "audio", "source", "template"}, n.Data) {
			p.Errorf("%q: an element %s", s, n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || slices.Contains([]string{"src", "srcset", "srcdoc", "style", "action", "formaction", "ping", "poster"}, a.Key) ||
				a.Key == "href" && !strings.HasPrefix(a.Val, "#") || a.Key == "http-equiv" && a.Val != "Content-Security-Policy" {
				p.Errorf("%q: <%s %s=%q>", s, n.Data, a.Key, a.Val)
			}
			if a.Key == "content" && strings.HasPrefix(a.Val, "default-src 'none';") {
				policy = a.Val
			}
		}
		if n.Data == "script" || n.Data == "style" {
			sum := sha256.Sum256([]byte(n.FirstChild.Data))
			if allowed := n.Data + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, allowed) {
				p.Errorf("%q: the policy %s does not let in the page's own %s", s, policy, n.Data)
			}
		}
	}
	for _, name := range []string{"script", "style", "title", "head", "body", "main", "h1"} {
		if counts[name] != 1 {
			p.Errorf("%q: %d of %s", s, counts[name], name)
		}
	}
}
