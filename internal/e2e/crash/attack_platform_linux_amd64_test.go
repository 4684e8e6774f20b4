package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"trueup/internal/sandbox"
)

// standIn is as much of the documented platform as an attack needs. It shares no
// code with internal/sandbox, so that a mistake there does not pass here, and it
// logs what it executed.
type standIn struct {
	web *httptest.Server
	// busy counts the requests that are being served.
	busy atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
	// faulty lets requests that write fail; refuses makes it refuse the name of a
	// purge that exists. Other names it always refuses.
	faulty, refuses bool
	// ahead is how far its clock is ahead of the machine's.
	ahead   time.Duration
	version int
	objects map[string]map[string]any
	posts   []post
}

// post is a POST that arrived.
type post struct {
	// key is KIND/NAME.
	key      string
	executed bool
	// answer is what was answered, or how the connection was cut.
	answer, body string
}

const (
	standInDelivery = "/delivery/v2.1/global/workspaces/" + sandbox.WorkspaceUUID
	standInCompute  = "/compute/v1/region-1/apis/snapshot.storage.k8s.io/v1/namespaces/" + sandbox.WorkspaceName
)

func newStandIn(seed uint64, refuses bool) *standIn {
	p := &standIn{random: rand.New(rand.NewPCG(seed, 1)), refuses: refuses, objects: map[string]map[string]any{}}
	mux := http.NewServeMux()
	for kind, path := range map[string]string{
		"CDN": standInDelivery + "/cdns", "Purge": standInDelivery + "/purges", "VolumeSnapshot": standInCompute + "/volumesnapshots",
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { p.post(w, r, kind) })
		if kind == "Purge" {
			continue
		}
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { p.list(w, kind) })
		mux.HandleFunc("GET "+path+"/{name}", func(w http.ResponseWriter, r *http.Request) { p.get(w, kind, r.PathValue("name")) })
	}
	mux.HandleFunc("PATCH "+standInDelivery+"/cdns/{name}", p.patch)
	mux.HandleFunc("DELETE "+standInCompute+"/volumesnapshots/{name}", p.delete)
	p.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.busy.Add(1)
		defer p.busy.Add(-1)
		w.Header().Set("Date", p.now().UTC().Format(http.TimeFormat))
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			answerStatus(w, http.StatusUnauthorized, "Unauthorized", "no token")
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return p
}

func (p *standIn) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.ahead)
}

func (p *standIn) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// calm ends the faults, and returns when all that was sent has been served.
func (p *standIn) calm() {
	p.set(func() { p.faulty = false })
	for idle := 0; idle < 5; time.Sleep(10 * time.Millisecond) {
		if idle++; p.busy.Load() > 0 {
			idle = 0
		}
	}
}

// draw chooses a fault for a request that writes, or none, and how long to wait.
func (p *standIn) draw() (fault string, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.faulty {
		return "", 0
	}
	// Of a hundred requests.
	n, faults := p.random.IntN(100), []struct {
		name  string
		share int
	}{{"cut before", 6}, {"cut after", 7}, {"504 after", 5}, {"503", 4}, {"409 Conflict", 3}, {"slow", 6}}
	wait = time.Duration(p.random.IntN(20)) * time.Millisecond
	for _, f := range faults {
		if n -= f.share; n >= 0 {
			continue
		}
		if f.name == "slow" {
			wait *= 50
		}
		return f.name, wait
	}
	return "", wait
}

// failsFirst gives a fault that comes before the request is executed.
func failsFirst(w http.ResponseWriter, fault string) bool {
	switch fault {
	case "503":
		answerStatus(w, http.StatusServiceUnavailable, "ServiceUnavailable", "try again later")
	case "409 Conflict":
		answerStatus(w, http.StatusConflict, "Conflict", "Operation cannot be fulfilled on resourcequotas: the object has been modified; please apply your changes to the latest version and try again")
	default:
		return false
	}
	return true
}

// answerWrite answers a write that was executed, or refused, as the fault wants it.
func answerWrite(w http.ResponseWriter, fault string, status int, reason string, obj map[string]any) {
	switch {
	case fault == "cut after":
		panic(http.ErrAbortHandler)
	case fault == "504 after":
		http.Error(w, "upstream request timeout", http.StatusGatewayTimeout)
	case reason != "":
		answerStatus(w, status, reason, reason)
	default:
		answerJSON(w, status, obj)
	}
}

func (p *standIn) post(w http.ResponseWriter, r *http.Request, kind string) {
	body, err := io.ReadAll(r.Body)
	var obj map[string]any
	if err != nil || json.Unmarshal(body, &obj) != nil {
		answerStatus(w, http.StatusBadRequest, "BadRequest", "no object")
		return
	}
	key := kind + "/" + nameIn(obj)
	fault, wait := p.draw()
	time.Sleep(wait)
	entry := post{key: key, answer: fault, body: string(body)}
	if slices.Contains([]string{"cut before", "503", "409 Conflict"}, fault) {
		p.set(func() { p.posts = append(p.posts, entry) })
		if !failsFirst(w, fault) {
			panic(http.ErrAbortHandler)
		}
		return
	}
	status, reason := http.StatusCreated, ""
	p.set(func() {
		if p.objects[key] != nil && (kind != "Purge" || p.refuses) {
			status, reason = http.StatusConflict, "AlreadyExists"
		} else {
			entry.executed = true
			p.put(key, obj)
		}
		entry.answer += fmt.Sprint(" ", status)
		p.posts = append(p.posts, entry)
		obj = p.shown(key)
	})
	answerWrite(w, fault, status, reason, obj)
}

// put stores an object as new. The lock is held.
func (p *standIn) put(key string, obj map[string]any) {
	p.version++
	obj["metadata"] = map[string]any{
		"name": nameIn(obj), "namespace": sandbox.WorkspaceName, "uid": fmt.Sprintf("00000000-0000-4000-8000-%012d", p.version),
		"resourceVersion": fmt.Sprint(p.version), "creationTimestamp": time.Now().Add(p.ahead).UTC().Format(time.RFC3339),
	}
	if strings.HasPrefix(key, "VolumeSnapshot/") {
		obj["status"] = map[string]any{"readyToUse": true}
	}
	p.objects[key] = obj
}

// shown is a copy of an object, or nil. The lock is held.
func (p *standIn) shown(key string) map[string]any {
	raw, err := json.Marshal(p.objects[key])
	var obj map[string]any
	if err != nil || json.Unmarshal(raw, &obj) != nil {
		return nil
	}
	return obj
}

func nameIn(obj map[string]any) string {
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}

func (p *standIn) get(w http.ResponseWriter, kind, name string) {
	var obj map[string]any
	p.set(func() { obj = p.shown(kind + "/" + name) })
	if obj == nil {
		answerStatus(w, http.StatusNotFound, "NotFound", name+" not found")
		return
	}
	answerJSON(w, http.StatusOK, obj)
}

func (p *standIn) list(w http.ResponseWriter, kind string) {
	items := []any{}
	p.set(func() {
		for key := range p.objects {
			if strings.HasPrefix(key, kind+"/") {
				items = append(items, p.shown(key))
			}
		}
	})
	answerJSON(w, http.StatusOK, map[string]any{"kind": kind + "List", "metadata": map[string]any{}, "items": items})
}

func (p *standIn) patch(w http.ResponseWriter, r *http.Request) {
	var change map[string]any
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
		answerStatus(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	fault, wait := p.draw()
	time.Sleep(wait)
	if fault == "cut before" {
		panic(http.ErrAbortHandler)
	}
	if failsFirst(w, fault) {
		return
	}
	var obj map[string]any
	p.set(func() {
		key := "CDN/" + r.PathValue("name")
		if p.objects[key] != nil {
			p.version++
			p.objects[key]["spec"] = mergePatch(p.objects[key]["spec"], change["spec"])
			p.objects[key]["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(p.version)
			obj = p.shown(key)
		}
	})
	if obj == nil {
		answerStatus(w, http.StatusNotFound, "NotFound", "not found")
		return
	}
	answerWrite(w, fault, http.StatusOK, "", obj)
}

func (p *standIn) delete(w http.ResponseWriter, r *http.Request) {
	p.set(func() { delete(p.objects, "VolumeSnapshot/"+r.PathValue("name")) })
	answerJSON(w, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

// mergePatch is RFC 7396.
func mergePatch(have, patch any) any {
	change, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := have.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range change {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = mergePatch(object[name], value)
		}
	}
	return object
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func answerStatus(w http.ResponseWriter, code int, reason, message string) {
	answerJSON(w, code, map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"reason": reason, "message": message, "code": code,
	})
}

// log returns how often each request was executed, and how often it arrived.
func (p *standIn) log() (executed, arrived map[string]int) {
	executed, arrived = map[string]int{}, map[string]int{}
	p.set(func() {
		for _, e := range p.posts {
			arrived[e.key]++
			if e.executed {
				executed[e.key]++
			}
		}
	})
	return executed, arrived
}

// answers are those to the POSTs of one request.
func (p *standIn) answers(key string) (answers []string) {
	p.set(func() {
		for _, e := range p.posts {
			if e.key == key {
				answers = append(answers, e.answer)
			}
		}
	})
	return answers
}
