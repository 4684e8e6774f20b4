package config

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"sigs.k8s.io/yaml"

	"trueup/internal/canon"
	"trueup/internal/kind"
	"trueup/schemas"
)

const configHead = "apiVersion: trueup/v1\nkind: Config\n"

const canary = "canary-5f2c9a"

// userOptions are those of a run with a profiles file that says text. said has what it logs.
func userOptions(t *testing.T, text string, vars map[string]string) (o Options, said *bytes.Buffer, file string) {
	t.Helper()
	home, said := t.TempDir(), &bytes.Buffer{}
	file = filepath.Join(home, "trueup", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return Options{
		Env: Env{Stdin: strings.NewReader(""), Cwd: dir, Getenv: func(name string) string {
			if name == "XDG_CONFIG_HOME" {
				return home
			}
			return vars[name]
		}},
		Log: func(_ slog.Level, text string) { said.WriteString(text + "\n") },
	}, said, file
}

func configSchema(t *testing.T) *jsonschema.Schema { return publishedSchema(t, "config.schema.json") }

func publishedSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := schemas.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("mem:///"+name, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("mem:///" + name)
}

// TestTheLoaderOfProfilesHoldsTheSchema reads documents with both.
func TestTheLoaderOfProfilesHoldsTheSchema(t *testing.T) {
	schema := configSchema(t)
	for _, c := range []struct {
		text string
		says string // empty where both accept it
	}{
		{configHead, ""},
		{configHead + "profiles: {}", ""},
		{configHead + "profiles: {a: {}}", ""},
		{configHead + "profiles: {a: {delivery: {url: 'https://api.example.com/delivery/v2.1', token: {env: A_TOKEN}}}}", ""},
		{configHead + "profiles: {a: {compute: {url: 'http://127.0.0.1:80/x', token: {file: '-'}}, caFile: ca.pem}}", ""},
		{configHead + "profiles: {a: {compute: {token: {exec: {command: [get-token, -a], timeout: 1m30s}}}, proxy: 'http://u:p@proxy:3128'}}", ""},
		{configHead + "profiles: {a: {proxy: 'proxy:3128'}, b: {proxy: 'socks5h://proxy:1080'}}", ""},
		{"kind: Config", "not a profiles file:"},
		{"apiVersion: trueup/v1\nkind: Project", "not a profiles file:"},
		{configHead + "profile: a", `unknown field "profile"`},
		{configHead + "current: a", `unknown field "current"`},
		{configHead + "profiles: [a]", "profiles can't be a array"},
		{configHead + "profiles: {a: {delivery: {uri: 'https://x'}}}", `unknown field "uri"`},
		{configHead + "profiles: {a: {delivery: {url: 'https://u:secret@x/'}}}", "profiles.a.delivery.url: base address contains a user name"},
		{configHead + "profiles: {a: {delivery: {url: 'ftp://x/'}}}", "profiles.a.delivery.url: base address has a scheme other than https"},
		{configHead + "profiles: {a: {delivery: {url: 'https://x/?a=b'}}}", "contains a user name|has a query"},
		{configHead + "profiles: {a: {delivery: {token: secret}}}", "token can't be a string"},
		{configHead + "profiles: {a: {delivery: {token: {env: 'not a name'}}}}", "profiles.a.delivery.token.env is not"},
		{configHead + "profiles: {a: {delivery: {token: {env: A, file: b}}}}", "profiles.a.delivery.token names several sources"},
		{configHead + "profiles: {a: {delivery: {token: {file: '~/token'}}}}", `profiles.a.delivery.token.file is "~/token": write the whole path`},
		{configHead + "profiles: {a: {delivery: {token: {exec: {command: []}}}}}", "profiles.a.delivery.token.exec.command is empty"},
		{configHead + "profiles: {a: {delivery: {token: {exec: {command: ['']}}}}}", "profiles.a.delivery.token.exec.command is empty"},
		{configHead + "profiles: {a: {delivery: {token: {exec: 'get token'}}}}", "exec can't be a string"},
		{configHead + "profiles: {a: {delivery: {token: {exec: {command: [x], timeout: soon}}}}}", `profiles.a.delivery.token.exec.timeout is "soon"`},
		{configHead + "profiles: {a: {caFile: '~/ca.pem'}}", "profiles.a.caFile"},
		{configHead + "profiles: {a: {proxy: 'ftp://proxy'}}", "profiles.a.proxy: the scheme of a proxy"},
		{configHead + "profiles: {a: {}, a: {}}", `key "a" already set`},
	} {
		_, err := ParseProfiles([]byte(c.text))
		if (err == nil) != (c.says == "") {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
		if err != nil && !saysOneOf(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows a secret: %v", c.text, err)
		}
		tree, yerr := yaml.YAMLToJSONStrict([]byte(c.text))
		if yerr != nil {
			continue
		}
		v, yerr := canon.Decode(tree)
		if yerr != nil {
			t.Fatal(yerr)
		}
		if accepted := schema.Validate(v) == nil; accepted != (c.says == "") && !strings.Contains(c.text, "ftp://proxy") {
			t.Errorf("%s: the schema accepts it: %t", c.text, accepted)
		}
	}
}

func saysOneOf(text, words string) bool {
	for word := range strings.SplitSeq(words, "|") {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// TestFlagOverEnvironmentOverProfileOverDefault is product: configuration 3,
// with the origin of each value.
func TestFlagOverEnvironmentOverProfileOverDefault(t *testing.T) {
	text := configHead + `profiles:
  prod:
    delivery:
      url: https://prod.example.com/delivery/v2.1
      token: {file: delivery.token}
    caFile: ca.pem
    proxy: http://user:secret@proxy.example.com:3128
  other: {}
`
	type want struct{ value, origin string }
	for _, c := range []struct {
		name               string
		flag               string
		vars               map[string]string
		url, token, cas    want
		proxy, profileFrom string
	}{
		{name: "default"},
		{
			name: "profile by flag", flag: "prod",
			url:   want{"https://prod.example.com/delivery/v2.1", "profile prod at <file>"},
			token: want{"file <dir>/delivery.token", "profile prod at <file>"},
			cas:   want{"<dir>/ca.pem", "profile prod at <file>"}, proxy: "http://***@proxy.example.com:3128", profileFrom: "--profile",
		},
		{
			name: "profile by variable", vars: map[string]string{"TRUEUP_PROFILE": "prod"},
			url:   want{"https://prod.example.com/delivery/v2.1", "profile prod at <file>"},
			token: want{"file <dir>/delivery.token", "profile prod at <file>"},
			cas:   want{"<dir>/ca.pem", "profile prod at <file>"}, proxy: "http://***@proxy.example.com:3128", profileFrom: "TRUEUP_PROFILE",
		},
		{name: "the flag wins over the variable", flag: "other", vars: map[string]string{"TRUEUP_PROFILE": "prod"}, profileFrom: "--profile"},
		{
			name: "environment over profile", flag: "prod",
			vars: map[string]string{
				"TRUEUP_DELIVERY_URL": "https://prod.example.com/other", "TRUEUP_DELIVERY_TOKEN": canary,
				"TRUEUP_CA_FILE": "/env.pem", "https_proxy": "other:1",
			},
			url: want{"https://prod.example.com/other", "TRUEUP_DELIVERY_URL"}, token: want{"variable TRUEUP_DELIVERY_TOKEN", "TRUEUP_DELIVERY_TOKEN"},
			cas: want{"/env.pem", "TRUEUP_CA_FILE"}, proxy: "http://other:1", profileFrom: "--profile",
		},
		{
			name: "no profile", vars: map[string]string{"TRUEUP_CA_FILE": "/env.pem", "TRUEUP_DELIVERY_TOKEN_FILE": "/t"},
			cas: want{"/env.pem", "TRUEUP_CA_FILE"}, token: want{"file /t", "TRUEUP_DELIVERY_TOKEN_FILE"},
		},
	} {
		o, _, file := userOptions(t, text, c.vars)
		o.Profile = c.flag
		s, err := o.ResolveSettings(Project{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		put := strings.NewReplacer("<file>", file, "<dir>", filepath.Dir(file))
		url, token := s.URLs[kind.Delivery], s.Tokens[kind.Delivery]
		source := ""
		if !token.IsZero() {
			source = token.Source()
		}
		for _, each := range []struct {
			what string
			got  want
			want want
		}{
			{"url", want{url.Value, url.Origin}, c.url},
			{"token", want{source, token.Origin}, c.token},
			{"caFile", want{s.CAFile.Value, s.CAFile.Origin}, c.cas},
		} {
			if each.got.value != put.Replace(each.want.value) || each.got.origin != put.Replace(each.want.origin) {
				t.Errorf("%s: %s is %+v, want %+v", c.name, each.what, each.got, each.want)
			}
		}
		if s.Proxy.Value != c.proxy || s.ProfileFrom != c.profileFrom {
			t.Errorf("%s: proxy %+v, profile from %q", c.name, s.Proxy, s.ProfileFrom)
		}
	}
}

// TestAProfilesTokenGoesToItsOwnAddress refuses a variable that was left over.
func TestAProfilesTokenGoesToItsOwnAddress(t *testing.T) {
	text := configHead + "profiles: {prod: {delivery: {url: 'https://prod.example.com/v2', token: {env: PROD}}}}"
	for _, c := range []struct {
		vars map[string]string
		says string
	}{
		{map[string]string{"PROD": canary, "TRUEUP_DELIVERY_URL": "https://elsewhere.example.com/v2"}, "TRUEUP_DELIVERY_URL overrides the address in profile prod"},
		{map[string]string{"PROD": canary, "TRUEUP_DELIVERY_URL": "https://prod.example.com:8443/v2"}, "overrides the address"},
		{map[string]string{"TRUEUP_DELIVERY_URL": "https://PROD.example.com/v3"}, ""},
		{map[string]string{"TRUEUP_DELIVERY_URL": "https://elsewhere.example.com/v2", "TRUEUP_DELIVERY_TOKEN": canary}, ""},
	} {
		o, _, _ := userOptions(t, text, c.vars)
		o.Profile = "prod"
		settings, err := o.ResolveSettings(Project{})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c.vars, err, c.says)
		}
		// Doctor asks for the token all the same.
		w, _ := o.RealPlatform(settings, Project{})
		token, asked := w.API.Endpoints[kind.Delivery].Ask(t.Context())
		if c.says != "" && (!token.IsZero() || asked == nil || asked.Error() != err.Error()) {
			t.Errorf("%v: the token was given out: %v", c.vars, asked)
		}
	}
}

func TestAProfileThatIsNotThere(t *testing.T) {
	o, _, file := userOptions(t, configHead+"profiles: {staging: {}, production: {}}", nil)
	o.Profile = "stagin"
	_, err := o.ResolveSettings(Project{})
	want := "--profile is stagin, but " + file + " has no such profile"
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "it has: production, staging: did you mean staging?") {
		t.Errorf("%v", err)
	}
	o.Getenv = func(string) string { return "" }
	if _, err := o.ResolveSettings(Project{}); err == nil || !strings.Contains(err.Error(), "set HOME or XDG_CONFIG_HOME") {
		t.Errorf("%v", err)
	}
}

// TestProfilesHaveNoCharacterThatHidesText reads a profile whose comment has a URL behind a line separator.
func TestProfilesHaveNoCharacterThatHidesText(t *testing.T) {
	_, err := ParseProfiles([]byte("apiVersion: trueup/v1\nkind: Config\nprofiles:\n  prod: {} # ours\u2028  evil: {}\n"))
	if err == nil || !strings.Contains(err.Error(), "line 4, column 18") || !strings.Contains(err.Error(), "U+2028") {
		t.Fatal(err)
	}
}
