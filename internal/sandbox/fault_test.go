package sandbox

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		mode      Mode
		code      int
		committed bool
	}{
		{Unavailable, 503, false},
		{UnavailableAfter, 503, true},
		{Drop, 0, false},
		{DropAfter, 0, true},
	} {
		t.Run(string(tc.mode), func(t *testing.T) {
			w := withShop(t)
			if err := w.s.Fault("POST", "/purges", tc.mode, 1); err != nil {
				t.Fatal(err)
			}
			w.get(cdns).want(t, 200)
			got := w.post(purges, purgeBody("rel-1", "shop.example.com", "/"))
			if got.code != tc.code || (got.err != nil) != (tc.code == 0) {
				t.Errorf("%d %v", got.code, got.err)
			}
			done, err := w.s.Executed()
			if err != nil || (done["rel-1"] == 1) != tc.committed {
				t.Errorf("executed %v %v", done, err)
			}
			log, err := w.s.Requests()
			if last := log[len(log)-1]; err != nil || last.Status != tc.code || last.Method != "POST" {
				t.Errorf("%+v %v", last, err)
			}
			again := w.post(purges, purgeBody("rel-1", "shop.example.com", "/"))
			if want := map[bool]int{true: 409, false: 201}[tc.committed]; again.code != want {
				t.Errorf("the second time: %d, want %d", again.code, want)
			}
		})
	}
}

// A client that gives up ends the request; so does closing the server.
func TestStall(t *testing.T) {
	for _, mode := range []Mode{Stall, StallAfter} {
		for _, closes := range []bool{false, true} {
			w := withShop(t)
			if err := w.s.Fault("", "/purges", mode, 1); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			logged := make(chan Request, 1)
			w.s.opts.Log = func(r Request) { logged <- r }
			ended := make(chan answer, 1)
			body := strings.NewReader(purgeBody("rel-1", "shop.example.com", "/"))
			req, err := http.NewRequestWithContext(ctx, "POST", w.url+purges, body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+DeliveryToken)
			req.Header.Set("Content-Type", "application/json")
			go func() { ended <- send(req) }()
			if r := <-logged; r.Status != 0 {
				t.Errorf("%s: %+v", mode, r)
			}
			done, err := w.s.Executed()
			if err != nil || (done["rel-1"] == 1) != (mode == StallAfter) {
				t.Errorf("%s: executed %v %v", mode, done, err)
			}
			if closes {
				if err := w.s.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				cancel()
			}
			if got := <-ended; got.err == nil {
				t.Errorf("%s: answered %d", mode, got.code)
			}
		}
	}
}

func TestFaultsAreCountedAndForgotten(t *testing.T) {
	w := withShop(t)
	if err := w.s.Fault("GET", "", "burn", 1); err == nil {
		t.Error("an unknown mode was taken")
	}
	for _, times := range []int{2, 5} {
		if err := w.s.Fault("GET", "/cdns", Unavailable, times); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		w.get(cdns).want(t, 503)
	}
	w.s.ClearFaults()
	w.get(cdns).want(t, 200)
}

func TestOnRequestCanChangeTheWorld(t *testing.T) {
	w := withShop(t)
	w.s.OnRequest(func(method, path string) {
		if method != http.MethodPatch || !strings.HasSuffix(path, "/shop") {
			return
		}
		obj, err := w.s.Object("CDN", "acme", "shop")
		if err != nil {
			t.Error(err)
		}
		obj["spec"].(map[string]any)["tls"] = map[string]any{"auto": "true"}
		if err := w.s.Put(obj); err != nil {
			t.Error(err)
		}
	})
	before := w.get(cdns + "/shop")
	version := before.at("metadata.resourceVersion").(string)
	w.patch(cdns+"/shop", `{"metadata":{"resourceVersion":"`+version+`"}}`).want(t, 409)
	w.s.OnRequest(nil)
	w.get(cdns+"/shop").wantAt(t, "spec.tls.auto", "true").wantAt(t, "metadata.uid", before.at("metadata.uid"))
}

func TestConcurrentRequests(t *testing.T) {
	w := withShop(t)
	var wg sync.WaitGroup
	codes := make(chan int, 64)
	for i := range 8 {
		wg.Go(func() {
			for j := range 4 {
				codes <- w.post(purges, purgeBody("same-"+strconv.Itoa(j), "shop.example.com", "/")).code
				w.patch(cdns+"/shop", `{"metadata":{"labels":{"n`+strconv.Itoa(i)+`":"`+strconv.Itoa(j)+`"}}}`)
				w.get(cdns)
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			w.advance(time.Second)
			w.quirks(quirkTyped)
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
	w.get(cdns+"/shop").wantAt(t, "metadata.labels.n7", "3")
	done, err := w.s.Executed()
	if err != nil || len(done) != 4 || done["same-0"] != 1 {
		t.Errorf("executed %v %v", done, err)
	}
}
