package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"trueup/internal/config"
	"trueup/internal/diag"
)

// TestSlipsAreExplained: what is unknown is refused with what was probably meant.
func TestSlipsAreExplained(t *testing.T) {
	dir := projectOf(t, map[string]string{"shop.yaml": cdnNamed("shop")})
	for line, want := range map[string]string{
		"plna":                            `unknown command "plna" for "trueup": did you mean plan?`,
		"ledger resolv":                   `unknown command "resolv" for "trueup ledger": did you mean resolve?`,
		"sandbox requsts":                 "did you mean requests?",
		"sandbox serve":                   `unknown command "serve" for "trueup sandbox": trueup sandbox alone does that`,
		"frobnicate-all":                  `unknown command "frobnicate-all" for "trueup": trueup --help lists them`,
		"plan --taget cdn/shop":           "unknown flag: --taget of trueup plan: did you mean --target?",
		"plan --sandbx":                   "did you mean --sandbox?",
		"explain cdn --target cdn/shop":   "unknown flag: --target of trueup explain: trueup explain --help lists them",
		"plan -X":                         "unknown shorthand flag",
		"plan -o jsn":                     `-o is "jsn" (did you mean json?): write text, markdown,`,
		"plan --report htlm=x.html":       "(did you mean html?)",
		"sandbox --quirk typed-scalar":    `quirk "typed-scalar" does not exist: did you mean typed-scalars?`,
		"plan --drift overwite":           "(did you mean overwrite?)",
		"plan --sandbox --target cdn/hop": "cdn/hop matches no manifest: did you mean CDN/shop?",
		"completion bsh":                  `unknown command "bsh" for "trueup completion": did you mean bash?`,
		"explain upstream-unknon":         "did you mean upstream-unknown?",
	} {
		var out bytes.Buffer
		env := config.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }, Cwd: dir, Now: time.Now}
		if code := Main(t.Context(), strings.Fields(line), env); code != diag.ExitError || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d, %q, want %q", line, code, out.String(), want)
		}
	}
}
