package fleet

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Rollout says how many projects run at once, and when no more may start.
type Rollout struct {
	Jobs  int           // projects at once
	Waves Waves         // without waves, all may start
	Pause time.Duration // before each wave but the first
	// MaxFailures is the bound: after more failures nothing further starts. Below zero there is none.
	MaxFailures int
	Sleep       func(context.Context, time.Duration) error
}

// RunProjects calls do for projects 0 to n-1 and waits for them. They start in order, and do reports whether a project failed.
// It returns how many were started: failures, or the end of ctx, may keep back the rest.
func (r Rollout) RunProjects(ctx context.Context, n int, do func(i int) (failed bool)) (started int) {
	var failures atomic.Int64
	over := func() bool {
		return ctx.Err() != nil || r.MaxFailures >= 0 && failures.Load() > int64(r.MaxFailures)
	}
	slots := make(chan struct{}, max(r.Jobs, 1))
	for _, end := range r.Waves.waveEnds(n) {
		if started > 0 && r.Pause > 0 && r.Sleep(ctx, r.Pause) != nil {
			return started
		}
		var wave sync.WaitGroup
		for started < end {
			slots <- struct{}{}
			if over() {
				<-slots
				break
			}
			i := started
			started++
			wave.Go(func() {
				defer func() { <-slots }()
				if do(i) {
					failures.Add(1)
				}
			})
		}
		wave.Wait()
		if over() {
			break
		}
	}
	return started
}

// Waves are the sizes to which a rollout grows, each a number of projects or a share of all.
type Waves []string

// waveEnds returns how many of n projects have started after each wave that starts any.
func (w Waves) waveEnds(n int) (list []int) {
	last := 0
	for _, wave := range w {
		number, isShare := strings.CutSuffix(wave, "%")
		size, _ := strconv.Atoi(number) // Set has checked it
		if isShare {
			size = (n*size + 99) / 100
		}
		if end := min(size, n); end > last {
			list, last = append(list, end), end
		}
	}
	if len(w) == 0 && n > 0 {
		list = []int{n}
	}
	return list
}

// String returns the waves as Set reads them.
func (w *Waves) String() string { return strings.Join(*w, ",") }

// Set reads waves such as 1,10%,100%, as a flag does.
func (w *Waves) Set(text string) error {
	*w = strings.Split(text, ",")
	for _, wave := range *w {
		number, isShare := strings.CutSuffix(wave, "%")
		if size, err := strconv.Atoi(number); err != nil || size < 1 || isShare && size > 100 {
			return fmt.Errorf("%q is no wave: write a number of projects or a share of all, such as 1,10%%,100%%", wave)
		}
	}
	if last := (*w)[len(*w)-1]; last != "100%" {
		return fmt.Errorf("the last wave is %s, so some projects would never start: end with 100%%", last)
	}
	return nil
}

// Type names the value for help texts.
func (w *Waves) Type() string { return "WAVES" }
