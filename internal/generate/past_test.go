package generate

import (
	"testing"
	"time"

	"trueup/internal/ledger"
)

// TestIsBeforeTheLog: a commit or run whose oldest write follows the begin of the log may have written before that.
func TestIsBeforeTheLog(t *testing.T) {
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	begin := ledger.LogBegin{Entry: 10, At: at}
	for name, c := range map[string]struct {
		moment  PastMoment
		matched int
		oldest  time.Time
		begin   ledger.LogBegin
		want    bool
	}{
		"a whole log":                   {PastMoment{Commit: "c"}, 1, at, ledger.LogBegin{}, false},
		"a commit right after it":       {PastMoment{Commit: "c"}, 1, at.Add(59 * time.Minute), begin, true},
		"a commit long after it":        {PastMoment{Commit: "c"}, 1, at.Add(2 * time.Hour), begin, false},
		"a commit that it lacks":        {PastMoment{Commit: "c"}, 0, time.Time{}, begin, true},
		"a run right after it":          {PastMoment{Run: true, Entry: 11}, 1, at, begin, true},
		"a run long after it":           {PastMoment{Run: true, Entry: 11}, 1, at.Add(2 * time.Hour), begin, false},
		"an entry before it":            {PastMoment{Entry: 9}, 1, at, begin, true},
		"its first entry":               {PastMoment{Entry: 10}, 1, at, begin, false},
		"a time before it":              {PastMoment{Time: at.Add(-1)}, 1, at, begin, true},
		"an entry that is to come":      {PastMoment{Entry: 99}, 0, time.Time{}, begin, false},
		"a time after all writes":       {PastMoment{Time: at.Add(time.Hour)}, 0, time.Time{}, begin, false},
		"a time after it":               {PastMoment{Time: at}, 1, at, begin, false},
		"a commit that no log ever had": {PastMoment{Commit: "c"}, 0, time.Time{}, ledger.LogBegin{}, false},
	} {
		w := pastWriteCollector{PastMoment: c.moment, matched: c.matched, last: ledger.LogEntry{At: c.oldest}}
		if got := w.isBefore(c.begin); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
