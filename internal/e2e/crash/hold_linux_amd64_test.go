package crash

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"trueup/internal/e2e/harness"
)

// What follows holds a program, and all that it starts, at each of its calls
// that make something durable or reach the network, until a rule says what
// becomes of the call. strace counts such calls a thread, and the threads of a
// Go program share its work anew in each run, so that the n-th call of a run
// can't be named to it; the kernel's seccomp notifications come one by one for
// the whole program. strace is the judge of whether any was missed.

// syscallOf is how one system call is read. Arguments that a call lacks are -1.
type syscallOf struct {
	name string
	nr   uint32
	// fd is the argument that is a file; from and to are names, flags is how a
	// file is opened.
	fd       int
	from, to nameOf
	flags    int
}

// nameOf says which arguments are a name, and the folder that it starts from.
type nameOf struct{ dir, path int }

// heldCalls are those that can make something durable, or write to a socket.
func heldCalls() []syscallOf {
	none := nameOf{-1, -1}
	onFile := func(name string, nr uint32) syscallOf { return syscallOf{name, nr, 0, none, none, -1} }
	named := func(name string, nr uint32) syscallOf { return syscallOf{name, nr, -1, nameOf{-1, 0}, none, -1} }
	namedAt := func(name string, nr uint32) syscallOf { return syscallOf{name, nr, -1, nameOf{0, 1}, none, -1} }
	moved := func(name string, nr uint32) syscallOf {
		return syscallOf{name, nr, -1, nameOf{-1, 0}, nameOf{-1, 1}, -1}
	}
	movedAt := func(name string, nr uint32) syscallOf {
		return syscallOf{name, nr, -1, nameOf{0, 1}, nameOf{2, 3}, -1}
	}
	return []syscallOf{
		onFile("write", unix.SYS_WRITE), onFile("pwrite64", unix.SYS_PWRITE64), onFile("writev", unix.SYS_WRITEV),
		onFile("fsync", unix.SYS_FSYNC), onFile("fdatasync", unix.SYS_FDATASYNC), onFile("ftruncate", unix.SYS_FTRUNCATE),
		onFile("connect", unix.SYS_CONNECT), onFile("sendto", unix.SYS_SENDTO),
		{"open", unix.SYS_OPEN, -1, nameOf{-1, 0}, none, 1},
		{"openat", unix.SYS_OPENAT, -1, nameOf{0, 1}, none, 2},
		moved("rename", unix.SYS_RENAME), movedAt("renameat", unix.SYS_RENAMEAT), movedAt("renameat2", unix.SYS_RENAMEAT2),
		moved("link", unix.SYS_LINK), movedAt("linkat", unix.SYS_LINKAT),
		named("unlink", unix.SYS_UNLINK), namedAt("unlinkat", unix.SYS_UNLINKAT),
		named("mkdir", unix.SYS_MKDIR), namedAt("mkdirat", unix.SYS_MKDIRAT), named("rmdir", unix.SYS_RMDIR),
	}
}

// heldCall is a call that waits.
type heldCall struct {
	name string
	// path is the file, or the name as the program gave it, made absolute; for
	// a socket it is "socket".
	path string
	// to is the other name of what is moved or linked.
	to string
	// post says that a write to a socket begins a POST.
	post bool
}

func (c heldCall) String() string { return c.name + " " + c.path }

const socket = "socket"

// fate is what becomes of a held call.
type fate struct {
	// kill ends the program and all that it started, and the call is not made. A
	// git that serves a remote is on another machine, as it were, and lives on.
	kill bool
	// errno is the error that the call gives without being made; 0 makes it.
	errno syscall.Errno
}

// heldBy is the name under which this test binary starts a program that is held.
const heldBy = "trueup-held"

// startHeld puts the filter on this process and becomes the program that its
// arguments name; the descriptor 3 is where it hands over who listens.
func startHeld() {
	if err := becomeHeld(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, heldBy+":", err)
		os.Exit(125)
	}
}

func becomeHeld(args []string) error {
	// The filter is that of the thread, and exec keeps it.
	runtime.LockOSThread()
	calls := heldCalls()
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	program := []unix.SockFilter{load(0)}
	for i, c := range calls {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: c.nr, Jt: uint8(len(calls) - i)})
	}
	program = append(program, give(unix.SECCOMP_RET_ALLOW), give(unix.SECCOMP_RET_USER_NOTIF))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return fmt.Errorf("hand over the listener: %w", err)
	}
	for _, fd := range []int{int(listener), 3} {
		unix.CloseOnExec(fd)
	}
	return unix.Exec(args[0], args, os.Environ())
}

// runHeld runs a command whose every held call below one of the roots, or on a
// socket, has the fate that rule says. It returns when the command, and all that
// it started, has ended.
func runHeld(t testing.TB, cmd *exec.Cmd, roots []string, rule func(heldCall) fate) error {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer func() { _ = ours.Close() }()
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Args = append([]string{heldBy, cmd.Path}, cmd.Args[1:]...)
	if cmd.Path, err = exec.LookPath(heldBy); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	h := &holder{roots: roots, rule: rule, group: cmd.Process.Pid, calls: map[int32]syscallOf{}}
	for _, c := range heldCalls() {
		h.calls[int32(c.nr)] = c
	}
	var wg sync.WaitGroup
	if h.listener, err = receiveFile(ours); err != nil {
		t.Errorf("receive the listener: %v", err)
	} else {
		wg.Go(h.serve)
	}
	err = cmd.Wait()
	wg.Wait()
	if h.err != nil {
		t.Errorf("hold calls: %v", h.err)
	}
	return err
}

// receiveFile takes a descriptor from a socket.
func receiveFile(from *os.File) (int, error) {
	conn, err := net.FileConn(from)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return 0, err
	}
	if len(messages) == 0 {
		return 0, errors.New("the filter could not be set")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// holder answers the kernel for one program.
type holder struct {
	listener int
	group    int
	roots    []string
	calls    map[int32]syscallOf
	rule     func(heldCall) fate
	err      error
}

// notice and answer are struct seccomp_notif and struct seccomp_notif_resp.
type notice struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// serve goes on until nobody is left whose calls could be held.
func (h *holder) serve() {
	defer func() { _ = unix.Close(h.listener) }()
	for h.err == nil {
		fds := []unix.PollFd{{Fd: int32(h.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			h.err = err
			return
		}
		switch {
		case fds[0].Revents&unix.POLLIN != 0:
			h.one()
		case fds[0].Revents != 0:
			return
		}
	}
}

func (h *holder) one() {
	var n notice
	switch err := ioctl(h.listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINTR):
		// Whoever called is gone.
		return
	case err != nil:
		h.err = err
		return
	}
	a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	if call, ok := h.describe(n); ok {
		f := h.rule(call)
		if f.kill && !h.kill(int(n.pid)) {
			return
		}
		if f.errno != 0 {
			a.errno, a.flags = -int32(f.errno), 0
		}
	}
	// ENOENT: it was killed while it waited.
	if err := ioctl(h.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)); err != nil && !errors.Is(err, unix.ENOENT) {
		h.err = err
	}
}

// kill ends the program first, so that it learns of no other death, and tells
// whether the one that called was spared.
func (h *holder) kill(caller int) bool {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		h.err = err
		return false
	}
	_ = unix.Kill(h.group, unix.SIGKILL)
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if group, err := unix.Getpgid(pid); err == nil && group == h.group && !serves(pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return serves(caller)
}

// serves reports whether a process is a git that takes a push, or works for one.
func serves(pid int) bool {
	for pid > 1 {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return false
		}
		if bytes.Contains(line, []byte("receive-pack")) {
			return true
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		// PID (NAME) STATE PARENT
		fields := strings.Fields(string(status[bytes.LastIndexByte(status, ')')+1:]))
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false
		}
	}
	return false
}

func ioctl(fd int, request uint, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// describe says what a call is about, and whether that concerns the test.
func (h *holder) describe(n notice) (heldCall, bool) {
	of := h.calls[n.nr]
	c := heldCall{name: of.name}
	proc := fmt.Sprintf("/proc/%d/", n.pid)
	if of.fd >= 0 {
		target, err := os.Readlink(fmt.Sprintf("%sfd/%d", proc, int32(n.args[of.fd])))
		if err != nil {
			return c, false
		}
		if strings.HasPrefix(target, "socket:") {
			c.path = socket
			begin, err := readName(proc, n.args[1])
			c.post = err == nil && of.name == "write" && strings.HasPrefix(begin, http.MethodPost+" ")
			return c, true
		}
		c.path = strings.TrimSuffix(target, " (deleted)")
		return c, h.below(c.path)
	}
	if of.flags >= 0 && n.args[of.flags]&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC) == 0 {
		return c, false
	}
	var err error
	if c.path, err = resolve(proc, n, of.from); err == nil && of.to.path >= 0 {
		c.to, err = resolve(proc, n, of.to)
	}
	return c, err == nil && h.below(c.path)
}

// resolve makes a name that a process gave absolute.
func resolve(proc string, n notice, of nameOf) (string, error) {
	name, err := readName(proc, n.args[of.path])
	if err != nil || filepath.IsAbs(name) {
		return filepath.Clean(name), err
	}
	base := proc + "cwd"
	if of.dir >= 0 && int32(n.args[of.dir]) != unix.AT_FDCWD {
		base = fmt.Sprintf("%sfd/%d", proc, int32(n.args[of.dir]))
	}
	if base, err = os.Readlink(base); err != nil {
		return "", err
	}
	return filepath.Join(base, name), nil
}

func (h *holder) below(path string) bool {
	for _, root := range h.roots {
		if strings.HasPrefix(path, root+"/") || path == root {
			return true
		}
	}
	return false
}

// readName reads a name, which ends with a zero, from the memory of a process.
func readName(proc string, at uint64) (string, error) {
	mem, err := os.Open(proc + "mem")
	if err != nil {
		return "", err
	}
	defer func() { _ = mem.Close() }()
	text := make([]byte, unix.PathMax)
	n, err := mem.ReadAt(text, int64(at))
	if err != nil && !errors.Is(err, io.EOF) && n == 0 {
		return "", err
	}
	name, _, _ := bytes.Cut(text[:n], []byte{0})
	return string(name), nil
}

func TestMain(m *testing.M) { harness.RunMain(m, map[string]func(){heldBy: startHeld}) }
