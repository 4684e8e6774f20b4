package crash

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// wire is what the runs of a test reach a server through. It counts requests, can make them slow, and can be cut. It does
// not read them, so that it serves every protocol, with TLS or without.
type wire struct {
	t            testing.TB
	server, addr string
	// delay is what each connection and each request waits.
	delay time.Duration

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
	wireCount
}

// wireCount is what passed a wire: bytes either way, and how often a server was sent something after it had answered. With
// HTTP that is a request, with PostgreSQL a statement or a step of the login.
type wireCount struct{ connections, requests, bytes int }

func newWire(t testing.TB, server string) *wire {
	t.Helper()
	w := &wire{t: t, server: server, addr: "127.0.0.1:0", open: map[net.Conn]bool{}}
	w.start()
	return w
}

func (w *wire) start() {
	w.t.Helper()
	listener, err := net.Listen("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addr, w.listener = listener.Addr().String(), listener
	go w.accept(listener)
}

// stop cuts all connections: what the server has executed may lack its answer.
func (w *wire) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.listener.Close()
	w.listener = nil
	for conn := range w.open {
		_ = conn.Close()
	}
}

// take returns what passed since the last call.
func (w *wire) take() (passed wireCount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	passed, w.wireCount = w.wireCount, passed
	return passed
}

func (w *wire) accept(listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		go w.serve(listener, from)
	}
}

func (w *wire) serve(listener net.Listener, from net.Conn) {
	defer func() { _ = from.Close() }()
	time.Sleep(w.delay)
	to, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	if !w.add(listener, from, to) {
		return
	}
	defer w.drop(from, to)
	asked := false // since the last answer
	go func() {
		defer func() { _ = from.Close() }()
		w.pass(to, from, func() time.Duration { asked = false; return 0 })
	}()
	w.pass(from, to, func() time.Duration {
		if asked {
			return 0
		}
		asked = true
		w.requests++
		return w.delay
	})
}

// add reports whether the wire is still that of the listener.
func (w *wire) add(listener net.Listener, from, to net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener != listener {
		return false
	}
	w.open[from], w.open[to] = true, true
	w.connections++
	return true
}

func (w *wire) drop(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range conns {
		delete(w.open, conn)
	}
}

// pass copies until either side ends. seen is called with the lock, and says how long what came must wait.
func (w *wire) pass(from io.Reader, to io.Writer, seen func() time.Duration) {
	part := make([]byte, 64<<10)
	for {
		n, err := from.Read(part)
		if n > 0 {
			w.mu.Lock()
			w.bytes += n
			wait := seen()
			w.mu.Unlock()
			time.Sleep(wait)
			if _, err := to.Write(part[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
