package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"trueup/internal/diag"
)

// outsideTexts are what a terminal, a workflow runner or a comment would execute
// or be led astray by.
var outsideTexts = map[string]string{
	"escapes":     "\x1b[2J\x1b]8;;http://evil.example\ax\x1b]8;;\a\x1b]52;c;ZXZpbA==\a\b\a\x7f",
	"split lines": "a\r::error::x\r\n::stop-commands::t\n::add-mask::a",
	"command":     "::error::x",
	"indented":    "  ::set-output name=a::b",
	"legacy":      "##[group]x ##vso[task.setvariable variable=a]y",
	"invisible":   "a\u0085\u009b31m\u202e\u2066\u200b\u2028\u2029\ufeff\u00ad\ufe0f\u2800\u3164\u180b\U000e0041",
	"raw C1":      "\x9b31m\x80\xff",
	"comment":     "```\n</details><img src=x>[a](http://evil.example) @octocat",
}

// checkHarmless holds what is true of all that reaches a terminal or a log: lines of
// visible characters, none of which a workflow runner takes for a command.
func checkHarmless(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: not UTF-8: %q", what, text)
	}
	for _, r := range text {
		if r != '\n' && (!unicode.IsPrint(r) || diag.IsInvisible(r)) {
			t.Errorf("%s: %U in %q", what, r, text)
			break
		}
	}
	if strings.Contains(text, "##[") || strings.Contains(text, "##vso[") {
		t.Errorf("%s: legacy workflow command in %q", what, text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("%s: workflow command %q", what, line)
		}
	}
}

// source is a way in for text from outside: it makes runs that show it, or, as
// an address may hold a password, none of it.
type source struct {
	name string
	runs func(s *stage, text string) [][]string
}

const neverShown = "addresses"

// inQuotes is a text as YAML and JSON write it. Bytes that are no UTF-8 stay.
func inQuotes(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "\\x9b")) }

func sourcesOfText() []source {
	return []source{
		{"arguments", func(_ *stage, p string) [][]string {
			return [][]string{
				{p},
				{"plan", "--" + p},
				{"plan", p},
				{"plan", "-o", p},
				{"plan", "--report", p},
				{"plan", "--report", "json=no/" + p},
				{"plan", "--accept", p},
				{"plan", "--target", p},
				{"plan", "--target", "cdn/" + p},
				{"plan", "--accept", "take-over=cdn/" + p},
				{"plan", "-C", p},
				{"explain", p},
				{"explain", "cdn.spec." + p},
				{"help", p},
				{"help", "plan", p},
				{"ledger", p},
				{"ledger", "show", p},
				{"ledger", "show", "cdn/" + p},
				{"ledger", "adopt", "cdn/" + p},
				{"ledger", "import", p},
				{"ledger", "export", "no/" + p},
				{"ledger", "resolve", "cdn/" + p, "--posted", "--reason", p},
				{"ledger", "init", "--adopt", p},
				{"doctor", "--probe-duplicates", p},
				{"sandbox", "--listen", p},
				{"sandbox", "--quirk", p},
				{"completion", p},
				{"init", "--ci", p},
				{"init", "--ci", "github", "--trueup", p},
				{"init", "--ci", "github", "--trueup", "a/b@0123456789abcdef0123456789abcdef01234567", "--branch", p},
				{"__complete", "plan", p},
				{"version", p},
			}
		}},
		{"file names", func(s *stage, p string) [][]string {
			name := strings.ReplaceAll(p, "/", "_")
			s.write("odd/"+name+".yaml", "kind: [")
			s.write("odd/"+name+"2.yaml", adoptedCDN)
			return [][]string{{"validate", "odd"}, {"validate", "odd", "-o", "markdown"}, {"validate", "odd", "-o", "json"}, {"plan", "odd/" + name + "2.yaml"}}
		}},
		{"manifests", func(s *stage, p string) [][]string {
			s.write("odd/a.yaml", fmt.Sprintf("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: %s}\nspec: {hostname: %s, %s: 1}\n", inQuotes(p), inQuotes(p), inQuotes(p)))
			s.write("odd/b.yaml", "kind: "+p)
			s.write("odd/c.yaml", "# "+p+"\nkind: CDN\n"+p)
			return [][]string{{"validate", "odd"}, {"validate", "odd", "-o", "markdown"}, {"validate", "odd", "-o", "json"}, {"plan", "odd"}}
		}},
		{"values", func(s *stage, p string) [][]string {
			s.write("odd/a.yaml", strings.Replace(adoptedCDN, "spec:", fmt.Sprintf("spec:\n  description: %s\n  headers: {%s: %s}", inQuotes(p), inQuotes(p), inQuotes(p)), 1))
			return [][]string{{"plan", "odd"}, {"plan", "odd", "-o", "markdown", "-v"}, {"plan", "odd", "-o", "json"}}
		}},
		{"project", func(s *stage, p string) [][]string {
			s.write("odd/trueup.yaml", "apiVersion: trueup/v1\nkind: Project\n"+inQuotes(p)+": 1\n")
			s.write("odder/trueup.yaml", p+": [")
			s.write("oddest/trueup.yaml", "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: a, uuid: b}\nmanifests: ["+inQuotes(p)+"]\nledger: {store: "+inQuotes(p)+", id: "+inQuotes(p)+"}\n")
			return [][]string{{"plan", "-C", "odd"}, {"plan", "-C", "odder"}, {"plan", "-C", "oddest"}, {"doctor", "-C", "oddest"}, {"ledger", "ls", "-C", "oddest"}}
		}},
		{"environment", func(s *stage, p string) [][]string {
			for _, name := range []string{"USER", "GITHUB_ACTOR", "GITHUB_RUN_ID", "GITHUB_REPOSITORY", "GITHUB_SHA"} {
				s.vars[name] = p
			}
			return [][]string{{"plan"}, {"doctor"}, {"ledger", "adopt", "cdn/shop", "--reason", p}, {"ledger", "show", "cdn/shop"}, {"ledger", "show", "cdn/shop", "-o", "json"}, {"ledger", "export"}}
		}},
		{neverShown, func(s *stage, p string) [][]string {
			s.vars["TRUEUP_DELIVERY_URL"] = p
			return [][]string{{"plan"}, {"doctor"}}
		}},
		{"the ledger's place", func(s *stage, p string) [][]string {
			s.vars["TRUEUP_LEDGER"] = "git:refs/trueup/" + p
			return [][]string{{"ledger", "ls"}}
		}},
		{"errors of the platform", func(s *stage, p string) [][]string {
			body, _ := json.Marshal(map[string]any{"kind": "Status", "apiVersion": "v1", "message": p, "reason": p, "code": 400})
			s.elsewhere(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write(body)
			})
			return [][]string{{"plan"}, {"plan", "-v"}, {"plan", "-o", "json"}, {"doctor"}}
		}},
		{"text of the platform", func(s *stage, p string) [][]string {
			s.elsewhere(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusBadGateway)
				_, _ = w.Write([]byte(p))
			})
			return [][]string{{"plan"}, {"plan", "-o", "markdown"}}
		}},
		{"headers of the platform", func(s *stage, p string) [][]string {
			// The library lets no line break into a header.
			value := strings.NewReplacer("\r", "", "\n", "").Replace(p)
			s.elsewhere(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Warning", `299 - "`+value+`"`)
				w.Header().Set("Location", "http://"+value)
				w.Header().Set("Content-Type", value)
				w.Header().Set("Server", value)
				w.WriteHeader(http.StatusFound)
			})
			return [][]string{{"plan"}, {"plan", "-v"}}
		}},
		{"live objects", func(s *stage, p string) [][]string {
			item := map[string]any{
				"apiVersion": "delivery/v2.1", "kind": "CDN", "metadata": map[string]any{"name": p, "uid": p, "labels": map[string]any{p: p}},
				"spec": map[string]any{"hostname": p, p: p, "locations": []any{map[string]any{"path": p}}},
			}
			body, _ := json.Marshal(map[string]any{"apiVersion": "delivery/v2.1", "kind": "CDNList", "metadata": map[string]any{}, "items": []any{item}})
			s.elsewhere(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Warning", `299 - "`+strings.NewReplacer("\r", "", "\n", "").Replace(p)+`"`)
				_, _ = w.Write(body)
			})
			return [][]string{{"plan", "-v"}, {"plan", "-v", "-o", "markdown"}, {"plan", "-o", "json"}, {"drift", "-v"}}
		}},
		{"the code host", codeHostSays},
		{"certificates", func(s *stage, p string) [][]string {
			s.vars["TRUEUP_DELIVERY_URL"] = certified(s.t, p, filepath.Join(s.dir, "ca.pem"))
			s.without()
			return [][]string{{"plan"}}
		}},
		{"trusted certificates", func(s *stage, p string) [][]string {
			s.vars["TRUEUP_DELIVERY_URL"] = certified(s.t, p, filepath.Join(s.dir, "ca.pem"))
			s.vars["TRUEUP_CA_FILE"] = "ca.pem"
			s.without()
			s.vars["TRUEUP_REQUEST_TIMEOUT"] = "1s"
			return [][]string{{"plan"}}
		}},
	}
}

// elsewhere lets runs talk to another platform.
func (s *stage) elsewhere(answer http.HandlerFunc) {
	web := httptest.NewServer(answer)
	s.t.Cleanup(web.Close)
	s.vars["TRUEUP_DELIVERY_URL"], s.vars["TRUEUP_COMPUTE_URL"] = web.URL+"/delivery/v2.1", web.URL+"/compute/v1"
	s.without()
}

// certified is the address of a server whose certificate says a text wherever it
// can; the certificate is written to the file.
func certified(t *testing.T, text, file string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	name := pkix.Name{CommonName: strings.ToValidUTF8(text, "?"), Organization: []string{strings.ToValidUTF8(text, "?")}}
	ascii := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return 'x'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: name, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, DNSNames: []string{ascii},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.NotFoundHandler())
	web.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	t.Cleanup(web.Close)
	return strings.Replace(web.URL, "127.0.0.1", "localhost", 1) + "/delivery/v2.1"
}

// TestNoTextFromOutsideIsMoreThanText: whatever comes in, by whichever way, goes
// out as text, on both streams and in every format; and of each way some of it
// does come out.
func TestNoTextFromOutsideIsMoreThanText(t *testing.T) {
	for _, from := range sourcesOfText() {
		t.Run(from.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.write("manifests/shop.yaml", adoptedCDN)
			vars, seen, last := maps.Clone(s.vars), false, ""
			for name, text := range outsideTexts {
				s.vars = maps.Clone(vars)
				if err := os.RemoveAll(filepath.Join(s.dir, "odd")); err != nil {
					t.Fatal(err)
				}
				for _, args := range from.runs(s, text) {
					what := fmt.Sprintf("%s, %q", name, args)
					var out, errs bytes.Buffer
					Main(t.Context(), args, s.env(&out, &errs))
					if out.Len()+errs.Len() == 0 {
						t.Errorf("%s: nothing was said", what)
					}
					last = errs.String()
					seen = seen || strings.Contains(out.String()+errs.String(), "evil.example")
					checkHarmless(t, what, out.String())
					checkHarmless(t, what, errs.String())
				}
			}
			if seen == (from.name == neverShown) {
				t.Errorf("some of it was shown: %v; at last: %s", seen, last)
			}
		})
	}
}
