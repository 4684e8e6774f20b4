package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/internal/kind"
)

// tokenOf asks for the delivery token of the environment and, where text is
// not empty, of the profile prod.
func tokenOf(ctx context.Context, t *testing.T, text string, vars map[string]string, stdin string) (said string, err error) {
	t.Helper()
	o, log, _ := userOptions(t, text, vars)
	if text != "" {
		o.Profile = "prod"
	}
	o.Now = func() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) }
	o.Stdin = strings.NewReader(stdin)
	s, err := o.ResolveSettings(Project{})
	if err != nil {
		return "", err
	}
	w, wrong := o.RealPlatform(s, Project{})
	if wrong[kind.Delivery] != nil {
		return "", wrong[kind.Delivery]
	}
	e := w.API.Endpoints[kind.Delivery]
	token, err := e.Ask(ctx)
	again, errAgain := e.Ask(ctx)
	if token.IsZero() != again.IsZero() || fmt.Sprint(err) != fmt.Sprint(errAgain) {
		t.Errorf("asked again: %v, %v", again, errAgain)
	}
	said = log.String()
	if strings.Contains(said+fmt.Sprint(err), canary) {
		t.Errorf("a token was shown: %s %v", said, err)
	}
	if err == nil && token.IsZero() {
		t.Error("neither a token nor an error")
	}
	return said, err
}

func TestATokenIsReadFromAFile(t *testing.T) {
	for _, c := range []struct {
		name    string
		content string
		mode    os.FileMode
		uid     int
		ci      string
		says    string // of the error
		warns   string
	}{
		{name: "plain", content: canary, mode: 0o600},
		{name: "with a line end", content: canary + "\n", mode: 0o400},
		{name: "with a line end of another system", content: canary + "\r\n", mode: 0o600},
		{name: "two line ends", content: canary + "\n\n", mode: 0o600, says: "white space"},
		{name: "space", content: canary + " ", mode: 0o600, says: "white space"},
		{name: "empty", content: "", mode: 0o600, says: "token is empty"},
		{name: "too long", content: strings.Repeat("x", maxToken+1), mode: 0o600, says: "it is larger than 64 KiB"},
		{name: "group reads", content: canary, mode: 0o640, says: "other users can read or write "},
		{name: "all read", content: canary, mode: 0o604, says: "chmod 600 "},
		{name: "group writes", content: canary, mode: 0o620, says: "chmod 600 "},
		{name: "as CI mounts it", content: canary, mode: 0o666, ci: "true", warns: "other users can read the token in"},
		{name: "CI is off", content: canary, mode: 0o644, ci: "false", says: "chmod 600 "},
		{name: "another user's", content: canary, mode: 0o600, uid: 54321, says: "belongs to user 54321"},
	} {
		if c.uid != 0 && os.Geteuid() != 0 {
			continue
		}
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		if c.uid != 0 {
			if err := os.Chown(file, c.uid, -1); err != nil {
				t.Fatal(err)
			}
		}
		said, err := tokenOf(t.Context(), t, "", map[string]string{"TRUEUP_DELIVERY_TOKEN_FILE": file, "CI": c.ci}, "")
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "TRUEUP_DELIVERY_TOKEN_FILE: ") {
			t.Errorf("%s: %v does not name the setting", c.name, err)
		}
		if !strings.Contains(said, c.warns) || c.warns == "" && said != "" {
			t.Errorf("%s: warns %q, want %q", c.name, said, c.warns)
		}
	}
}

// TestATokenFileThatIsMounted by another user is warned of: its user can't
// change the mode.
func TestATokenFileThatIsMounted(t *testing.T) {
	o, _, _ := userOptions(t, "", nil)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if warning, err := o.checkReaders(file, info, true); err != nil || !strings.Contains(warning, "mount it with mode 0400 or 0440") {
		t.Errorf("%q, %v", warning, err)
	}
	if _, err := o.checkReaders(file, info, isOnReadOnlyMount(file)); err == nil {
		t.Error("a file on a disk that can be written is not refused")
	}
}

// TestATokenIsPrintedByACommand runs real programs of the user.
func TestATokenIsPrintedByACommand(t *testing.T) {
	t.Setenv("TRUEUP_COMPUTE_TOKEN", "of-the-other-area")
	t.Setenv("PROD_TOKEN", "of-the-profile")
	for _, c := range []struct {
		name, script string
		says         string // of the error, empty where there is a token
	}{
		{"text", "echo " + canary, ""},
		{"json", `echo '{"access_token":"` + canary + `"}'`, "printed JSON: print the token alone"},
		{"nothing", "true", "printed nothing"},
		{"two lines", "echo a; echo " + canary, "white space"},
		{"too much", "yes | head -c 70000", "printed more than 64 KiB"},
		{"fails", `echo ` + canary + `; echo "no session: ` + canary + `" >&2; exit 3`, "command sh: exit status 3: 26 bytes, not shown because they repeat a part of a secret"},
		{"cut", `echo ` + canary + `; head -c 1990 /dev/zero | tr '\0' . >&2; echo " ` + canary + `" >&2; exit 3`, "exit status 3: ...."},
		{"escapes", `printf 'a\033[31mb\n::error::x\n' >&2; exit 1`, `exit status 1: a [31mb ::error::x`},
		{"knows no other token", `test -z "$TRUEUP_COMPUTE_TOKEN$PROD_TOKEN" && echo ` + canary, ""},
		{"runs beside the file", "test -f config.yaml && echo " + canary, ""},
		{"has no input", "cat; echo " + canary, ""},
		{"leaves something behind", "sleep 60 >/dev/null 2>&1 & echo " + canary, ""},
	} {
		text := configHead + fmt.Sprintf("profiles: {prod: {delivery: {token: {exec: {command: [sh, -c, %q]}}}, compute: {token: {env: PROD_TOKEN}}}}", c.script)
		_, err := tokenOf(t.Context(), t, text, nil, "")
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), canary[:6])) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	for program, says := range map[string]string{"no-such-program": "not found", "./missing": "no such file"} {
		text := configHead + "profiles: {prod: {delivery: {token: {exec: {command: [" + program + "]}}}}}"
		if _, err := tokenOf(t.Context(), t, text, nil, ""); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.HasPrefix(err.Error(), "delivery.token of profile prod at ") {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// TestATokenCommandEndsInTime, with all that it has started: a pipe that they
// hold open would be read until they end.
func TestATokenCommandEndsInTime(t *testing.T) {
	dir := t.TempDir()
	script := "(sleep 60; touch " + filepath.Join(dir, "late") + ") & sleep 60"
	text := configHead + fmt.Sprintf("profiles: {prod: {delivery: {token: {exec: {command: [sh, -c, %q], timeout: 50ms}}}}}", script)
	// The children would hold the pipe until execWait, were they not ended; once in
	// a while a machine takes as long for something else.
	for tries := 5; ; tries-- {
		start := time.Now()
		_, err := tokenOf(t.Context(), t, text, nil, "")
		if err == nil || !strings.Contains(err.Error(), "did not end within 50ms") {
			t.Error(err)
		}
		if took := time.Since(start); took < execWait {
			break
		} else if tries == 1 {
			t.Fatalf("it took %s: were the children ended?", took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tokenOf(ctx, t, text, nil, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestTokenIn: what is posted must not have a token. A short one is no token, and could be in any text.
func TestTokenIn(t *testing.T) {
	env := map[string]string{"TRUEUP_DELIVERY_TOKEN": " secret-token-1\n", "TRUEUP_COMPUTE_TOKEN": "a", "GH_TOKEN": "secret-token-2"}
	o := Options{Env: Env{Getenv: func(name string) string { return env[name] }}}
	for text, want := range map[string]string{
		"a plan": "", "secret-token-1": "TRUEUP_DELIVERY_TOKEN", "xsecret-token-2x": "GH_TOKEN",
	} {
		if got := o.FindTokenVariable(text, "GH_TOKEN", "GITLAB_TOKEN"); got != want {
			t.Errorf("%q has the token of %q, want %q", text, got, want)
		}
	}
}
