// Package browser tests the HTML report as a reader meets it, in Chromium.
package browser

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// machine is what all tests share: the program, built once, and one browser.
var machine struct {
	sync.Once
	program string
	browser context.Context
	// missing says why there is no browser.
	missing string
	err     error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "trueup-browser")
	if err != nil {
		panic(err)
	}
	code := func() int {
		defer func() { _ = os.RemoveAll(dir) }()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		machine.program = filepath.Join(dir, "trueup")
		machine.browser = ctx
		code := m.Run()
		if machine.missing == "" {
			_ = chromedp.Cancel(machine.browser) // it would end with the process anyway
		}
		return code
	}()
	os.Exit(code)
}

// start builds the program and starts the browser, once.
func start(t testing.TB) {
	t.Helper()
	machine.Do(func() {
		build := exec.Command("go", "build", "-buildvcs=false", "-o", machine.program, ".")
		build.Dir = root(t)
		if out, err := build.CombinedOutput(); err != nil {
			machine.err = fmt.Errorf("build the program: %w\n%s", err, out)
			return
		}
		path := chromium()
		if path == "" {
			machine.missing = "there is no Chromium on the PATH: install the package chromium, or let TRUEUP_CHROMIUM name the program"
			return
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("force-color-profile", "srgb"),
			chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("disable-lcd-text", true))
		if os.Getuid() == 0 {
			options = append(options, chromedp.NoSandbox)
		}
		allocator, _ := chromedp.NewExecAllocator(machine.browser, options...)
		machine.browser, _ = chromedp.NewContext(allocator)
		machine.err = chromedp.Do(machine.browser)
	})
	if machine.err != nil {
		t.Fatal(machine.err)
	}
	if machine.missing != "" && os.Getenv("CI") == "true" {
		t.Fatal(machine.missing)
	}
	if machine.missing != "" {
		t.Skip(machine.missing)
	}
}

// chromium is the browser's program, or nothing.
func chromium() string {
	for _, name := range []string{os.Getenv("TRUEUP_CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// root is the folder of the product's module.
func root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func program(t testing.TB) string {
	start(t)
	return machine.program
}

// look is how a page is opened.
type look struct {
	width, height int
	dark          bool
	noScript      bool
	media         string
	fragment      string
	// scale is the number of pixels to a point; 0 is one.
	scale float64
}

// desk and phone are two sizes to read at.
var (
	desk  = look{width: 1280, height: 900}
	phone = look{width: 360, height: 740}
)

// tab is an open page. What it must not do is held when the test ends: ask for
// anything but its own file, or complain.
type tab struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex
	requests []string
	trouble  []string
}

// open shows a file.
func open(t testing.TB, file string, l look) *tab {
	t.Helper()
	start(t)
	ctx, cancel := chromedp.NewContext(machine.browser)
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	p := &tab{TB: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	address := "file://" + file
	t.Cleanup(func() {
		stop()
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range p.requests {
			if r != address {
				t.Errorf("the page asks for %s", r)
			}
		}
		if len(p.requests) == 0 {
			t.Error("no request was seen, not even that of the page itself")
		}
		for _, s := range p.trouble {
			t.Errorf("the browser complains: %s", s)
		}
	})
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, runtime.Enable, cdp.Empty{})
	p.looks(l)
	p.run(chromedp.Navigate(address + l.fragment))
	return p
}

// looks gives the page another size, scheme of colours or medium.
func (p *tab) looks(l look) {
	p.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(l.width), Height: int64(l.height), DeviceScaleFactor: cmp.Or(l.scale, 1), Mobile: l.width < 500,
	})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: l.media, Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.noScript})
}

// hear collects what the page asks for and what the browser says of it.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		address, _, _ := strings.Cut(e.Request.URL, "#")
		p.requests = append(p.requests, address)
	case *network.EventWebSocketCreated:
		p.requests = append(p.requests, e.URL)
	case *log.EventEntryAdded:
		p.trouble = append(p.trouble, fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text))
	case *runtime.EventConsoleAPICalled:
		p.trouble = append(p.trouble, "console."+string(e.Type))
	case *runtime.EventExceptionThrown:
		p.trouble = append(p.trouble, e.ExceptionDetails.Text)
	}
}

func (p *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.Fatal(err)
	}
}

// call runs a command of the protocol.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.Helper()
	result, err := chromedp.Call(p.ctx, command, params)
	if err != nil {
		p.Fatal(err)
	}
	return result
}

// eval is the value of an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to become true.
func (p *tab) until(expression string) {
	p.Helper()
	for end := time.Now().Add(time.Minute); !eval[bool](p, expression); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("it does not become true: %s", expression)
		}
	}
}

// key is a key of a keyboard.
type key struct {
	code string
	name string
	text string
	key  int64
}

// The keys that a reader without a mouse needs.
var (
	tabKey    = key{"Tab", "Tab", "", 9}
	enterKey  = key{"Enter", "Enter", "\r", 13}
	escapeKey = key{"Escape", "Escape", "", 27}
	spaceKey  = key{"Space", " ", " ", 32}
	slashKey  = key{"Slash", "/", "/", 191}
)

// press presses a key as a keyboard does: what the page does at that may keep
// its character from being written.
func (p *tab) press(k key) {
	p.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		event := input.DispatchKeyEventParams{Type: kind, Code: k.code, Key: k.name, WindowsVirtualKeyCode: k.key}
		if kind == input.DispatchKeyEventTypeKeyDown {
			event.Text = k.text
		}
		call(p, input.DispatchKeyEvent, event)
	}
}
