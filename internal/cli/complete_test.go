package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/internal/command"
	"trueup/internal/config"
	"trueup/internal/diag"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completed asks as a shell does, and returns the candidates without what is shown
// beside them, and the directive.
func completed(t *testing.T, env config.Env, args ...string) (words []string, directive string) {
	t.Helper()
	var out, wrong bytes.Buffer
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), &out, &wrong
	if env.Getenv == nil {
		env.Getenv = func(string) string { return "" }
	}
	if code := Main(t.Context(), append([]string{cobra.ShellCompRequestCmd}, args...), env); code != diag.ExitOK {
		t.Fatalf("%q: exit %d: %s", args, code, wrong.String())
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	return words, lines[len(lines)-1]
}

const noFilesAfter = ":4"

// project writes files into a new folder.
func projectOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func cdnNamed(name string) string {
	return "apiVersion: delivery/v2.1\nkind: CDN\nmetadata: {name: " + name + "}\nspec: {hostname: a.example.com}\n"
}

func TestCompletionOffers(t *testing.T) {
	dir := projectOf(t, map[string]string{
		"trueup.yaml":        "apiVersion: trueup/v1\nkind: Project\nworkspace: {name: a, uuid: b}\nmanifests: [manifests]\n",
		"manifests/a.yaml":   cdnNamed("shop") + "---\n" + cdnNamed("web"),
		"elsewhere/b.yaml":   cdnNamed("other"),
		"config/trueup/x":    "",
		"manifests/c/d.json": "{}",
	})
	profiles := filepath.Join(dir, "config", "trueup", "config.yaml")
	if err := os.WriteFile(profiles, []byte("apiVersion: trueup/v1\nkind: Config\nprofiles: {production: {}, staging: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := config.Env{Cwd: dir, Getenv: func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": filepath.Join(dir, "config")}[name]
	}}
	for line, want := range map[string]string{
		"plan --target ":                "cdn/shop cdn/web " + noFilesAfter,
		"plan --target CDN/s":           "CDN/shop " + noFilesAfter,
		"plan --target cdns/s":          "cdns/shop " + noFilesAfter,
		"plan --target C":               "CDN/shop CDN/web " + noFilesAfter,
		"plan elsewhere --target ":      "cdn/other " + noFilesAfter,
		"plan - --target ":              "cdn/shop cdn/web " + noFilesAfter,
		"plan no-such --target ":        noFilesAfter,
		"ledger show ":                  "cdn/shop cdn/web " + noFilesAfter,
		"ledger show cdn/shop ":         noFilesAfter,
		"ledger adopt cdn/shop ":        "yaml yml json :8",
		"validate ":                     "yaml yml json :8",
		"-C manifests validate ":        "a.yaml c/ :6",
		"-C manifests validate c/":      "c/d.json :6",
		"-C ":                           ":16",
		"show ":                         ":0",
		"--profile ":                    "production staging " + noFilesAfter,
		"plan --drift ":                 "overwrite fail report " + noFilesAfter,
		"plan --report html=":           ":0",
		"apply --accept ":               "take-over= recreate= empty-live normalised older-commit :6",
		"apply --accept recreate=cdn/s": "recreate=cdn/shop " + noFilesAfter,
		"ledger resolve cdn/w":          "cdn/web " + noFilesAfter,
	} {
		words, directive := completed(t, env, strings.Split(line, " ")...)
		if got := strings.Join(append(words, directive), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestCompletionOffersPlainWordsOnly: names come from manifests, and whoever wrote
// them is not whoever presses the key.
func TestCompletionOffersPlainWordsOnly(t *testing.T) {
	var text strings.Builder
	for _, name := range []string{"$(id)", "`id`", "a b", "a;id", "a\\nb", "a\\tb", "\\e[2J", "a|b", "~root", "a'b", `a\"b`, "*", "ok.1", "a\\u202Eb"} {
		text.WriteString(cdnNamed(`"`+name+`"`) + "---\n")
	}
	dir := projectOf(t, map[string]string{"a$(id).yaml": text.String(), "b\x1b[2J.yaml": cdnNamed("fine"), "$(id)/x.yaml": ""})
	words, _ := completed(t, config.Env{Cwd: dir}, "plan", "--target", "")
	if got := strings.Join(words, " "); got != "cdn/fine cdn/ok.1" {
		t.Errorf("%q", words)
	}
	words, _ = completed(t, config.Env{Cwd: filepath.Dir(dir)}, "-C", dir, "validate", "")
	if len(words) != 0 {
		t.Errorf("%q", words)
	}
}

// TestCompletionOfEveryFlag: a flag that takes a value offers values, or says that
// there is nothing to offer; the shell's files are for what is a file.
func TestCompletionOfEveryFlag(t *testing.T) {
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if _, ok := cmd.GetFlagCompletionFunc(f.Name); !ok && f.Value.Type() != "bool" {
					t.Errorf("%s --%s completes to any file", cmd.CommandPath(), f.Name)
				}
			})
		}
		if cmd.Runnable() && !takesSubcommand(cmd) && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			t.Errorf("the arguments of %s complete to any file", cmd.CommandPath())
		}
		for _, below := range cmd.Commands() {
			each(below)
		}
	}
	each(newRoot(command.NewRun(config.Env{})))
}
