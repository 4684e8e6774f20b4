package cli

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"trueup/internal/diag"
	"trueup/internal/sandbox"
)

// tunnel is a proxy that leads every CONNECT to one server.
type tunnel struct {
	*httptest.Server
	used atomic.Int64
	// answer is what it says instead of connecting, 0 for nothing.
	answer int
	// user is who may use it, empty for everybody.
	user string
}

func newTunnel(t *testing.T, to string) *tunnel {
	t.Helper()
	p := &tunnel{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.used.Add(1)
		status := p.answer
		if p.user != "" && r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(p.user)) {
			status = http.StatusProxyAuthRequired
		}
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		here, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			_, _ = io.Copy(there, buffered)
			_ = there.Close()
		}()
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// behindTLS puts the stage's platform at https://example.com, which is reached
// through a proxy alone.
func (s *stage) behindTLS() *tunnel {
	s.t.Helper()
	web := httptest.NewTLSServer(http.HandlerFunc(s.serve))
	s.t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	s.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
	s.vars["TRUEUP_DELIVERY_URL"] = "https://example.com" + sandbox.DeliveryBase
	delete(s.vars, "TRUEUP_COMPUTE_URL")
	delete(s.vars, "TRUEUP_COMPUTE_TOKEN")
	s.vars["TRUEUP_CA_FILE"] = "ca.pem"
	s.without()
	s.write("manifests/shop.yaml", "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec: {hostname: shop.example.com}\n")
	return newTunnel(s.t, web.Listener.Addr().String())
}

func TestAProxyOfTheEnvironmentIsUsedAndItsPasswordIsNotShown(t *testing.T) {
	s := newStage(t)
	proxy := s.behindTLS()
	proxy.user = "me:" + canary
	s.vars["HTTPS_PROXY"] = strings.Replace(proxy.URL, "http://", "http://me:"+canary+"@", 1)
	code, out, errs := s.run("plan", "-v")
	if code != diag.ExitOK || proxy.used.Load() == 0 || !strings.Contains(errs, "GET https://example.com/") {
		t.Errorf("exit %d, %d uses\n%s%s", code, proxy.used.Load(), out, errs)
	}
	out = s.must(diag.ExitNeedsPerson, "doctor")
	host := strings.TrimPrefix(proxy.URL, "http://")
	for _, want := range []string{"through the proxy " + host, "http://***@" + host, "HTTPS_PROXY", "TLS 1.3", "issued by O=Acme Co, valid until 2084"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
}

func TestAnErrorOfAProxyNamesTheProxy(t *testing.T) {
	s := newStage(t)
	proxy := s.behindTLS()
	host := strings.TrimPrefix(proxy.URL, "http://")
	for name, c := range map[string]struct {
		address      string
		answer       int
		user, says   string
		neverReached bool
	}{
		"refuses":         {address: proxy.URL, answer: 502, says: "the proxy " + host + " answered 502 Bad Gateway: this answer is from the proxy, not the platform"},
		"wants a user":    {address: proxy.URL, user: "me:x", says: "answered 407 Proxy Authentication Required: write its user and password"},
		"wrong password":  {address: "http://me:" + canary + "@" + host, user: "me:x", says: "answered 407"},
		"not there":       {address: "http://127.0.0.1:1", says: "the proxy can't be reached: dial tcp 127.0.0.1:1: connect: connection refused", neverReached: true},
		"no address":      {address: "http://%zz" + canary, says: "HTTPS_PROXY: it is not the address of a proxy", neverReached: true},
		"no scheme known": {address: "ftp://" + canary, says: "HTTPS_PROXY: the scheme of a proxy must be", neverReached: true},
	} {
		proxy.answer, proxy.user = c.answer, c.user
		proxy.used.Store(0)
		s.vars["HTTPS_PROXY"] = c.address
		code, _, errs := s.run("plan")
		if code != diag.ExitError || !strings.Contains(errs, c.says) || (proxy.used.Load() == 0) != c.neverReached {
			t.Errorf("%s: exit %d, %d uses: %s, want %q", name, code, proxy.used.Load(), errs, c.says)
		}
		if out := s.must(diag.ExitNeedsPerson, "doctor"); !strings.Contains(out, strings.TrimPrefix(c.says, "HTTPS_PROXY: ")) {
			t.Errorf("%s: doctor does not say so:\n%s", name, out)
		}
	}
}

func TestWhatIsNeverProxied(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec: {hostname: shop.example.com}\n")
	proxy := newTunnel(t, "127.0.0.1:1")
	// Loopback, over http or not, whatever the variables say.
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "ALL_PROXY"} {
		s.vars[name] = proxy.URL
	}
	s.must(diag.ExitOK, "plan")
	s.must(diag.ExitOK, "plan", "--sandbox")
	s.without()
	s.vars["TRUEUP_DELIVERY_URL"] = "https://platform.localhost:1/delivery/v2.1"
	s.must(diag.ExitError, "plan")
	// What NO_PROXY names.
	s.vars["TRUEUP_DELIVERY_URL"] = "https://platform.invalid/delivery/v2.1"
	s.vars["NO_PROXY"] = ".invalid"
	s.must(diag.ExitError, "plan")
	if n := proxy.used.Load(); n != 0 {
		t.Errorf("the proxy was used %d times", n)
	}
	delete(s.vars, "NO_PROXY")
	s.must(diag.ExitError, "plan")
	if proxy.used.Load() == 0 {
		t.Error("the proxy was not used where it should be: the test proves nothing")
	}
}
