//go:build linux

package hostile

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

func hostileNetwork() []hostileCase {
	return []hostileCase{
		{"partial-list", "A list never proves absence.", partialList},
		{"truncated-body", "A cut answer is no answer.", truncatedBody},
		{"gzip-bomb", "The limit counts decompressed bytes.", gzipBomb},
		{"slow-server", "The time limit of a request covers its body.", slowServer},
		{"retry-after", "Both forms are limited; a longer pause ends the run and says until when.", retryAfter},
		{"refused-mid-run", "Nothing new starts, unless it is about one object; the result says what was done.", refusedMidRun},
		{"wrong-workspace", "If all known objects are gone, trueup asks whether the workspace is right.", wrongWorkspace},
		{"success-that-is-none", "An answer is JSON of the expected kind and name, or no answer.", successThatIsNone},
		{"proxies-and-rebinding", "Only addresses of the environment are resolved. 'doctor' shows the proxy without its password.", proxiesAndRebinding},
	}
}

// faulty runs a command under faults that last, and lifts them.
func faulty(p *place, code int, args []string, rules ...string) string {
	p.Helper()
	p.fault(rules...)
	defer p.server.ClearFaults()
	got, out := p.run(args...)
	if got != code {
		p.Errorf("%q: exit %d, want %d\n%s", rules, got, code, out)
	}
	return out
}

func partialList(p *place) {
	for _, name := range []string{"shop", "blog", "docs"} {
		p.write("manifests/"+name+".yaml", cdnOf(name, ""))
	}
	p.must(0, applied...)
	p.sent()
	for _, rule := range []string{"GET */cdns: partial-list=1 x*", "GET */cdns: partial-list-counted=1 x*", "GET */cdns: partial-list-paged=1 x*"} {
		p.fault(rule)
		p.run(applied...)
		p.server.ClearFaults()
		p.nothingSent()
	}
	for _, quirk := range []string{"list-incomplete", "list-expired", "list-paged", "list-null-items", "list-without-spec"} {
		if err := p.server.SetQuirks(quirk); err != nil {
			p.Fatal(err)
		}
		p.run(applied...)
		p.nothingSent()
	}
}

func truncatedBody(p *place) {
	begin(p)
	for _, rule := range []string{
		"GET */cdns: truncate x*", "GET */cdns: truncate-unseen x*", "GET */cdns: truncate-unseen=1 x*", "GET */cdns: truncate-unseen=0 x*",
	} {
		faulty(p, 1, applied, rule)
		p.nothingSent()
	}
}

func gzipBomb(p *place) {
	begin(p)
	p.write("manifests/shop.yaml", cdnOf("shop", "  tls: {forced: \"true\"}\n"))
	// One object, however small it comes: 17 MiB are 17 kB on the wire.
	for _, rule := range []string{"GET /cdns/shop: gzip-bomb=17 x*", "GET /cdns/shop: huge=17 x*", "GET */cdns: bad-header x*"} {
		p.fault(rule)
		code, out := p.run(append(applied, "--target", "cdn/shop")...)
		p.server.ClearFaults()
		if code == 0 || !strings.Contains(out, "larger than") && !strings.Contains(out, "header") {
			p.Errorf("%s: exit %d\n%s", rule, code, out)
		}
		p.nothingSent()
	}
}

func slowServer(p *place) {
	p.write("manifests/shop.yaml", cdnOf("shop", ""))
	start := time.Now()
	p.vars["TRUEUP_REQUEST_TIMEOUT"] = "40ms"
	for _, rule := range []string{"GET *: stall x*", "GET *: drip=1 x*", "GET *: delay=300ms x*"} {
		faulty(p, 1, applied, rule)
	}
	delete(p.vars, "TRUEUP_REQUEST_TIMEOUT")
	p.vars["TRUEUP_TIMEOUT"] = "100ms"
	faulty(p, 1, applied, "GET *: stall x*")
	delete(p.vars, "TRUEUP_TIMEOUT")
	if took := time.Since(start); took > 30*time.Second {
		p.Errorf("it took %s", took)
	}
	p.nothingSent()
}

func retryAfter(p *place) {
	p.write("manifests/shop.yaml", cdnOf("shop", ""))
	for _, value := range []string{"1", "+1s", "0", "-5", "86400", "+25h", "soon", "99999999999999999999", "1e9"} {
		out := faulty(p, 1, []string{"plan"}, "GET *: 429 retry-after="+value+" x*")
		if !strings.Contains(out, "429") && !strings.Contains(out, "the platform asks to wait until") {
			p.Errorf("%s: %s", value, out)
		}
	}
	faulty(p, 0, []string{"plan"}, "GET *: 429 retry-after=0 x2")
	p.write("manifests/purge.yaml", purgeNamed("rel-42", "/a"))
	faulty(p, 0, applied, "POST *: 429 x2")
	p.executed("rel-42", 1)
}

func refusedMidRun(p *place) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		p.write("manifests/"+name+".yaml", cdnOf(name, ""))
	}
	p.vars["TRUEUP_PARALLELISM"] = "1"
	for _, c := range []struct {
		effect     string
		code, sent int
		words      string
	}{
		{"401 @2 x*", 8, 2, "TRUEUP_DELIVERY_TOKEN"},
		{"403 x*", 8, 1, "the token in TRUEUP_DELIVERY_TOKEN must be of"},
		// The token created one before, so these are about each object.
		{"403 @2 x*", 5, 4, "the platform refuses this object, not the token"},
	} {
		out := faulty(p, c.code, applied, "POST *: "+c.effect)
		if sent := p.sent(); len(sent) != c.sent || !strings.Contains(out, c.words) || c.code == 8 && !strings.Contains(out, "skipped") {
			p.Errorf("%s: sent were %q\n%s", c.effect, sent, out)
		}
	}
	p.must(0, applied...)
}

func wrongWorkspace(p *place) {
	begin(p)
	p.must(0, applied...)
	p.sent()
	if err := p.server.SetQuirks("wrong-namespace-empty"); err != nil {
		p.Fatal(err)
	}
	p.must(6, applied...)
	p.nothingSent()
	if err := p.server.SetQuirks("wrong-address"); err != nil {
		p.Fatal(err)
	}
	p.must(1, applied...)
	if err := p.server.SetQuirks("other-workspace"); err != nil {
		p.Fatal(err)
	}
	p.run(applied...)
	p.nothingSent()
}

func successThatIsNone(p *place) {
	begin(p)
	for _, effect := range []string{"html", "empty", "not-json", "status-failure", "wrong-kind", "wrong-namespace"} {
		faulty(p, 1, applied, "GET */cdns: "+effect+" x*")
		p.nothingSent()
	}
	p.write("manifests/blog.yaml", cdnOf("blog", ""))
	faulty(p, 7, append(applied, "--target", "cdn/blog"), "POST /cdns: status-failure", "GET /cdns/blog: 404 x*")
	p.must(0, append(applied, "--target", "cdn/blog")...)
}

// proxiesAndRebinding: no name but those of the environment is ever looked up,
// and which proxy stands between is shown.
func proxiesAndRebinding(p *place) {
	at := p.listener()
	p.write("manifests/shop.yaml", cdnOf("shop", "  origin: http://"+at+"/\n"))
	// A proxy of the environment is not used for this machine itself.
	p.vars["HTTPS_PROXY"], p.vars["HTTP_PROXY"] = "http://"+at, "http://"+at
	p.must(0, applied...)
	p.says(0, []string{"doctor"}, "http://"+at, "HTTPS_PROXY")
	p.vars["HTTPS_PROXY"] = "http://me:sesame@" + at
	if _, out := p.run("doctor"); strings.Contains(out, "sesame") {
		p.Error("the password of a proxy is shown")
	}
	delete(p.vars, "HTTPS_PROXY")
	delete(p.vars, "HTTP_PROXY")
	// What the platform says to ask next is asked of the platform only.
	var asked atomic.Int64
	p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Link", "<http://"+at+"/next>; rel=\"next\"")
		asked.Add(1)
		if strings.HasSuffix(r.URL.Path, "/cdns") && r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"kind": "CDNList", "items": [], "next": "http://%s/next", "metadata": {"selfLink": "http://%s/", "continue": "http://%s/"}}`, at, at, at)
			return true
		}
		return false
	})
	p.run("plan")
	if asked.Load() == 0 {
		p.Error("the platform was not asked")
	}
	p.write("ca.pem", "no certificate")
	p.vars["TRUEUP_CA_FILE"] = "ca.pem"
	p.must(1, "plan")
}
