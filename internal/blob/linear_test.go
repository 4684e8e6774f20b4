package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"trueup/internal/e2e/gitremote"
	"trueup/internal/e2e/long"
	"trueup/internal/e2e/servers"
)

// storeCall is what a client asked a store, about one name. A listing asks about each.
type storeCall struct {
	name, content string // content is what it creates
	creates       bool
}

// storeAnswer is what the client learned.
type storeAnswer struct {
	content string // content is what a read found, or ""
	listed  bool   // listed says that it is only known to exist
	err     error  // err is that of a creation
}

// sequential says what a store with one client would answer: a name has no blob, or always the same one. After an
// unclear error the blob may be there, now or later. loose is a store that may also say ErrExists because of another name.
func sequential(loose bool) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			byName := map[string][]porcupine.Operation{}
			for _, op := range history {
				name := op.Input.(storeCall).name
				byName[name] = append(byName[name], op)
			}
			for _, part := range byName {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			has, call, answer := state.(string), input.(storeCall), output.(storeAnswer)
			switch {
			case call.creates && answer.err == nil:
				return has == "", call.content
			case call.creates && errors.Is(answer.err, ErrExists):
				return loose || has != "", has
			case call.creates && has == "":
				return true, call.content
			case call.creates:
				return true, has
			case answer.listed:
				return has != "", has
			}
			return answer.content == has, has
		},
	}
}

// storeClients are clients of one store, with what they did.
type storeClients struct {
	began   time.Time
	mu      sync.Mutex
	history []porcupine.Operation
	failed  error // failed is why the last listing failed
}

// note adds a call. What ended unclear may be done at any time.
func (c *storeClients) note(client int, call storeCall, since time.Duration, answer storeAnswer) {
	until := int64(time.Since(c.began))
	if call.creates && answer.err != nil && !errors.Is(answer.err, ErrExists) {
		until = math.MaxInt64
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{ClientId: client, Input: call, Call: int64(since), Output: answer, Return: until})
}

// run lets a client create, read and list. All of them go through the same names.
func (c *storeClients) run(ctx context.Context, client int, s Store, names int) {
	for i := range names {
		name := fmt.Sprintf("log/%d/%d.json", i/4, i)
		since := time.Since(c.began)
		listed, err := s.List(ctx, "log", 0)
		if err != nil {
			c.mu.Lock()
			c.failed = err
			c.mu.Unlock()
			continue
		}
		switch rand.IntN(4) {
		case 0:
			for i := range names {
				name := fmt.Sprintf("log/%d/%d.json", i/4, i)
				c.note(client, storeCall{name: name}, since, storeAnswer{listed: slices.Contains(listed, name)})
			}
		case 1:
			b, err := s.Get(ctx, name)
			if err == nil || errors.Is(err, ErrAbsent) {
				c.note(client, storeCall{name: name}, since, storeAnswer{content: string(b)})
			}
		default:
			content := fmt.Sprintf("%d of client %d", i, client)
			err := create(ctx, s, name, []byte(content))
			c.note(client, storeCall{name, content, true}, since, storeAnswer{err: err})
		}
	}
}

// liveHistory lets two to eight clients use a store at once, and returns what they did.
func liveHistory(t *testing.T, open func() Store, names int) []porcupine.Operation {
	t.Helper()
	c, clients := storeClients{began: time.Now()}, make([]Store, 2+rand.IntN(7))
	for i := range clients {
		clients[i] = open()
	}
	for range 10 { // until no connection is cut
		if c.failed = clients[0].Prepare(t.Context()); c.failed == nil {
			break
		}
	}
	must(t, c.failed)
	var running sync.WaitGroup
	for i, s := range clients {
		running.Go(func() { c.run(t.Context(), i, s, names) })
	}
	running.Wait()
	if len(c.history) == 0 {
		t.Fatal("no call is answered: ", c.failed)
	}
	return c.history
}

// cutProxy is a way to a server on which connections are cut, before or after a request arrives, by chance: at one in so
// many messages.
func cutProxy(t *testing.T, target string, oneIn int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var cuts atomic.Int64
	t.Cleanup(func() {
		_ = l.Close()
		t.Logf("%d cuts, at one message in %d", cuts.Load(), oneIn)
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			carry := func(to, from net.Conn) {
				defer func() { _ = errors.Join(to.Close(), from.Close()) }()
				for buffer := make([]byte, 1<<16); ; {
					n, err := from.Read(buffer)
					if err != nil {
						return
					}
					if rand.IntN(oneIn) == 0 {
						cuts.Add(1)
						return
					}
					if _, err := to.Write(buffer[:n]); err != nil {
						return
					}
				}
			}
			go carry(server, client)
			go carry(client, server)
		}
	}()
	return l.Addr().String()
}

// throughCuts returns an address with the same server behind a proxy that cuts connections.
func throughCuts(t *testing.T, address string, oneIn int) string {
	t.Helper()
	host := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(address)
	return strings.Replace(address, host, cutProxy(t, host, oneIn), 1)
}

// linearStores open a new store of each kind, for one client after the other.
var linearStores = map[string]func(t *testing.T) func() Store{
	"file": func(t *testing.T) func() Store {
		dir := t.TempDir()
		return func() Store { return FolderStore(dir) }
	},
	"git": func(t *testing.T) func() Store {
		url := throughCuts(t, backendURL(t, gitremote.Bare(t)), 40)
		return func() Store {
			dir := t.TempDir()
			gitremote.Cmd(t, dir, "init", "--quiet")
			gitremote.Cmd(t, dir, "remote", "add", "origin", url)
			return openRef(t, dir, testRef)
		}
	},
	"fake": func(t *testing.T) func() Store {
		f := newFakeBucket(t)
		t.Setenv("AWS_ENDPOINT_URL_S3", throughCuts(t, f.URL, 3+rand.IntN(30)))
		return func() Store { return f.store(t, "x") }
	},
	"s3": func(t *testing.T) func() Store {
		where := throughCuts(t, servers.Store(t, "s3"), 3+rand.IntN(30))
		return func() Store { return quickBucket(t, where) }
	},
	"gs": func(t *testing.T) func() Store {
		where := throughCuts(t, servers.Store(t, "gs"), 3+rand.IntN(30))
		return func() Store { return quickly(t)(OpenGCS(where, true)) }
	},
	"azblob": func(t *testing.T) func() Store {
		where := throughCuts(t, servers.Store(t, "azblob"), 3+rand.IntN(30))
		return func() Store { return quickly(t)(OpenAzure(where, true, os.Getenv, time.Now)) }
	},
	"postgres": func(t *testing.T) func() Store {
		schema := newPgSchema(t)
		must(t, schema.store("x", "").Prepare(t.Context()))
		_, port, err := net.SplitHostPort(cutProxy(t, net.JoinHostPort(os.Getenv("PGHOST"), os.Getenv("PGPORT")), 10+rand.IntN(30)))
		must(t, err)
		n, err := strconv.ParseUint(port, 10, 16)
		must(t, err)
		return func() Store {
			s := schema.store("x", "")
			s.server.(*pgServer).config.Port = uint16(n)
			return quickly(t)(s, nil)
		}
	},
}

// quickly makes a store wait for short.
func quickly(t *testing.T) func(*RemoteStore, error) Store {
	return func(s *RemoteStore, err error) Store {
		must(t, err)
		s.pause = time.Millisecond
		return s
	}
}

// TestStoresAreLinearizable: whatever clients do at once, and whatever connections are cut, they learn what they could
// learn one after the other.
func TestStoresAreLinearizable(t *testing.T) {
	for name, open := range linearStores {
		t.Run(name, func(t *testing.T) {
			names := map[bool]int{true: 8, false: 24}[name == "git"]
			for range long.Times(1) {
				history := liveHistory(t, open(t), names)
				if got := porcupine.CheckOperationsTimeout(sequential(name == "git"), history, time.Minute); got != porcupine.Ok {
					t.Fatalf("%s:\n%s", got, tellHistory(history))
				}
				unclear := slices.DeleteFunc(slices.Clone(history), func(op porcupine.Operation) bool { return op.Return != math.MaxInt64 })
				t.Logf("%d calls, of which %d ended unclear", len(history), len(unclear))
			}
		})
	}
}

// TestALyingStoreIsCaught: clients notice a store that takes every PUT.
func TestALyingStoreIsCaught(t *testing.T) {
	f := newFakeBucket(t)
	f.ignores = true
	for i := range 20 {
		history := liveHistory(t, func() Store { return f.store(t, filepath.ToSlash(fmt.Sprint("x/", i))) }, 24)
		if porcupine.CheckOperationsTimeout(sequential(false), history, time.Minute) == porcupine.Illegal {
			return
		}
	}
	t.Error("no history shows that the store takes every PUT")
}

func tellHistory(history []porcupine.Operation) string {
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "%d to %d: client %d: %+v: %+v\n", op.Call, op.Return, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}
