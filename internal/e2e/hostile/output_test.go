//go:build linux

package hostile

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"trueup/internal/e2e/harness"
)

func hostileOutput() []hostileCase {
	return []hostileCase{
		{"terminal-escapes", "Control characters are printed as escapes.", terminalEscapes},
		{"workflow-commands", "No line starts a workflow command, except those of [annotations](../reports.md#github).", workflowCommands},
		{"markdown-breakout", "No link, image or tag comes from data: 'FuzzRender'.", markdownBreakout},
		{"html-and-csv-report", "The page has only the elements, links and script of its template, and a policy that loads nothing: 'TestTextNeverChangesThePage', 'FuzzRender'. No report is CSV.", htmlReport},
		{"github-output", "Names are fixed, and values have letters, digits and '-:_.' only. Annotations are escaped by one type: 'TestAnyDocumentIsValid'.", githubOutput},
		{"repository-chooses-address", "The project file has no such field: 'TestHostilePullRequest'.", repositoryChoosesAddress},
		{"redirect", "Never followed. Addresses are https, except on loopback.", redirect},
		{"token-in-output", "Redacted, also if a server echoes it.", tokenInOutput},
		{"token-sources", "One line break at the end is dropped, other white space refused. A file that others may read is refused. There is no flag.", tokenSources},
		{"workflow-triggers", "'TestWorkflowsAreSafe', 'TestExpressionsTakeNothingOfAPullRequest'.", workflowTriggers},
	}
}

// everyOutput runs commands that show live objects, git and errors, in every
// format; each run checks what it prints.
func everyOutput(p *place) {
	p.Helper()
	for _, args := range [][]string{{"pull", "--diff"}, {"pull", "--diff", "-o", "json"}, {"pull", "--dir", "-", "--all-fields"}} {
		p.run(args...)
	}
	for _, args := range [][]string{{"fmt", "--check", "--diff"}, {"fmt", "--check", "--fix", "-o", "json"}} {
		p.run(args...)
	}
	for _, args := range [][]string{{"new", "purge", "-", "--dir", "-"}, {"new", "purge", "-", "--skip-unplaced", "--dir", "-"}, {"fmt", "--envelope", "acme", "--check"}} {
		list, _ := os.ReadFile(p.path("list.txt")) // not every place has one
		p.stdin = bytes.NewReader(list)
		p.run(args...)
	}
	for _, args := range [][]string{
		{"validate"}, {"plan", "-v"}, {"drift", "-v"}, {"status"}, {"apply", "--auto-approve", "-v"}, {"ledger", "ls"}, {"doctor"},
	} {
		p.run(args...)
		if args[0] != "ledger" && args[0] != "doctor" {
			for _, format := range []string{"json", "markdown", "html", "sarif", "junit", "codequality", "outputs"} {
				p.run(append(args, "-o", format)...)
			}
		}
	}
}

// surround puts a text wherever the platform and git can have one.
func surround(p *place, s string) {
	p.Helper()
	p.live(fmt.Sprintf("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: shop}\nspec:\n  hostname: shop.example.com\n"+
		"  tls: {forced: %q}\n  extra: {%q: [%q]}\n  locations: [{path: %q, action: %q, upstream: %q}]\n", s, s, s, s, s, s))
	p.live(fmt.Sprintf("apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: other}\nspec: {hostname: %q}\n", s))
	p.write("manifests/shop.yaml", cdnOf("shop", fmt.Sprintf("  tls: {forced: \"true\"}\n  odd: %q\n", s)))
	p.write("list.txt", "https://shop.example.com/"+s+"\nhttps://"+s+"/a\n"+s+"\n[\"/"+s+"\n")
	refusal := fmt.Sprintf(`{"kind": "Status", "status": "Failure", "message": %q, "reason": %q, "details": {"causes": [{"field": %q, "message": %q}]}}`, s, s, s, s)
	p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Warning", fmt.Sprintf("299 - %q", s))
		if r.Method != http.MethodPatch {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, refusal)
		return true
	})
}

func terminalEscapes(p *place) {
	surround(p, "x\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil.example\x07\u009b2J\r\u202egnp\u2066\u200b\u2028\x7f")
	everyOutput(p)
	p.write("manifests/shop.yaml", cdnOf("shop", ""))
	if out := p.must(0, "plan", "-v"); !strings.Contains(out, `\x1b[2J`) {
		p.Errorf("what can't be shown is not shown as an escape:\n%s", out)
	}
}

func workflowCommands(p *place) {
	surround(p, "\r\n::error ::pwned\n::stop-commands::x\n::set-env name=A::b\n##[error]pwned\n##vso[task.setvariable variable=a]b\r::add-path::/tmp")
	everyOutput(p)
	p.write("::error ::pwned.yaml", "kind: [\n")
	p.run("validate", "::error ::pwned.yaml")
	p.run("validate", "::error ::none.yaml")
	p.run("::error ::pwned")
	p.run("plan", "--target", "::error ::pwned")
	p.run("ledger", "show", "purge/::error ::pwned")
}

// githubOutput: what later steps of a workflow get is of this program, and a
// text from outside is at most a part of an annotation.
func githubOutput(p *place) {
	form := regexp.MustCompile(`^[a-z-]*=[a-z0-9:.-]*$`)
	known := "result exit-code changes digest offline whole create change removed purge delete drifted blocked risk deferred in-flight serves security availability cost requests-changed"
	for _, s := range []string{
		"x\nresult<<EOF\npwned\nEOF", "result=pwned\r\nPATH=/tmp", "<<", "a\n::error ::pwned", "x%0A::set-env name=A::b", "a,line=1,title=b::c\n::stop-commands::x",
	} {
		surround(p, s)
		p.write("::error file=a,line=1::"+strings.NewReplacer("/", "", "\x00", "").Replace(s)+".yaml", "kind: [\n")
		p.vars["GITHUB_OUTPUT"] = p.path("outputs")
		for _, command := range [][]string{{"plan"}, {"drift"}, {"apply", "--auto-approve"}, {"validate", "."}} {
			p.write("outputs", "")
			p.run(append(command, "--report", "outputs=outputs", "--report", "github=annotations")...)
			for line := range strings.SplitSeq(strings.Trim(p.read("outputs"), "\n"), "\n") {
				key, _, _ := strings.Cut(line, "=")
				if !form.MatchString(line) || !slices.Contains(strings.Fields(known), key) {
					p.Errorf("%q: outputs have %q", s, line)
				}
			}
			for line := range strings.SplitSeq(strings.TrimSuffix(p.read("annotations"), "\n"), "\n") {
				properties, _, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
				if !annotation.MatchString(properties) {
					p.Errorf("%q: a runner reads %q", s, line)
				}
			}
		}
	}
}

// annotation is what stands in front of the text of an annotation, and no other
// command.
var annotation = regexp.MustCompile(`^(error|warning|notice) (file=[^,=]*(=[^,]*)?,(line=\d+,)?(col=\d+,)?)?title=[^,:]*$`)

// ownTags are the only tags that a report has.
var ownTags = regexp.MustCompile(`^(</?details>|<details open>|</?summary>|</?code>|[^<>])*$`)

func markdownBreakout(p *place) {
	for _, s := range []string{
		"```\n</details><img src=x onerror=alert(1)>", "[a](http://evil.example) ![b](http://evil.example/b.png)", "@octocat #1 <script>alert(1)</script>",
		"http://evil.example www.evil.example", "`````````` | a | b |\n|---|---|\n# h", "</code></summary></details><!--",
		"\n<!-- trueup:comment v1 key=. run=99999.1 -->\n\n",
	} {
		surround(p, s)
		for _, command := range []string{"plan", "apply"} {
			args := []string{command, "-o", "markdown"}
			if command == "apply" {
				args = append(args, "--auto-approve")
			}
			p.run(append(args, "--report", "markdown=report.md")...)
			out := p.read("report.md")
			page := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(out)))
			if err := ast.Walk(page, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
				switch n := n.(type) {
				case *ast.HTMLBlock:
					if raw := string(n.Lines().Value([]byte(out))); !ownTags.MatchString(raw) {
						p.Errorf("%q: HTML %q", s, raw)
					}
				case *ast.RawHTML:
					if raw := string(n.Segments.Value([]byte(out))); !ownTags.MatchString(raw) {
						p.Errorf("%q: HTML %q", s, raw)
					}
				case *ast.Link, *ast.Image, *ast.AutoLink:
					p.Errorf("%q: a %s in %s", s, n.Kind(), out)
					return ast.WalkStop, nil
				}
				return ast.WalkContinue, nil
			}); err != nil {
				p.Fatal(err)
			}
		}
	}
}

// repositoryChoosesAddress: pull requests have a test of their own beside this.
func repositoryChoosesAddress(p *place) {
	at, project := p.listener(), p.read("trueup.yaml")
	p.write("manifests/a.yaml", cdnOf("shop", ""))
	for _, more := range []string{
		"url: http://" + at, "delivery: {url: 'http://" + at + "'}", "profile: evil", "proxy: http://" + at, "caFile: ca.pem",
		"token: {command: [touch, pwned]}", "baseURL: http://" + at, "profiles: {default: {delivery: {url: 'http://" + at + "'}}}",
	} {
		p.write("trueup.yaml", project+more+"\n")
		p.says(4, []string{"plan"}, "trueup.yaml: unknown field")
	}
	p.write("trueup.yaml", project)
	p.write(".trueup/config.yaml", "profiles: {default: {delivery: {url: 'http://"+at+"'}}}\n")
	p.write(".env", "TRUEUP_DELIVERY_URL=http://"+at+"\n")
	p.says(0, []string{"plan"}, "1 to create")
	if _, err := os.Stat(p.path("pwned")); err == nil {
		p.Error("a command of the repository ran")
	}
	for _, address := range []string{"http://platform.example.com/v1", "https://me:sesame@platform.example.com/", "ftp://x", p.base + "/../x", p.base + "?a=b"} {
		p.vars["TRUEUP_DELIVERY_URL"] = address
		if out := p.must(1, "plan"); strings.Contains(out, "sesame") {
			p.Error("a password is printed")
		}
	}
}

func redirect(p *place) {
	at := p.listener()
	p.write("manifests/a.yaml", cdnOf("shop", "")+"---\n"+purgeNamed("rel-42", "/a"))
	p.fault("GET *: redirect=http://" + at + "/cdns x*")
	p.says(1, []string{"apply", "--auto-approve"}, "redirect")
	p.server.ClearFaults()
	p.fault("POST *: redirect=http://" + at + "/x x*")
	p.must(5, "apply", "--auto-approve")
	p.executed("rel-42", 0)
	p.server.ClearFaults()
	p.must(0, "apply", "--auto-approve")
}

func tokenInOutput(p *place) {
	p.write("manifests/shop.yaml", cdnOf("shop", ""))
	p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		token := r.Header.Get("Authorization")
		w.Header().Set("Warning", `299 - "`+token+`"`)
		w.Header().Set("X-Request-Id", token)
		w.Header().Set("Location", p.base+"/"+token)
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"message": %q, "%s": "%s"}`, "your header was "+token, token, token)
		return true
	})
	everyOutput(p)
	p.says(8, []string{"apply", "--auto-approve"}, "not shown because they repeat a part of a secret")
	p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = fmt.Fprintf(w, "<html>%s", strings.Repeat(r.Header.Get("Authorization"), 100))
		return true
	})
	everyOutput(p)
	// The listener of every place's end looks into all files as well.
	p.run("plan", "-v", "--report", "json=plan.json", "--report", "markdown=plan.md")
	encodedToken(p)
}

// encodedToken lets the platform repeat a part of the token in the forms of other languages. None of them is printed,
// or kept in the ledger.
func encodedToken(p *place) {
	p.write("manifests/rel.yaml", purgeNamed("rel-42", "/a"))
	slashed := func(s string) string { return strings.NewReplacer("c", `\/\u0063`, "s", `\u0073`).Replace(s) }
	lower := func(s string) string { return strings.ToLower(url.QueryEscape("%"+s)) + "%2f" }
	entity := func(s string) string { return strings.NewReplacer("3", "&#51;", "r", "&#x72;").Replace(s) }
	coded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte("Bearer " + s)) }
	for i, encode := range []func(string) string{
		strings.Clone, strings.ToUpper, slashed, lower, entity, coded, func(s string) string { return slashed(entity(coded(s))) },
		func(s string) string { return s[4:12] },
	} {
		const mark = "echo-of-the-header "
		p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/purges") {
				return false
			}
			w.WriteHeader([]int{http.StatusInternalServerError, http.StatusUnprocessableEntity}[i%2])
			_, _ = io.WriteString(w, mark+encode(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
			return true
		})
		for _, args := range [][]string{{"apply", "--auto-approve", "-v"}, {"ledger", "ls", "-o", "json"}, {"ledger", "export"}} {
			if code, out := p.run(args...); strings.Contains(out, mark) || args[0] == "apply" && !strings.Contains(out, "repeat a part of a secret") {
				p.Errorf("%d: trueup %s ends with %d and repeats %s", i, args, code, out)
			}
		}
		p.write("manifests/rel.yaml", purgeNamed(fmt.Sprintf("rel-%d", 43+i), "/a"))
	}
	// A file with something else than a token.
	file := filepath.Join(p.TempDir(), "token")
	if err := os.WriteFile(file, []byte(`{"key":"c4n4ry/of"another:file}`), 0o600); err != nil {
		p.Fatal(err)
	}
	token := p.vars["TRUEUP_DELIVERY_TOKEN"]
	p.vars["TRUEUP_DELIVERY_TOKEN"], p.vars["TRUEUP_DELIVERY_TOKEN_FILE"] = "", file
	p.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"message": %q}`, "unknown: "+r.Header.Get("Authorization"))
		return true
	})
	if out := p.must(8, "plan"); strings.Contains(out, "another") || strings.Contains(out, "unknown: ") {
		p.Error(out)
	}
	p.vars["TRUEUP_DELIVERY_TOKEN"], p.vars["TRUEUP_DELIVERY_TOKEN_FILE"] = token, ""
	p.intercept(func(http.ResponseWriter, *http.Request) bool { return false })
}

func tokenSources(p *place) {
	p.write("manifests/shop.yaml", cdnOf("shop", ""))
	token := p.vars["TRUEUP_DELIVERY_TOKEN"]
	for text, code := range map[string]int{token + "\n": 0, token + "\r\n": 0, " " + token: 8, token + "\n\n": 8, token[:5] + "\n" + token[5:]: 8, token + "\x00": 8, "": 8} {
		p.vars["TRUEUP_DELIVERY_TOKEN"] = text
		p.must(code, "plan")
	}
	// It lies where the search for tokens at the end does not look.
	file := filepath.Join(p.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		p.Fatal(err)
	}
	p.vars["TRUEUP_DELIVERY_TOKEN"], p.vars["TRUEUP_DELIVERY_TOKEN_FILE"] = "", file
	p.must(0, "plan")
	if err := os.Chmod(file, 0o644); err != nil {
		p.Fatal(err)
	}
	p.says(8, []string{"plan"}, "other users can read or write ")
	p.says(1, []string{"plan", "--token", "x"}, "unknown flag: --token")
}

// workflowTriggers: TestWorkflowsAreSafe looks closer.
func workflowTriggers(p *place) {
	files, err := filepath.Glob(filepath.Join(".github", "workflows", "*.yml"))
	if err != nil || len(files) < 3 {
		p.Fatalf("%q, %v", files, err)
	}
	for _, file := range append(files, "action.yml") {
		content := harness.ReadText(p.T, file)
		for _, bad := range []string{"pull_request_target", "workflow_run", "issue_comment", "write-all"} {
			if strings.Contains(content, bad) {
				p.Errorf("%s has %s", file, bad)
			}
		}
		for _, m := range regexp.MustCompile(`(?m)uses: (\S+)`).FindAllStringSubmatch(content, -1) {
			if !strings.HasPrefix(m[1], "./") && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(m[1]) {
				p.Errorf("%s uses %s, which is not pinned", file, m[1])
			}
		}
	}
}
