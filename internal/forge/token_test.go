package forge

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"trueup/internal/api"
)

func TestWhereATokenMayGo(t *testing.T) {
	t.Parallel()
	token, err := api.NewToken(testToken)
	if err != nil {
		t.Fatal(err)
	}
	for api, want := range map[string]string{
		"http://github.example":            "a token only over https",
		"ftp://127.0.0.1":                  "a token only over https",
		"https://user:pw@github.example":   "gives no valid address",
		"https://github.example?x=y":       "gives no valid address",
		"":                                 "gives no valid address",
		"https://api.github.com":           "",
		"https://github.example/api/v3/":   "",
		"http://localhost:1/api/v3":        "",
		"http://gitea.localhost:1/api/v1":  "",
		"http://[::1]:1":                   "",
		"http://127.0.0.1.evil.example/v3": "a token only over https",
	} {
		_, err := NewClient(CIContext{Host: GitHub, API: api, Repository: "a/b", RunID: "1"}, ClientOptions{Token: token})
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw")) {
			t.Errorf("%s: %v, want %q", api, err, want)
		}
	}
	for _, c := range []CIContext{
		{Host: GitHub, Repository: "a/../b", RunID: "1"},
		{Host: GitHub, Repository: "a", RunID: "1"},
		{Host: GitLab, Repository: "a", RunID: "1"},
		{Host: GitLab, Repository: "a/..", RunID: "1"},
		{Host: GitHub, Repository: "a/b"},
		{Repository: "a/b", RunID: "1"},
	} {
		c.API = "https://host.example"
		if _, err := NewClient(c, ClientOptions{Token: token}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	if _, err := NewClient(CIContext{Host: GitHub, API: "https://host.example", Repository: "a/b", RunID: "1"}, ClientOptions{}); err == nil {
		t.Error("no token: no error")
	}
}

func TestATokenIsNotPrinted(t *testing.T) {
	t.Parallel()
	token, err := api.NewToken(testToken)
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("a token", "token", token)
	text := fmt.Sprintf("%v %+v %#v %s %q %s %s", token, ClientOptions{Token: token}, token, token, token, hidden, logged.String())
	if strings.Contains(text, "t0ken") {
		t.Error(text)
	}
	for _, bad := range []string{"a b", "a\nb", "a\x00", "ä", "a\n\n"} {
		if _, err := api.NewToken(bad); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
