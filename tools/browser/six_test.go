package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// edits are six changes that a day brings, each with the command that shows it.
var edits = []struct {
	name, command string
	make          func(*world)
}{
	{"1-ttl", "plan", func(w *world) {
		w.change("shop-07", `edgeTTL: "60", ttlTimeUnit: second}}`+"\n  upstreams", `edgeTTL: "300", ttlTimeUnit: second}}`+"\n  upstreams")
	}},
	{"2-rename-host", "plan", func(w *world) { w.change("shop-07", "shop-07.example.com", "brot.example.com") }},
	{"3-rename-rule", "plan", func(w *world) { w.change("shop-07", "name: limit-bots", "name: limit-known-bots") }},
	{"4-purge", "plan", func(w *world) {
		w.trueup(0, "new", "purge", "--hostname", "shop-07.example.com", "/prices.html", "--name", "prices", "-q", "--sandbox")
	}},
	{"5-hotfix", "plan", hotfix},
	{"5-hotfix-drift", "drift", hotfix},
	{"6-colleague", "plan", func(w *world) {
		text := w.read("manifests/shop-08.yaml")
		w.write("manifests/shop-09.yaml", strings.ReplaceAll(text, "shop-08", "shop-09"))
		w.change("shop-02", offers, "")
		if err := os.Remove(w.path("manifests/shop-03.yaml")); err != nil {
			w.Fatal(err)
		}
	}},
}

// change replaces text in a shop's manifest, wherever it is.
func (w *world) change(shop, old, now string) {
	w.Helper()
	name := "manifests/" + shop + ".yaml"
	text := w.read(name)
	old, now = strings.ReplaceAll(old, "NAME", shop), strings.ReplaceAll(now, "NAME", shop)
	if !strings.Contains(text, old) {
		w.Fatalf("%s lacks %q", name, old)
	}
	w.write(name, strings.ReplaceAll(text, old, now))
}

// hotfix changes live as somebody at the console would.
func hotfix(w *world) {
	other := &world{TB: w, dir: filepath.Join(filepath.Dir(w.dir), "console")}
	if err := os.CopyFS(other.dir, os.DirFS(w.dir)); err != nil {
		w.Fatal(err)
	}
	other.change("shop-04", `path: "/static/*", host: NAME.example.com, action: proxy_http, upstream: origin, cache: {level: standard, edgeTTL: "3600"`,
		`path: "/static/*", host: NAME.example.com, action: proxy_http, upstream: origin, cache: {level: standard, edgeTTL: "5"`)
	other.change("shop-04", `weight: "1"`, `weight: "7"`)
	other.trueup(0, "apply", "--sandbox", "--auto-approve", "-q")
	const platform = ".trueup/sandbox/sandbox.db"
	w.write(platform, other.read(platform))
}

const offers = `    - {path: "/offers/*", host: NAME.example.com, action: proxy_http, upstream: origin, cache: {level: standard, edgeTTL: "60", ttlTimeUnit: second}}
`

// bakery is a project of eight shops, all applied.
func bakery(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, dir: filepath.Join(t.TempDir(), "bakery")}
	w.write("trueup.yaml", "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: bakery, uuid: 0b6f7d52-93b4-4a0f-8f3e-5c1f2f8f7a01}\nmanifests: [manifests]\n")
	w.write(".gitignore", "/.trueup\n/report.*\n")
	for _, shop := range strings.Fields("shop-01 shop-02 shop-03 shop-04 shop-05 shop-06 shop-07 shop-08") {
		names := strings.NewReplacer("NAME", shop, "NUMBER", strings.TrimPrefix(shop, "shop-"))
		w.write("manifests/"+shop+".yaml", names.Replace(shopManifest))
	}
	w.write("../origin/.keep", "")
	w.git("init", "-q", "--bare", "../origin")
	w.git("init", "-q", "-b", "main")
	w.git("remote", "add", "origin", "../origin")
	w.git("add", ".")
	w.git("commit", "-q", "-m", "All shops")
	w.git("push", "-q", "-u", "origin", "main")
	w.trueup(0, "apply", "--sandbox", "--auto-approve", "-q")
	return w
}

const shopManifest = `apiVersion: delivery/v2.1
kind: CDN
metadata: {name: NAME}
spec:
  hostname: NAME.example.com
  locations:
    - {path: "/static/*", host: NAME.example.com, action: proxy_http, upstream: origin, cache: {level: standard, edgeTTL: "3600", ttlTimeUnit: second}}
    - {path: "/img/*", host: NAME.example.com, action: proxy_http, upstream: origin, cache: {level: standard, edgeTTL: "3600", ttlTimeUnit: second}}
    - {path: "/api/*", host: NAME.example.com, action: proxy_http, upstream: origin}
    - {path: "/cart", host: NAME.example.com, action: proxy_http, upstream: origin}
` + offers + `    - {path: "/*", host: NAME.example.com, action: proxy_http, upstream: origin, cache: {level: standard, edgeTTL: "60", ttlTimeUnit: second}}
  upstreams:
    - {name: origin, scheme: https, hc2: {protocol: tcp}, servers: [{host: origin-NUMBER.example.com, port: "443", weight: "1"}]}
  tls: {enabled: "true", auto: "true", forced: "true"}
  firewall:
    enabled: true
    rules:
      - name: limit-bots
        enabled: true
        constraints: [[{type: known_bots, known_bots: {expected: "true", operator: equals}}]]
        action: {type: ratelimit, ratelimit: {algorithm: sliding_window, rate: 100, period: 60, penalty_period: 300, identifier: {type: ip}, statusCode: "429", validationStatusCode: "403"}}
`

// shown is what a version shows of an edit.
type shown struct{ narrow, wide, markdown, page string }

// show runs the command of an edit on a project of its own.
func (w *world) show(command string) shown {
	w.Helper()
	s := shown{narrow: w.onTerminal(80, command, "--sandbox"), wide: w.onTerminal(120, command, "--sandbox")}
	s.markdown = w.read(filepath.Base(w.report("markdown", command, "--sandbox")))
	s.page = w.read(filepath.Base(w.report("html", command, "--sandbox")))
	return shown{steady(s.narrow), steady(s.wide), steady(s.markdown), steady(s.page)}
}

// Limits of the pictures of the six edits, in bytes.
const (
	maxSmall = 120_000
	maxAll   = 600_000
)

// drawn is the folder of what the six edits show.
var drawn = filepath.Join("tools", "browser", "pictures")

// TestSixEdits: the texts and pictures beside this file show what the program says today
// of six edits. With -pictures they are made anew.
func TestSixEdits(t *testing.T) {
	start(t)
	for _, edit := range edits {
		t.Run(edit.name, func(t *testing.T) {
			w := bakery(t)
			w.git("switch", "-q", "-c", "edit")
			edit.make(w)
			w.git("add", ".")
			w.git("commit", "-q", "--allow-empty", "-m", "An edit")
			s := w.show(edit.command)
			w.write("report.html", s.page)
			page := eval[string](open(t, w.path("report.html"), desk), `document.body.innerText`)
			text := "== terminal, 80 columns\n" + plainText(s.narrow) + "\n== terminal, 120 columns\n" + plainText(s.wide) +
				"\n== Markdown\n" + s.markdown + "\n== HTML\n" + page + "\n"
			sameText(t, filepath.Join(drawn, edit.name+".txt"), text)
			if *pictures {
				drawEdit(t, edit.name, s)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(root(t), drawn, "*.png"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no pictures", err)
	}
	all := int64(0)
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if all += info.Size(); info.Size() > maxSmall {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
	if all > maxAll {
		t.Errorf("the pictures have %d bytes", all)
	}
}

// drawEdit draws the four views of an edit.
func drawEdit(t testing.TB, name string, s shown) {
	t.Helper()
	w := &world{TB: t, dir: t.TempDir()}
	w.write("80.html", terminalPage(t, s.narrow, true))
	w.write("120.html", terminalPage(t, s.wide, false))
	w.write("markdown.html", commentPage(t, s.markdown))
	w.write("page.html", s.page)
	for _, view := range []struct {
		name, part string
		colours    int
		look       look
	}{
		{"80", "pre", 28, look{width: 800, height: 600}},
		{"120", "pre", 28, look{width: 1100, height: 600}},
		{"markdown", ".comment", 28, look{width: 860, height: 620}},
		{"page", "", 32, look{width: 1440, height: 900, scale: 0.7, dark: true}},
	} {
		s := shot{name: filepath.Join(drawn, name+"-"+view.name+".png"), file: w.path(view.name + ".html"), part: view.part, look: view.look}
		s.take(t, view.colours, maxSmall)
	}
}

// sameText compares a text with a file of the project. With -pictures it writes it.
func sameText(t testing.TB, name, text string) {
	t.Helper()
	file := filepath.Join(root(t), name)
	if *pictures {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, []byte(text)) {
		t.Errorf("the pictures show older texts: make them with PICTURES=1 .ci/browser\n%s has\n%s\nand the program says\n%s", name, old, text)
	}
}
