//go:build linux

package hostile

import (
	"os"
	"path/filepath"
	"strings"

	"trueup/internal/canon"
	"trueup/internal/e2e/harness"
)

// hostilePlans are the cases of the files that plans are kept in.
func hostilePlans() []hostileCase {
	return []hostileCase{
		{"secrets-in-plan-file", "A [plan file](../plan-file.md) has what differs, no token, and nothing of live that git does not mention. Sensitive fields are digests; the mode is 0600, and never through a link: 'TestNoSecretIsShown'.", secretsInPlanFile},
		{"plan-file-tampering", "Nothing of the file is sent. It is compared with a new plan, and any changed byte is detected: 'TestNoByteOfAPlanFileCanChange', 'TestNothingOfAPlanFileIsSent'.", planFileTampering},
	}
}

// secretsInPlanFile: the file holds what a reviewer has to see, and nothing else;
// it is for whoever runs the program, and is written where they said.
func secretsInPlanFile(p *place) {
	const others = "password-of-somebody-else"
	p.live(cdnOf("shop", "  unmanaged: {header: "+others+"}\n  tls: {forced: \"false\"}\n"))
	p.write("manifests/shop.yaml", cdnOf("shop", "  tls: {forced: \"true\"}\n"))
	p.must(0, "plan", "--out", "plan.json")
	file := p.read("plan.json")
	for _, hidden := range []string{harness.Canary, others, p.dir} {
		if strings.Contains(file, hidden) {
			p.Errorf("%q is in %s", hidden, file)
		}
	}
	if info, err := os.Stat(p.path("plan.json")); err != nil || info.Mode().Perm() != 0o600 {
		p.Errorf("%v, %v", info, err)
	}
	outside := filepath.Join(p.TempDir(), "profile")
	if err := os.WriteFile(outside, []byte("keep"), 0o600); err != nil {
		p.Fatal(err)
	}
	if err := os.Symlink(outside, p.path("link.json")); err != nil {
		p.Skipf("this machine makes no symbolic links: %v", err)
	}
	p.says(1, []string{"plan", "--out", "link.json"}, "symbolic link")
	if kept := harness.ReadText(p.T, outside); kept != "keep" {
		p.Errorf("the file outside says %q", kept)
	}
}

// planFileTampering: a changed file is refused, also where its checksum and its
// digest were made to fit, and nothing of it is sent.
func planFileTampering(p *place) {
	p.live(cdnOf("shop", "  tls: {forced: \"false\"}\n"))
	p.write("manifests/shop.yaml", cdnOf("shop", "  tls: {forced: \"true\"}\n"))
	p.write("manifests/rel.yaml", purgeNamed("rel-42", "/index.html"))
	p.must(0, "plan", "--out", "plan.json")
	file := p.read("plan.json")
	refused := func(what, content string) {
		p.Helper()
		p.write("changed.json", content)
		if out := p.must(3, "apply", "--auto-approve", "--expect", "changed.json"); !strings.Contains(out, "nothing was sent") {
			p.Errorf("%s: %.500s", what, out)
		}
		p.nothingSent()
	}
	// Each byte of a file is changed by TestNoByteOfAPlanFileCanChange.
	for at := 0; at < len(file); at += 1 + len(file)/12 {
		changed := []byte(file)
		changed[at] ^= 1
		refused("another byte", string(changed))
		refused("a shorter file", file[:at])
	}
	for what, change := range map[string][2]string{
		"a purge of everything":     {`"paths":["/index.html"]`, `"paths":["/*"]`},
		"another object":            {"shop", "chop"},
		"another value":             {`"forced":"true"`, `"forced":"no"`},
		"another workspace":         {"acme", "evil"},
		"another address":           {"http://127.0.0.1", "http://127.0.0.2"},
		"a deletion":                {`"method":"PATCH"`, `"method":"DELETE"`},
		"a purge that is forgotten": {`"op":"post"`, `"op":"kept"`},
	} {
		changed := strings.ReplaceAll(file, change[0], change[1])
		if changed == file {
			p.Fatalf("%s: %s is not in %s", what, change[0], file)
		}
		tree := canon.MustDecode([]byte(changed)).(map[string]any)
		delete(tree, "checksum")
		tree["checksum"] = canon.Digest(canon.Encode(tree)).String()
		refused(what, string(canon.Encode(tree))+"\n")
	}
	p.must(0, "apply", "--auto-approve", "--expect", "plan.json")
	if sent := p.sent(); len(sent) != 2 {
		p.Errorf("sent were %q", sent)
	}
	p.executed("rel-42", 1)
}
