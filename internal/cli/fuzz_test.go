package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"trueup/internal/api"
	"trueup/internal/command"
	"trueup/internal/config"
	"trueup/internal/diag"
)

// hostileTexts break out of something somewhere.
var hostileTexts = []string{
	"plain", "", "::error ::pwned", "\t::set-output name=a::b", "a\r::error::b", "a\n::stop-commands::x", "##[error]x", "x##vso[task.setvariable]y",
	"\x1b[2J\x1b]0;title\a", "\x9b31m", "\u202egnp.exe", "\u200b\u2028\u2029\u0085\ufeff", "\u00ad\ufe0f\u2800\u3164\u115f\u180b\u17b4\U000e0041\U000e0100", "\xff\xfe", "\x00", "%s%d%n", "../../etc/passwd", "-x", "--help", "'\"`$(id)",
	"CDN/shop", "cdn/\x1b[1m", strings.Repeat("long ", 900), "{{.}}", "<script>", "@octocat", "a=b",
}

// FuzzConfig: whatever a repository or a user writes into a file of settings is
// refused in one line or understood, and can't name what it must not.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: trueup/v1\nkind: Project\nworkspace: {name: a, uuid: b}\nmanifests: [x]\nledger: {store: \"file:x\", id: i}\npurge: {window: 20h, duplicate: {status: [409], body: x}}\n" +
			"overrides: [{kind: CDN, path: spec.x, order: set}]\n",
		"apiVersion: trueup/v1\nkind: Config\nprofiles:\n  prod:\n    delivery: {url: https://x.example/, token: {env: X}}\n    compute: {token: {exec: {command: [a], timeout: 5s}}}\n    proxy: http://u:p@x\n    caFile: x\n",
		"apiVersion: trueup/v1\nkind: Project\nworkspace: {name: \"../x\", uuid: \"a/b\"}\n", "workspace: &a {name: *a}\n", "a: &a [*a]\n", "{", "- x\n", "apiVersion: trueup/v1\napiVersion: trueup/v1\n",
		"apiVersion: trueup/v1\nkind: Project\nworkspace: {name: ~, uuid: 1}\nurl: https://evil.example\n", "\xef\xbb\xbfkind: Project\n", "kind: !!binary x\n", "? {a: b}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := config.ParseProject(data)
		switch {
		case err != nil:
			checkShown(t, "the error of a project file", diag.OneLine(err))
		case strings.ContainsAny(p.Workspace.Name+p.Workspace.UUID, "/\\%?#") || p.Workspace.Name[0] == '.' || p.Workspace.UUID[0] == '.':
			t.Fatalf("%q has the workspace %+v", data, p.Workspace)
		default:
			if window := p.SendWindow(); window < time.Hour || window > 22*time.Hour {
				t.Fatalf("%q has the window %v", data, window)
			}
			p.DuplicateAnswer()
		}
		cfg, err := config.ParseProfiles(data)
		if err != nil {
			checkShown(t, "the error of a file of profiles", diag.OneLine(err))
			return
		}
		for _, p := range cfg.Profiles {
			for _, url := range []string{p.Compute.URL, p.Delivery.URL} {
				if url != "" {
					if _, err := api.ParseBaseURL(url); err != nil {
						t.Fatalf("%q has the address %q", data, url)
					}
				}
			}
		}
	})
}

// checkShown holds that a message, as it is logged, is one line that nothing
// obeys.
func checkShown(t *testing.T, what, text string) {
	t.Helper()
	var errs bytes.Buffer
	a := command.NewRun(config.Env{Stderr: &errs, Stdout: &errs, Now: time.Now, Getenv: func(string) string { return "" }})
	a.Log(0, text)
	checkOutput(t, what, errs.String())
	if strings.Count(errs.String(), "\n") != 1 {
		t.Fatalf("%s is more than one line: %q", what, errs.String())
	}
}

// checkOutput holds that neither a terminal nor a workflow runner finds
// anything to obey in what was printed.
func checkOutput(t *testing.T, what, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Fatalf("%s: not UTF-8: %q", what, out)
	}
	for _, r := range out {
		if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || diag.IsInvisible(r)) {
			t.Fatalf("%s: %U in %q", what, r, out)
		}
	}
	if strings.Contains(out, "##[") || strings.Contains(out, "##vso[") {
		t.Fatalf("%s: a legacy workflow command in %q", what, out)
	}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Fatalf("%s: a workflow command: %q", what, line)
		}
	}
}

// commands are what FuzzRun runs; TEXT stands for any text.
var commands = []string{
	"validate", "validate -o json", "validate -o markdown", "plan --sandbox", "plan --sandbox -o json -v", "plan --sandbox -o markdown", "plan --sandbox --target TEXT",
	"plan --sandbox -v", "drift --sandbox", "apply --sandbox --auto-approve", "doctor", "doctor -o json", "explain TEXT",
	"ledger show TEXT", "ledger ls", "ledger ls --state TEXT", "ledger import in.txt", "TEXT", "plan TEXT=", "--TEXT", "apply --accept TEXT --sandbox", "-o TEXT plan",
	"completion TEXT", "help TEXT", "ledger resolve TEXT --reason TEXT --posted",
	"fmt --check --diff", "fmt --check --fix -o json", "fmt --fix -v", "fmt TEXT",
}

// FuzzRun runs commands on any manifest, with any text where a person or a
// repository can put one. Nothing that is printed is obeyed by a terminal or a
// workflow runner, no token is printed, and JSON is JSON.
func FuzzRun(f *testing.F) {
	manifest, err := os.ReadFile("../../examples/manifests/shop.yaml")
	if err != nil {
		manifest = []byte("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop, namespace: acme}\nspec: {hostname: shop.example.com}\n")
	}
	for i, text := range hostileTexts {
		f.Add(uint8(i), text, string(manifest))
		f.Add(uint8(i*7), text, strings.ReplaceAll(string(manifest), "shop", strconv.Quote(text)))
	}
	f.Fuzz(func(t *testing.T, pick uint8, text, manifest string) {
		if len(text)+len(manifest) > 1<<16 {
			return
		}
		dir := t.TempDir()
		for name, content := range map[string]string{
			"trueup.yaml":      "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: acme, uuid: 5a1d}\nmanifests: [manifests]\nledger: {store: \"file:ledger\", id: " + quoted(text) + "}\n",
			"manifests/a.yaml": manifest, "in.txt": text,
		} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := strings.Fields(commands[int(pick)%len(commands)])
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "TEXT", text)
		}
		vars := map[string]string{
			"TRUEUP_DELIVERY_URL": "http://127.0.0.1:1", "TRUEUP_DELIVERY_TOKEN": canary + strings.ReplaceAll(text, " ", ""), "TRUEUP_COMPUTE_URL": text,
		}
		if strings.Contains(strings.ToLower(text), "http") {
			delete(vars, "TRUEUP_COMPUTE_URL")
		}
		var out, errs bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		code := Main(ctx, args, config.Env{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return vars[name] }, Now: time.Now,
			Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }, Cwd: dir,
			Retry: api.RetryPolicy{Initial: time.Millisecond, Max: time.Millisecond},
		})
		if ctx.Err() != nil || !slices.Contains([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}, code) {
			t.Fatalf("%q: exit %d, %v", args, code, ctx.Err())
		}
		if strings.Contains(out.String()+errs.String(), canary) {
			t.Fatalf("%q: a token is printed: %s%s", args, &out, &errs)
		}
		shown := out.String()
		if slices.Contains(args, "always") {
			shown = palette().ReplaceAllString(shown, "")
		}
		checkOutput(t, strings.Join(args, " "), shown)
		checkOutput(t, strings.Join(args, " "), errs.String())
		if slices.Equal(args[max(0, len(args)-2):], []string{"-o", "json"}) && out.Len() > 0 && !json.Valid(out.Bytes()) {
			t.Fatalf("%q: no JSON: %s", args, &out)
		}
	})
}

// quoted is any text as a scalar of YAML.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

// palette finds the sequences that colour makes.
func palette() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]+m") }
