package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"trueup/internal/api"
	"trueup/internal/e2e/forgetest"
)

const (
	testToken  = "t0ken-of-the-code-host"
	testCommit = "1111111111111111111111111111111111111111"
	nextCommit = "2222222222222222222222222222222222222222"
)

// stage is a client of each kind of host, and what it talks to.
type stage struct {
	t       *testing.T
	host    *forgetest.Host
	context CIContext
	slept   []time.Duration
}

// place is a kind of host, where its API is, and who the token belongs to.
type place struct {
	context  CIContext
	api, bot string
}

func places() []place {
	return []place{
		{CIContext{Host: GitHub, Repository: "acme/site"}, "", "github-actions[bot]"},
		{CIContext{Host: GitHub, Repository: "acme/site"}, "/api/v3", "trueup-app[bot]"},
		{CIContext{Host: GitHub, Repository: "acme/site"}, "/api/v1", "gitea-actions"},
		{CIContext{Host: GitLab, Repository: "acme/web/site.de"}, "/api/v4", "project_7_bot"},
	}
}

// newStage is a place with pull request 7.
func newStage(t *testing.T, p place) *stage {
	t.Helper()
	s := &stage{t: t, host: forgetest.New(), context: p.context}
	s.context.API = serve(t, s.host) + p.api
	s.context.PullRequest, s.context.HeadCommit = 7, testCommit
	s.context.RunURL = "https://ci.example/run/<1>"
	s.host.Token(testToken, p.bot, true, false)
	s.host.Pull("7", testCommit)
	return s
}

// onEachHost runs a test against both kinds of host.
func onEachHost(t *testing.T, test func(s *stage, bot string)) {
	t.Helper()
	for _, p := range places() {
		t.Run(string(p.context.Host)+p.api, func(t *testing.T) {
			t.Parallel()
			test(newStage(t, p), p.bot)
		})
	}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	return server.URL
}

// client is that of a run, such as 12 or 12.3.
func (s *stage) client(run string) *RepositoryClient {
	s.t.Helper()
	c := s.context
	c.Attempt = 1
	if _, err := fmt.Sscanf(run, "%d.%d", new(int), &c.Attempt); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.t.Fatal(err)
	}
	c.RunID, _, _ = strings.Cut(run, ".")
	token, err := api.NewToken(testToken + "\n")
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := NewClient(c, ClientOptions{
		Token: token, UserAgent: "trueup", Timeout: time.Minute,
		Now:   func() time.Time { return time.Unix(1_800_000_000, 0) },
		Sleep: func(_ context.Context, d time.Duration) error { s.slept = append(s.slept, d); return nil },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// comment comments as a run, and compares the outcome.
func (s *stage) comment(run, body string, want TextOutcome) PostResult {
	s.t.Helper()
	res, err := s.client(run).Put(s.t.Context(), StickyText{Key: "envs/a b", Pull: 7, Body: body})
	if err != nil || res.Outcome != want {
		s.t.Fatalf("run %s: %+v, %v; want %s", run, res, err, want)
	}
	return res
}

// only is the one comment there is.
func (s *stage) only() forgetest.Note {
	s.t.Helper()
	all := s.host.Comments("7")
	if len(all) != 1 {
		s.t.Fatalf("there are %d comments: %+v", len(all), all)
	}
	return all[0]
}

func TestOneCommentIsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, bot string) {
		s.comment("5", "first", Created)
		first := s.only()
		if first.Author != bot || !strings.HasPrefix(first.Body, "<!-- trueup:comment v1 key=envs/a%20b run=5.1 -->\nfirst\n") ||
			!strings.Contains(first.Body, "commit <code>111111111111</code>, [run 5](<https://ci.example/run/%3C1%3E>)") {
			t.Errorf("%s wrote\n%s", first.Author, first.Body)
		}
		s.comment("6", "second", Updated)
		s.comment("6", "second", Unchanged)
		second := s.only()
		if second.ID != first.ID || second.Edits != 1 || !strings.Contains(second.Body, "\nsecond\n") {
			s.t.Errorf("%+v", second)
		}
	})
}

func TestAnOlderRunOverwritesNothing(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, _ string) {
		s.comment("10.2", "newest", Created)
		for _, older := range []string{"9", "9.7", "10.1"} {
			s.comment(older, "older", Outdated)
		}
		s.host.Pull("7", nextCommit)
		s.comment("11", "of a commit that was replaced", Outdated)
		if n := s.only(); n.Edits != 0 || !strings.Contains(n.Body, "newest") {
			s.t.Errorf("%+v", n)
		}
		s.context.HeadCommit = nextCommit
		s.comment("12", "of the new commit", Updated)
	})
}

func TestACommentOfAnotherAccountIsNotOurs(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, bot string) {
		mark := "<!-- trueup:comment v1 key=envs/a%20b run=99999.1 -->\n"
		foreign := map[int64]string{}
		for _, n := range []struct{ author, body string }{
			{"mallory", mark + "spoofed"},
			{strings.TrimSuffix(bot, "[bot]") + "x", mark + "spoofed too"},
			{bot, "some other tool of the same account\n" + mark},
			{bot, strings.Replace(mark, "envs/a%20b", "another", 1) + "of another key"},
			{bot, strings.Replace(mark, "v1", "v2", 1) + "of a later version"},
			{bot, strings.Replace(mark, "comment", "issue", 1)},
			{bot, strings.Replace(mark, " -->", ".9 -->", 1)},
			{bot, strings.Replace(mark, "99999", "99999999999999999999999", 1)},
			{bot, strings.Replace(mark, "%20", "%zz", 1)},
		} {
			foreign[s.host.Comment("7", n.author, n.body)] = n.body
		}
		s.comment("5", "ours", Created)
		s.comment("6", "ours again", Updated)
		for _, n := range s.host.Comments("7") {
			if body, found := foreign[n.ID]; found && (n.Body != body || n.Edits > 0) {
				t.Errorf("a comment of %s was changed to %q", n.Author, n.Body)
			}
		}
		if n := len(s.host.Comments("7")); n != len(foreign)+1 {
			t.Errorf("%d comments", n)
		}
	})
}

func TestACommentIsFoundOnAnyPage(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, _ string) {
		for range 150 {
			s.host.Comment("7", "jo", "before")
		}
		s.comment("5", "ours", Created)
		for range 150 {
			s.host.Comment("7", "jo", "after")
		}
		s.comment("6", "ours again", Updated)
		if n := len(s.host.Comments("7")); n != 301 {
			s.t.Errorf("%d comments", n)
		}
	})
}

func TestCopiesOfACommentAreDeleted(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, bot string) {
		var ids []int64
		for _, run := range []string{"3", "5", "5", "4"} {
			ids = append(ids, s.host.Comment("7", bot, "<!-- trueup:comment v1 key=envs/a%20b run="+run+".1 -->\r\nold"))
		}
		if res := s.comment("6", "new", Updated); res.Removed != 3 || s.only().ID != ids[1] {
			s.t.Errorf("%+v, %+v", res, s.only())
		}
	})
}

// TestTwoRunsAtOnce: another run comments between our look and our write.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]TextOutcome{"4": Created, "6": Outdated} {
		t.Run(other, func(t *testing.T) {
			t.Parallel()
			onEachHost(t, func(s *stage, bot string) {
				done := false
				s.host.Met = func(r forgetest.Request) {
					if r.Method == http.MethodPost && !strings.HasSuffix(r.Path, "/graphql") && !done {
						done = true
						s.host.Comment("7", bot, "<!-- trueup:comment v1 key=envs/a%20b run="+other+".1 -->\nby run "+other)
					}
				}
				res := s.comment("5", "by run 5", want)
				if text := map[string]string{"4": "by run 5", "6": "by run 6"}[other]; !strings.Contains(s.only().Body, text) || res.Removed != 1 {
					s.t.Errorf("%+v\n%s", res, s.only().Body)
				}
			})
		})
	}
}

// TestAnAnswerThatIsLost: what was written is found again, and not written twice.
func TestAnAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 500, 502, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			onEachHost(t, func(s *stage, _ string) {
				suffix := "/comments"
				if s.context.Host == GitLab {
					suffix = "/notes"
				}
				s.host.Fault(forgetest.Fault{Method: "POST", Suffix: suffix, Status: status, After: true, Times: 1})
				s.comment("5", "once", Unchanged)
				s.only()
			})
		})
	}
}

// TestAFaultAtAnyRequest: whichever request of a run fails, before it has done
// its work or after, one comment is left in the end, and it is the newest.
func TestAFaultAtAnyRequest(t *testing.T) {
	t.Parallel()
	for _, p := range places()[1:] {
		for _, earlier := range []int{0, 2} {
			for _, f := range []forgetest.Fault{{Status: 500}, {Status: 0, After: true}} {
				for f.Times = 1; ; f.Skip++ {
					s := newStage(t, p)
					for range earlier {
						s.host.Comment("7", p.bot, "<!-- trueup:comment v1 key=k run=4.1 -->\nold")
					}
					s.host.Fault(f)
					_, err := s.client("5").Put(t.Context(), StickyText{Key: "k", Pull: 7, Body: "new"})
					if err != nil || !strings.Contains(s.only().Body, "run=5.1 -->\nnew") {
						t.Errorf("%s, %d comments, %+v: %v\n%+v", p.context.Host, earlier, f, err, s.host.Comments("7"))
					}
					if len(s.slept) == 0 {
						break // there was no such request
					}
				}
			}
		}
	}
}

// TestACommentThatGoesAway: somebody deletes it between the look and the write.
func TestACommentThatGoesAway(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, _ string) {
		s.comment("5", "old", Created)
		id := s.only().ID
		s.host.Met = func(r forgetest.Request) {
			if r.Method == http.MethodPatch || r.Method == http.MethodPut {
				s.host.Delete(id)
			}
		}
		s.comment("6", "new", Created)
		if n := s.only(); n.ID == id || !strings.Contains(n.Body, "new") {
			s.t.Errorf("%+v", n)
		}
	})
}

func TestAHostThatAsksToWait(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, _ string) {
		s.host.Fault(forgetest.Fault{Status: 429, Header: map[string]string{"Retry-After": "7"}, Times: 1})
		s.host.Fault(forgetest.Fault{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000030"}, Times: 1})
		s.host.Fault(forgetest.Fault{Status: 503, Times: 1})
		s.comment("5", "text", Created)
		if want := []time.Duration{7 * time.Second, 30 * time.Second, 9 * time.Second}; fmt.Sprint(s.slept) != fmt.Sprint(want) {
			s.t.Errorf("waited for %v, want %v", s.slept, want)
		}
		s.host.Fault(forgetest.Fault{Status: 429, Header: map[string]string{"Retry-After": "86400"}})
		s.fails("6", "the host asks to wait for 24h0m0s")
	})
}

// fails comments and compares the error.
func (s *stage) fails(run string, want ...string) {
	s.t.Helper()
	before := len(s.host.Comments("7"))
	_, err := s.client(run).Put(s.t.Context(), StickyText{Key: "k", Pull: 7, Body: "text"})
	for _, part := range want {
		if err == nil || !strings.Contains(err.Error(), part) {
			s.t.Errorf("error is %v, want %q", err, part)
		}
	}
	if err != nil && strings.Contains(err.Error(), testToken) {
		s.t.Errorf("a token stands in %v", err)
	}
	if n := len(s.host.Comments("7")); n != before {
		s.t.Errorf("%d comments were written", n-before)
	}
}

func TestAHostThatRefuses(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, bot string) {
		s.host.Token(testToken, bot, false, false)
		s.fails("5", "403: Resource not accessible by integration", "allow the token")
		s.context.Fork = true
		s.fails("5", "403", "runs of pull requests from another repository have a read-only token:")
		s.host.Fault(forgetest.Fault{Status: 401, Body: `{"message":"` + testToken + ` is bad"}`, Times: 1})
		s.fails("5", "401: 29 bytes, not shown because they repeat a part of a secret", "store a new one")
		s.host.Fault(forgetest.Fault{Status: 404, Times: 1})
		s.fails("5", "404", "not found,")
		s.host.Fault(forgetest.Fault{Status: 422, Body: `{"message":"Validation Failed","errors":[{"message":"it is locked"}]}`, Times: 1})
		s.fails("5", "422: Validation Failed; it is locked")
		s.slept = nil
		s.host.Fault(forgetest.Fault{Status: 500, Body: "<html>"})
		s.fails("5", "status 500")
		if len(s.slept) != tries-1 {
			s.t.Errorf("waited for %v", s.slept)
		}
	})
}

// TestARedirectIsNotFollowed: a token does not go where an answer points to.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, _ string) {
		asked := 0
		elsewhere := serve(s.t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
		for _, status := range []int{301, 302, 307, 308} {
			s.host.Fault(forgetest.Fault{Status: status, Header: map[string]string{"Location": elsewhere + "/x"}, Times: 1})
			s.fails("5", "it redirects,")
		}
		if asked > 0 {
			s.t.Errorf("%d requests went elsewhere", asked)
		}
	})
}

// TestATokenOfUnknownOwner: where the host does not say whose the token is, its
// comments are known once one is written, and one is left.
func TestATokenOfUnknownOwner(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, bot string) {
		s.host.Token(testToken, bot, true, true)
		s.host.Comment("7", "mallory", "<!-- trueup:comment v1 key=envs/a%20b run=1.1 -->\nspoofed")
		s.comment("5", "first", Created)
		s.comment("6", "second", Created)
		s.comment("4", "late", Outdated)
		all := s.host.Comments("7")
		if len(all) != 2 || all[0].Edits != 0 || !strings.Contains(all[1].Body, "second") {
			s.t.Errorf("%+v", all)
		}
		if _, err := s.client("7").Put(s.t.Context(), StickyText{Title: "x", Body: "y", Resolved: true}); err == nil {
			s.t.Error("an issue of unknown owner was closed, or there is no word of it")
		}
	})
}

func TestATextThatDoesNotFit(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, _ string) {
		limit := s.context.Host.MaxTextLength()
		for body, want := range map[string]string{
			strings.Repeat("ä", limit-100): "may have " + fmt.Sprint(limit),
			"a\xff":                        "not UTF-8",
			"a\x00":                        "not UTF-8",
		} {
			_, err := s.client("5").Put(s.t.Context(), StickyText{Key: "k", Pull: 7, Body: body})
			if !errors.Is(err, ErrText) || !strings.Contains(err.Error(), want) {
				s.t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := s.client("5").Put(s.t.Context(), StickyText{Key: strings.Repeat("ä", 30), Pull: 7, Body: "x"}); !errors.Is(err, ErrText) {
			s.t.Errorf("a long key: %v", err)
		}
		if got := s.host.Requests(); len(got) > 0 {
			s.t.Errorf("%d requests were sent", len(got))
		}
		if s.context.Host == GitLab {
			return // no report is that long
		}
		// Reports leave 512 bytes for what is added; all of it at its longest.
		s.context.RunURL = "https://ci.example/" + strings.Repeat("x", maxAdded-len("https://ci.example/"))
		post := StickyText{Key: strings.Repeat("k", maxAdded), Pull: 7, Body: strings.Repeat("ä", limit-512)}
		if _, err := s.client("999999999999999999.999999999").Put(s.t.Context(), post); err != nil {
			s.t.Error(err)
		}
	})
}

func TestOneIssueForAsLongAsItIsNeeded(t *testing.T) {
	t.Parallel()
	onEachHost(t, func(s *stage, bot string) {
		post := StickyText{Key: ".", Title: "Drift", Body: "a field"}
		issue := func(run string, p StickyText, want TextOutcome) {
			s.t.Helper()
			if res, err := s.client(run).Put(s.t.Context(), p); err != nil || res.Outcome != want {
				s.t.Fatalf("run %s: %+v, %v; want %s", run, res, err, want)
			}
		}
		none := StickyText{Key: ".", Title: "Drift", Body: "nothing", Resolved: true}
		s.host.Issue("mallory", "Drift", "<!-- trueup:issue v1 key=. run=99.1 -->\nspoofed")
		issue("4", none, Nothing)
		issue("5", post, Created)
		issue("5", post, Unchanged)
		post.Body = "two fields"
		issue("6", post, Updated)
		issue("5", none, Outdated)
		issue("7", none, Closed)
		issue("8", none, Nothing)
		issue("9", post, Created)
		all := s.host.Issues()
		if len(all) != 3 || all[0].Edits != 0 || !all[1].Closed || all[2].Closed || all[2].Author != bot || all[2].Title != "Drift" {
			s.t.Errorf("%+v", all)
		}
	})
}
