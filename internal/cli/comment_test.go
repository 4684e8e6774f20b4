package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
)

// codeHostSays lets a code host say a text wherever it can: in the address of a
// comment, and in why it takes none.
func codeHostSays(s *stage, text string) [][]string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = []any{}
		status := http.StatusOK
		switch {
		case strings.Contains(r.URL.Path, "/issues/8/"):
			status = http.StatusUnprocessableEntity
			answer = map[string]any{"message": text, "errors": []any{map[string]any{"message": text}}}
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/comments"):
			status = http.StatusCreated
			answer = map[string]any{"id": 1, "body": text, "html_url": text, "user": map[string]any{"login": "bot"}}
		case r.Method == http.MethodPost:
			answer = map[string]any{"data": map[string]any{"viewer": map[string]any{"login": "bot"}}}
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // who is gone needs no answer
	}))
	s.t.Cleanup(web.Close)
	s.write("odd/plan.md", text+"x")
	for name, value := range map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_API_URL": web.URL, "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "1", "TRUEUP_FORGE_TOKEN": "t",
	} {
		s.vars[name] = value
	}
	return [][]string{
		{"comment", "--pr", "8", "odd/plan.md"},
		{"comment", "--pr", "7", "odd/plan.md"},
		{"comment", "--pr", "7", "--repository", text, "odd/plan.md"},
		{"comment", "--pr", "7", "--key", text, "odd/plan.md"},
		{"comment", "--issue", text, "odd/plan.md"},
		{"comment", "--issue", "x", "--result", text, "odd/plan.md"},
		{"comment", text},
	}
}
