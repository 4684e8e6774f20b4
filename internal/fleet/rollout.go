package fleet

import (
	"context"
	"fmt"
	"math"
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

// Run calls do for projects 0 to n-1 and waits for them. They start in order, and do reports whether a project failed.
// It returns how many were started: failures, or the end of ctx, may keep back the rest.
func (r Rollout) Run(ctx context.Context, n int, do func(i int) (failed bool)) (started int) {
	var failures atomic.Int64
	over := func() bool {
		return ctx.Err() != nil || r.MaxFailures >= 0 && failures.Load() > int64(r.MaxFailures)
	}
	slots := make(chan struct{}, max(r.Jobs, 1))
	for _, end := range r.Waves.ends(n) {
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
type Waves []wave

type wave struct {
	text    string
	percent bool
	size    float64
}

// ends returns how many projects have started after each wave that starts any.
func (w Waves) ends(n int) (list []int) {
	last := 0
	for _, wave := range w {
		size := wave.size
		if wave.percent {
			size = math.Ceil(float64(n) * size / 100)
		}
		if end := min(int(size), n); end > last {
			list = append(list, end)
			last = end
		}
	}
	if len(w) == 0 && n > 0 {
		list = []int{n}
	}
	return list
}

// String returns the waves as Set reads them.
func (w *Waves) String() string {
	var texts []string
	for _, wave := range *w {
		texts = append(texts, wave.text)
	}
	return strings.Join(texts, ",")
}

// Set reads waves such as 1,10%,100%, as a flag does.
func (w *Waves) Set(text string) error {
	*w = nil
	for part := range strings.SplitSeq(text, ",") {
		number, percent := strings.CutSuffix(part, "%")
		size, err := strconv.Atoi(number)
		if err != nil || size < 1 || percent && size > 100 {
			return fmt.Errorf("%q is no wave: write a number of projects or a share of all, such as 1,10%%,100%%", part)
		}
		*w = append(*w, wave{part, percent, float64(size)})
	}
	if last := (*w)[len(*w)-1]; last.text != "100%" {
		return fmt.Errorf("the last wave is %s, so some projects would never start: end with 100%%", last.text)
	}
	return nil
}

// Type names the value for help texts.
func (w *Waves) Type() string { return "WAVES" }
