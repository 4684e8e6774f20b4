package sandbox

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/internal/e2e/sandboxtest"
)

func (w *world) fault(rules ...string) {
	w.T.Helper()
	if err := w.s.AddFaults(rules...); err != nil {
		w.T.Fatal(err)
	}
}

func (w *world) executed(name string) int {
	w.T.Helper()
	done, err := w.s.CountExecutedPurges()
	if err != nil {
		w.T.Fatal(err)
	}
	return done[name]
}

// What comes instead of the platform's answer comes before it acts on the
// request, or after; the request log shows either.
func TestFaultsBeforeAndAfterTheCommit(t *testing.T) {
	for _, e := range FaultKinds() {
		if !e.Either || e.Name == "delay" || e.Name == "stall" {
			continue
		}
		effect := strings.NewReplacer("NNN", "403", "=URL", "=http://127.0.0.1:9/elsewhere").Replace(e.Name + strings.TrimSuffix(e.Value, statusOptions))
		for _, when := range []string{"", " after-commit"} {
			t.Run(e.Name+when, func(t *testing.T) {
				w := withShop(t)
				w.fault("POST /purges: " + effect + when)
				w.Get(sandboxtest.CDNs).Want(t, 200)
				got := w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("rel-1", "shop.example.com", "/"))
				committed := 0
				if when == " after-commit" {
					committed = 1
				}
				if n := w.executed("rel-1"); n != committed {
					t.Errorf("executed %d times", n)
				}
				log, err := w.s.Requests()
				if last := log[len(log)-1]; err != nil || last.Status != got.Code || last.Method != "POST" {
					t.Errorf("%+v %v, and answered %d", last, err, got.Code)
				}
				again := w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("rel-1", "shop.example.com", "/"))
				if want := []int{201, 409}[committed]; again.Code != want {
					t.Errorf("the second time: %d, want %d", again.Code, want)
				}
			})
		}
	}
}

// A client that gives up ends the request; so does closing the server.
func TestStall(t *testing.T) {
	for _, when := range []string{"", "after-commit"} {
		for _, closes := range []bool{false, true} {
			w := withShop(t)
			w.fault("* /purges: stall " + when)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			logged := make(chan LoggedRequest, 1)
			w.s.opts.Log = func(r LoggedRequest) { logged <- r }
			ended := make(chan answer, 1)
			req := w.Request(ctx, "POST", sandboxtest.Purges, sandboxtest.PurgeBody("rel-1", "shop.example.com", "/"))
			go func() { ended <- sandboxtest.Send(req) }()
			if r := <-logged; r.Status != 0 {
				t.Errorf("%s: %+v", when, r)
			}
			if n := w.executed("rel-1"); (n == 1) != (when == "after-commit") {
				t.Errorf("%s: executed %d times", when, n)
			}
			if closes {
				if err := w.s.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				cancel()
			}
			if got := <-ended; got.Err == nil {
				t.Errorf("%s: answered %d", when, got.Code)
			}
		}
	}
}

// What is late on its way is acted on although nobody waits for it any more.
func TestLateRequestIsActedOn(t *testing.T) {
	w := withShop(t)
	w.fault("POST /purges: delay=50ms")
	logged := make(chan LoggedRequest, 1)
	w.s.opts.Log = func(r LoggedRequest) { logged <- r }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.s.opts.Around = func(r *http.Request, body []byte, answer func(*http.Request, []byte) *Response) *Response {
		cancel()
		time.Sleep(200 * time.Millisecond) // until the client has gone
		return answer(r, body)
	}
	if got := sandboxtest.Send(w.Request(ctx, "POST", sandboxtest.Purges, sandboxtest.PurgeBody("rel-1", "shop.example.com", "/"))); got.Err == nil {
		t.Errorf("answered %d", got.Code)
	}
	if r := <-logged; r.Status != 201 {
		t.Errorf("%+v", r)
	}
	if n := w.executed("rel-1"); n != 1 {
		t.Errorf("executed %d times", n)
	}
}

// duplicate-executes is for one request; the next duplicate is refused.
func TestDuplicateExecutes(t *testing.T) {
	w := withShop(t)
	body := sandboxtest.PurgeBody("rel-1", "shop.example.com", "/")
	w.fault("POST /purges: duplicate-executes @2")
	for _, want := range []int{201, 201, 409} {
		w.Post(sandboxtest.Purges, body).Want(t, want)
	}
	if n := w.executed("rel-1"); n != 2 {
		t.Errorf("executed %d times", n)
	}
}

// The clock stays off, until the faults are cleared; the platform's own goes on.
func TestClockJumps(t *testing.T) {
	w := withShop(t)
	w.fault("GET /cdns/shop: clock=+25h", "GET /cdns/shop: clock=-1h")
	for _, want := range []string{"Sun, 22 Nov 2026 10:00:00 GMT", "Sun, 22 Nov 2026 09:00:00 GMT", "Sun, 22 Nov 2026 09:00:00 GMT"} {
		if got := w.Get(sandboxtest.CDNs + "/shop").Header.Get("Date"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if !w.s.Now().Equal(sandboxtest.Start) {
		t.Errorf("it is %s", w.s.Now())
	}
	w.s.ClearFaults()
	if got := w.Get(sandboxtest.CDNs).Header.Get("Date"); got != "Sat, 21 Nov 2026 09:00:00 GMT" {
		t.Error(got)
	}
}

// Rules count each on its own; of several that are due the first happens.
func TestFaultsAreCountedAndForgotten(t *testing.T) {
	w := withShop(t)
	w.fault("GET /cdns: 503 x2", "* *: 500 @2 x2", "GET */cdns: 504 x*", "PATCH *: drop")
	for _, want := range []int{503, 503, 500, 500, 504, 504} {
		w.Get(sandboxtest.CDNs).Want(t, want)
	}
	got := w.s.PendingFaults()
	want := []PendingFault{{Rule: "GET */cdns: 504 x*", Seen: 6, Done: 2}, {Rule: "PATCH *: drop"}}
	if !slices.Equal(got, want) {
		t.Errorf("waiting: %v", got)
	}
	w.Get(sandboxtest.CDNs+"/shop").Want(t, 200)
	w.s.ClearFaults()
	w.Get(sandboxtest.CDNs).Want(t, 200)
	if got := w.s.PendingFaults(); len(got) != 0 {
		t.Errorf("waiting: %v", got)
	}
}

func TestConcurrentRequests(t *testing.T) {
	w := withShop(t)
	var wg sync.WaitGroup
	codes := make(chan int, 64)
	for i := range 8 {
		wg.Go(func() {
			for j := range 4 {
				codes <- w.Post(sandboxtest.Purges, sandboxtest.PurgeBody("same-"+strconv.Itoa(j), "shop.example.com", "/")).Code
				w.Patch(sandboxtest.CDNs+"/shop", `{"metadata":{"labels":{"n`+strconv.Itoa(i)+`":"`+strconv.Itoa(j)+`"}}}`)
				w.Get(sandboxtest.CDNs)
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			w.Advance(time.Second)
			w.SetQuirks("typed-scalars")
		}
	})
	wg.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	if count[201] != 4 || count[409] != 28 {
		t.Errorf("codes %v", count)
	}
	w.Get(sandboxtest.CDNs+"/shop").WantAt(t, "metadata.labels.n7", "3")
	done, err := w.s.CountExecutedPurges()
	if err != nil || len(done) != 4 || done["same-0"] != 1 {
		t.Errorf("executed %v %v", done, err)
	}
}
