package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"trueup/internal/api"
	"trueup/internal/kind"
)

// onBudget returns the configuration of a client of one of the runs that share a budget.
func onBudget(t *testing.T, b *api.SharedLimits, through http.RoundTripper) api.ClientConfig {
	t.Helper()
	cfg := config(t, "http://127.0.0.1:1")
	cfg.Retry, cfg.RequestTimeout, cfg.Transport, cfg.Budget = api.RetryPolicy{}, 0, through, b
	return cfg
}

// TestBudgetHoldsOverProcesses: whatever the number of processes and runs, and whenever they begin, no second has more
// writes than the rate, and one for each process; and the rate is used while there is work.
func TestBudgetHoldsOverProcesses(t *testing.T) {
	for range 20 {
		processes, runs, perSecond := 1+rand.IntN(5), 1+rand.IntN(6), 1+9*rand.Float64()
		name := fmt.Sprintf("%d processes of %d runs, %.2f a second", processes, runs, perSecond)
		var at []time.Duration
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var all sync.WaitGroup
			begun := time.Now()
			for range processes {
				budget := api.NewSharedLimits(perSecond, processes, 4)
				for range runs {
					late := rand.N(3 * time.Second)
					all.Go(func() {
						time.Sleep(late)
						client := api.NewClient(onBudget(t, budget, nil))
						defer client.Close()
						for range 20 {
							if err := client.WaitForRateLimit(t.Context(), named(t, "CDN")); err != nil {
								t.Error(err)
							}
							mu.Lock()
							at = append(at, time.Since(begun))
							mu.Unlock()
						}
					})
				}
			}
			all.Wait()
		})
		slices.Sort(at)
		for i := range at {
			within := 0
			for _, later := range at[i:] {
				if later-at[i] < time.Second {
					within++
				}
			}
			if float64(within) > perSecond+float64(processes) {
				t.Fatalf("%s: %d writes in the second after %s", name, within, at[i])
			}
		}
		// Each process has its share of the rate, and all have the same work.
		if least := time.Duration(float64(len(at)-processes) / perSecond * float64(time.Second)); at[len(at)-1] > least+4*time.Second {
			t.Errorf("%s: %d writes took %s, not %s", name, len(at), at[len(at)-1], least)
		}
	}
}

// TestBudgetLimitsReads: all plans of a process read no more answers at once than the budget says.
func TestBudgetLimitsReads(t *testing.T) {
	for _, most := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			now, highest := 0, 0
			count := func(n int) {
				mu.Lock()
				defer mu.Unlock()
				now += n
				highest = max(highest, now)
			}
			through := roundTrip(func(r *http.Request) (*http.Response, error) {
				count(1)
				defer count(-1)
				time.Sleep(time.Second)
				return found(r), nil
			})
			budget := api.NewSharedLimits(0, 1, most)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if _, err := api.NewReader(onBudget(t, budget, through)).Get(t.Context(), named(t, "CDN"), "shop"); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if highest != most {
				t.Errorf("%d reads at once, and not %d", highest, most)
			}
		})
	}
}

// TestBudgetSharesNoPause: if the platform asks one run for a pause, the others, which have other workspaces, go on.
func TestBudgetSharesNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, begun, k := api.NewSharedLimits(0, 1, 4), time.Now(), named(t, "CDN")
		asked := false
		paused := api.NewReader(onBudget(t, budget, roundTrip(func(r *http.Request) (*http.Response, error) {
			if asked {
				return found(r), nil
			}
			asked = true
			return respond(r, 429, map[string]string{"Retry-After": "30"}, `{"message":"slow down"}`), nil
		})))
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := paused.Get(t.Context(), k, "shop"); err != nil || time.Since(begun) < 30*time.Second {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
		})
		time.Sleep(time.Second)
		through := roundTrip(func(r *http.Request) (*http.Response, error) { return found(r), nil })
		_, err := api.NewReader(onBudget(t, budget, through)).Get(t.Context(), k, "shop")
		if turn := api.NewClient(onBudget(t, budget, through)).WaitForRateLimit(t.Context(), k); err != nil || turn != nil || time.Since(begun) > 2*time.Second {
			t.Errorf("%v and %v after %s", err, turn, time.Since(begun))
		}
		all.Wait()
	})
}

// TestBudgetSharesARefusal: a token that the platform refused is not sent again by other runs. Another token is, and so is
// the same one to another address.
func TestBudgetSharesARefusal(t *testing.T) {
	sent, k := 0, named(t, "CDN")
	through := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent++
		if r.Header.Get("Authorization") == "Bearer other" || r.URL.Host == "other.example" {
			return found(r), nil
		}
		return respond(r, 401, nil, `{"message":"who are you"}`), nil
	})
	budget := api.NewSharedLimits(0, 1, 4)
	var said []string
	for range 3 {
		_, err := api.NewReader(onBudget(t, budget, through)).Get(t.Context(), k, "shop")
		if asError(t, err).Class != api.Denied {
			t.Errorf("%v", err)
		}
		said = append(said, api.TokenRefusal(err))
	}
	if sent != 1 || said[0] != "the platform refused the token, 401 Unauthorized: who are you: check TRUEUP_DELIVERY_TOKEN" || said[1] != said[0] || said[2] != said[0] {
		t.Errorf("%d requests: %q", sent, said)
	}
	other, elsewhere := onBudget(t, budget, through), config(t, "https://other.example/")
	elsewhere.Budget, elsewhere.Transport = budget, through
	e := other.Endpoints[kind.Delivery]
	var err error
	if e.Token, err = api.NewToken("other"); err != nil {
		t.Fatal(err)
	}
	other.Endpoints = map[kind.Area]api.Endpoint{kind.Delivery: e}
	for _, cfg := range []api.ClientConfig{other, elsewhere} {
		if _, err := api.NewReader(cfg).Get(t.Context(), k, "shop"); err != nil || api.TokenRefusal(err) != "" {
			t.Error(err)
		}
	}
}

// TestBudgetOnLoopback: only a rate that was asked for limits writes to this machine.
func TestBudgetOnLoopback(t *testing.T) {
	for perSecond, limited := range map[float64]bool{0: false, 2: true} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			client := api.NewClient(onBudget(t, api.NewSharedLimits(perSecond, 1, 4), nil))
			for range 3 {
				if err := client.WaitForRateLimit(t.Context(), named(t, "CDN")); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(begun); (took >= time.Second) != limited {
				t.Errorf("%v a second: three writes took %s", perSecond, took)
			}
		})
	}
	k := named(t, "CDN")
	cfg := config(t, "https://platform.example/")
	cfg.Budget = api.NewSharedLimits(0, 5, 4)
	synctest.Test(t, func(t *testing.T) {
		begun, client := time.Now(), api.NewClient(cfg)
		for range 2 {
			if err := client.WaitForRateLimit(t.Context(), k); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("the second write of a fifth of 5 a second came after %s", took)
		}
	})
}
