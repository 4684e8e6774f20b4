package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"trueup/internal/diag"
	"trueup/internal/sandbox"
)

// examined runs doctor and returns its JSON, which the published schema allows.
func (s *stage) examined(code int, args ...string) map[string]any {
	s.t.Helper()
	doc := decoded(s.t, s.must(code, append([]string{"doctor", "-o", "json"}, args...)...))
	if err := publishedSchema(s.t, "doctor.schema.json").Validate(doc); err != nil {
		s.t.Errorf("%#v", err)
	}
	if doc["result"] != diag.ExitName(code) || doc["exitCode"] != float64(code) {
		s.t.Errorf("result %v, exit code %v, want %d", doc["result"], doc["exitCode"], code)
	}
	return doc
}

// found is the status of a check and what it says.
func found(t *testing.T, doc map[string]any, group, check string) (status, says, fix string) {
	t.Helper()
	for _, each := range doc["checks"].([]any) {
		c := each.(map[string]any)
		if c["group"] == group && c["check"] == check {
			fix, _ = c["fix"].(string)
			return c["status"].(string), c["says"].(string), fix
		}
	}
	t.Fatalf("there is no check %s of %s", check, group)
	return "", "", ""
}

// finds asserts how checks ended: "GROUP CHECK: STATUS WORDS".
func finds(t *testing.T, doc map[string]any, wants ...string) {
	t.Helper()
	for _, want := range wants {
		place, rest, _ := strings.Cut(want, ": ")
		group, check, _ := strings.Cut(place, " ")
		wantStatus, words, _ := strings.Cut(rest, " ")
		status, says, fix := found(t, doc, group, check)
		if status != wantStatus || !strings.Contains(says+" "+fix, words) {
			t.Errorf("%s: %s %s (%s), want %s", place, status, says, fix, rest)
		}
	}
}

const shopManifest = "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec: {hostname: shop.example.com}\n"

func TestDoctorSaysWhatWorks(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", shopManifest)
	s.writes()
	doc := s.examined(diag.ExitOK)
	finds(
		t, doc,
		"project trueup.yaml: ok trueup.yaml", "project manifests: ok 1 object", "project configuration: ok no profile",
		"delivery token: ok there is one, from variable TRUEUP_DELIVERY_TOKEN", "delivery connection: ok answered in",
		"delivery certificate: skipped plain http", "delivery clock: ok apart",
		"delivery CDN: warn 0 CDNs found in workspace web-platform (3c9f2b6e-0d51-4a77-8f0e-5b1f7f1f2a90): is the UUID right?",
		"delivery Purge: skipped not tried: create, which needs the role cdn-purger",
		"compute VolumeSnapshot: ok may list (the list is empty); not tried: create, delete",
		"ledger store: ok readable, with the id", "ledger duplicates, delivery: skipped unknown",
	)
	if n := len(s.writes()); n != 0 {
		t.Errorf("doctor sent %d writes", n)
	}
	if lines := strings.Count(s.must(diag.ExitOK, "doctor"), "\n"); lines > 30 {
		t.Errorf("doctor prints %d lines", lines)
	}
}

// TestDoctorLooksAtTheRest where something is wrong or missing.
func TestDoctorLooksAtTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *stage)
		code   int
		finds  []string
	}{
		"no token": {
			func(s *stage) { delete(s.vars, "TRUEUP_DELIVERY_TOKEN") }, diag.ExitAuth,
			[]string{
				"delivery token: fail set TRUEUP_DELIVERY_TOKEN", "delivery connection: ok answered", "delivery CDN: skipped",
				"compute VolumeSnapshot: ok may", "ledger store: ok readable",
			},
		},
		"a wrong token": {
			func(s *stage) { s.vars["TRUEUP_DELIVERY_TOKEN"] = canary + "-wrong" }, diag.ExitAuth,
			[]string{"delivery token: ok", "delivery CDN: fail 401 Unauthorized", "compute VolumeSnapshot: ok may"},
		},
		"a token of the other area": {
			func(s *stage) { s.vars["TRUEUP_COMPUTE_TOKEN"] = canary + "-dlv" }, diag.ExitAuth,
			[]string{"compute VolumeSnapshot: fail use the token of a user who may manage VolumeSnapshot objects", "delivery CDN: warn 0 CDNs found"},
		},
		"an unreadable token": {
			func(s *stage) { s.vars["TRUEUP_DELIVERY_TOKEN"] = canary + " x" }, diag.ExitAuth,
			[]string{"delivery token: fail white space", "delivery connection: ok"},
		},
		"no address": {
			func(s *stage) { delete(s.vars, "TRUEUP_DELIVERY_URL") }, diag.ExitError,
			[]string{"delivery connection: fail set TRUEUP_DELIVERY_URL", "delivery token: ok", "compute connection: ok answered"},
		},
		"nobody listens": {
			func(s *stage) { s.vars["TRUEUP_COMPUTE_URL"] = "http://127.0.0.1:1/compute" }, diag.ExitNeedsPerson,
			[]string{"compute connection: fail connection refused", "compute VolumeSnapshot: skipped", "delivery CDN: warn 0 CDNs found", "ledger store: fail"},
		},
		"no such host": {
			func(s *stage) { s.vars["TRUEUP_COMPUTE_URL"] = "https://platform.invalid/compute" }, diag.ExitNeedsPerson,
			[]string{"compute connection: fail check the address; HTTPS_PROXY or proxy", "delivery CDN: warn 0 CDNs found"},
		},
		"http": {
			func(s *stage) { s.vars["TRUEUP_COMPUTE_URL"] = "http://platform.example.com/compute" }, diag.ExitError,
			[]string{"compute connection: fail TRUEUP_COMPUTE_URL: base address is http", "delivery CDN: warn 0 CDNs found"},
		},
		"one area alone": {
			func(s *stage) { delete(s.vars, "TRUEUP_COMPUTE_URL"); delete(s.vars, "TRUEUP_COMPUTE_TOKEN") }, diag.ExitOK,
			[]string{"compute connection: skipped no manifest needs it", "delivery CDN: warn 0 CDNs found"},
		},
		"another workspace": {
			func(s *stage) {
				s.must(diag.ExitOK, "apply", "--auto-approve")
				s.quirky("other-workspace")
			}, diag.ExitError,
			[]string{"delivery CDN: fail compare workspace: in trueup.yaml", "compute VolumeSnapshot: ok may list (the list is empty)"},
		},
		"no project": {
			func(s *stage) { s.write("elsewhere/x", "") }, diag.ExitError,
			[]string{
				"project trueup.yaml: fail run trueup init", "project manifests: skipped", "delivery connection: ok answered",
				"delivery CDN: skipped needs a workspace", "ledger store: skipped no trueup.yaml names a ledger",
			},
		},
		"a broken project": {
			func(s *stage) { s.more("nonsense: true\n") }, diag.ExitError,
			[]string{`project trueup.yaml: fail unknown field "nonsense"`, "delivery connection: ok answered"},
		},
		"broken manifests": {
			func(s *stage) { s.write("manifests/shop.yaml", shopManifest+"  nonsense\n") }, diag.ExitError,
			[]string{"project manifests: fail trueup validate shows them", "delivery CDN: warn 0 CDNs found"},
		},
		"no such profile": {
			func(s *stage) { s.vars["TRUEUP_PROFILE"], s.vars["HOME"] = "prod", s.dir }, diag.ExitError,
			[]string{"project configuration: fail TRUEUP_PROFILE is prod, but the file ", "delivery CDN: warn 0 CDNs found"},
		},
		"a profile's token and another address": {
			func(s *stage) {
				s.write(".config/trueup/config.yaml", configHead+"profiles: {prod: {delivery: {url: 'https://prod.invalid/', token: {env: HELD}}}}")
				s.vars["TRUEUP_PROFILE"], s.vars["HOME"] = "prod", s.dir
				s.vars["HELD"] = s.vars["TRUEUP_DELIVERY_TOKEN"]
				delete(s.vars, "TRUEUP_DELIVERY_TOKEN")
			}, diag.ExitAuth,
			[]string{"project configuration: fail TRUEUP_DELIVERY_URL overrides", "delivery token: fail TRUEUP_DELIVERY_URL overrides", "delivery CDN: skipped"},
		},
		"no ledger": {
			func(s *stage) { s.vars["TRUEUP_LEDGER"] = "file:elsewhere" }, diag.ExitNeedsPerson,
			[]string{
				"ledger store: fail missing at file:elsewhere", "delivery token: fail trueup does not send it: ledger", "delivery token: fail TRUEUP_WORKSPACE",
				"delivery connection: ok answered", "delivery CDN: skipped",
			},
		},
		"no ledger, and a workspace that is pinned": {
			func(s *stage) {
				s.vars["TRUEUP_LEDGER"], s.vars["TRUEUP_WORKSPACE"] = "file:elsewhere", workspace.UUID
			}, diag.ExitNeedsPerson,
			[]string{"ledger store: fail missing at file:elsewhere", "delivery CDN: warn 0 CDNs found"},
		},
		"another workspace than is pinned": {
			func(s *stage) { s.vars["TRUEUP_WORKSPACE"] = "5a1d" }, diag.ExitError,
			[]string{
				"project trueup.yaml: fail names workspace " + workspace.UUID + ", and TRUEUP_WORKSPACE allows only 5a1d",
				"delivery token: fail trueup does not send it", "delivery connection: ok answered", "delivery CDN: skipped",
			},
		},
		"another address than the ledger's": {
			func(s *stage) { s.vars["TRUEUP_DELIVERY_URL"] += "/" + "other" }, diag.ExitNeedsPerson,
			[]string{
				"delivery token: fail trueup does not send it: ledger", "delivery connection: ok answered", "delivery CDN: skipped",
				"compute VolumeSnapshot: ok may", "ledger store: fail was made for the delivery area",
			},
		},
		"no such store": {
			func(s *stage) { s.vars["TRUEUP_LEDGER"] = "s4://bucket" }, diag.ExitError,
			[]string{"ledger store: fail is not of the form", "delivery token: fail trueup does not send it", "delivery CDN: skipped"},
		},
		"clocks apart": {
			func(s *stage) { s.passed = -time.Hour }, diag.ExitOK,
			[]string{"delivery clock: warn the platform's is 1h0m0s ahead of this machine's", "delivery CDN: warn 0 CDNs found"},
		},
	} {
		s := newStage(t)
		s.write("manifests/shop.yaml", shopManifest)
		c.change(s)
		args := []string{}
		if name == "no project" {
			args = []string{"-C", t.TempDir()}
		}
		t.Log(name)
		finds(t, s.examined(c.code, args...), c.finds...)
	}
}

func TestDoctorWithoutGit(t *testing.T) {
	t.Setenv("PATH", "")
	s := newStage(t)
	s.vars["TRUEUP_LEDGER"] = "git:refs/trueup/ledger"
	finds(t, s.examined(diag.ExitError), "ledger store: fail it can't be read, so trueup does not know what was sent: read ledger refs/trueup/ledger of remote origin: git is not installed, or not in PATH: install git")
}

func TestDoctorInTheSandbox(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", shopManifest)
	proxy := newTunnel(t, "127.0.0.1:1")
	s.vars = map[string]string{"HTTPS_PROXY": proxy.URL, "TRUEUP_PROFILE": "none"}
	doc := s.examined(diag.ExitOK, "--sandbox")
	if doc["sandbox"] != true {
		t.Errorf("%v", doc)
	}
	finds(t, doc, "delivery CDN: ok may list (the list is empty)", "delivery token: ok the sandbox's own")
}

// TestDoctorShowsWhoChoseEachValue and shows no secret, which run looks for.
func TestDoctorShowsWhoChoseEachValue(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", shopManifest)
	s.write("config/trueup/config.yaml", configHead+"profiles:\n  prod:\n    delivery:\n      url: "+s.vars["TRUEUP_DELIVERY_URL"]+
		"\n      token: {exec: {command: [sh, -c, 'echo "+strings.ReplaceAll(canary, "-", "-\"\"")+"-dlv']}}\n    compute: {token: {env: COMPUTE}}\n")
	s.vars["XDG_CONFIG_HOME"] = s.dir + "/config"
	s.vars["COMPUTE"] = s.vars["TRUEUP_COMPUTE_TOKEN"]
	delete(s.vars, "TRUEUP_DELIVERY_URL")
	delete(s.vars, "TRUEUP_DELIVERY_TOKEN")
	out := s.must(diag.ExitOK, "doctor", "--profile", "prod")
	for _, want := range []string{
		"profile +prod +--profile", "compute.url +http.* +TRUEUP_COMPUTE_URL", "compute.token +variable TRUEUP_COMPUTE_TOKEN",
		"delivery.url +http.* +profile prod at .*config.yaml", "delivery.token +command sh +profile prod at .*config.yaml",
		"ledger.store +file:ledger +trueup.yaml",
		"warn .*TRUEUP_COMPUTE_TOKEN overrides the token in profile prod",
	} {
		if !matches(out, want) {
			t.Errorf("doctor does not show %q:\n%s", want, out)
		}
	}
	// A run of the same says so too.
	if _, _, errs := s.run("plan", "--profile", "prod"); !strings.Contains(errs, "TRUEUP_COMPUTE_TOKEN overrides the token in profile prod: unset it") {
		t.Errorf("%s", errs)
	}
}

// TestDoctorRepeatsNoPasswordOfAnAddress, wherever somebody has put one; run
// looks for the canary.
func TestDoctorRepeatsNoPasswordOfAnAddress(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", shopManifest)
	for name, values := range map[string][]string{
		"TRUEUP_DELIVERY_URL": {"https://me:" + canary + "@h/", "https://" + canary + "@h/", "https://h/?token=" + canary, canary + " x"},
		"TRUEUP_LEDGER": {
			"s3://me:" + canary + "@bucket/x", "s3://bucket/x?endpoint=https://me:" + canary + "@h", "git:refs/x@https://me:" + canary + "@h/x.git",
			"https://me:" + canary + "@h/x",
		},
		"HTTPS_PROXY": {"http://me:" + canary + "@127.0.0.1:1", "ftp://me:" + canary + "@h", "me:" + canary + "@127.0.0.1:1"},
	} {
		for _, value := range values {
			usual := s.vars
			s.vars = maps.Clone(usual)
			if name == "HTTPS_PROXY" {
				s.vars["TRUEUP_DELIVERY_URL"] = "https://platform.invalid/v2"
			}
			s.vars[name] = value
			for _, args := range [][]string{{"doctor"}, {"doctor", "-o", "json", "-v"}, {"plan", "-v"}, {"ledger", "ls"}} {
				s.run(args...)
			}
			s.vars = usual
		}
	}
}

// TestDoctorWithoutItsSandbox looks at no real platform and no real ledger in
// its place.
func TestDoctorWithoutItsSandbox(t *testing.T) {
	s := newStage(t)
	other, err := sandbox.Open(sandbox.ServerOptions{Dir: filepath.Join(s.dir, ".trueup", "sandbox"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	out := s.must(diag.ExitError, "doctor", "--sandbox")
	if !strings.Contains(out, "another process has it open: end that first") || strings.Contains(out, "ledger") || strings.Contains(out, "TRUEUP_") {
		t.Error(out)
	}
}

// TestDoctorSeesTheCertificate that is trusted but ends soon, and one that is
// not trusted.
func TestDoctorSeesTheCertificate(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", shopManifest)
	address, pemText := s.overTLS(time.Now().Add(5*24*time.Hour + time.Hour))
	s.vars["TRUEUP_DELIVERY_URL"] = address
	s.without()
	finds(
		t, s.examined(diag.ExitNeedsPerson), "delivery connection: fail TRUEUP_CA_FILE or caFile a certificate authority to trust",
		"delivery certificate: warn issued by CN=a test of doctor", "delivery certificate: warn it expires in 5 days",
	)
	s.write("ca.pem", pemText)
	s.vars["TRUEUP_CA_FILE"] = "ca.pem"
	doc := s.examined(diag.ExitNeedsPerson)
	finds(t, doc, "delivery connection: ok TLS 1.3", "delivery certificate: warn it expires in 5 days", "delivery CDN: warn 0 CDNs found")
	s.write("ca.pem", "nonsense")
	finds(t, s.examined(diag.ExitNeedsPerson), "project configuration: fail has no PEM certificate")
}

// TestDoctorSeesABadCertificate: one that no setting makes good, whoever made it.
func TestDoctorSeesABadCertificate(t *testing.T) {
	s := newStage(t)
	s.write("manifests/shop.yaml", shopManifest)
	expired, _ := s.overTLS(time.Now().Add(-time.Minute))
	s.vars["TRUEUP_DELIVERY_URL"] = expired
	doc := s.examined(diag.ExitNeedsPerson)
	finds(t, doc, "delivery connection: fail has expired", "delivery certificate: fail it has expired ask the operator of the platform to renew it")
	other, _ := s.overTLS(time.Now().Add(time.Hour))
	s.vars["TRUEUP_DELIVERY_URL"] = strings.Replace(other, "127.0.0.1", "localhost", 1)
	finds(t, s.examined(diag.ExitNeedsPerson), "delivery connection: fail wanted to match localhost")
}

// overTLS serves the platform with a certificate that is valid until then.
func (s *stage) overTLS(until time.Time) (address, pemText string) {
	cert, pemText := certificate(s.t, until)
	web := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	web.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	s.t.Cleanup(web.Close)
	return web.URL + sandbox.DeliveryBase, pemText
}

// certificate is one of its own authority, for loopback.
func certificate(t *testing.T, until time.Time) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test of doctor"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func matches(text, pattern string) bool { return regexp.MustCompile(pattern).MatchString(text) }
