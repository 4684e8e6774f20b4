//go:build linux

package ci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// kubelet stands in for the scheduler and the kubelets of a cluster. Each pod has a node of its own. The commands of its
// containers are processes on this machine, with the mounts, variables and user of their pod. bubblewrap keeps other files
// from them and makes the rest read-only. No limit of memory and no NetworkPolicy is enforced.
type kubelet struct {
	t *testing.T
	// api is the address of the API server, to which requests need no token.
	api string
	// images are folders of programs, by the image that has them in /usr/local/bin.
	images map[string]string
	// dir has the folders of volumes, and what containers print.
	dir string

	pods sync.WaitGroup
	mu   sync.Mutex
	// running are the pods that were not seen to end, by UID.
	running map[string]*runningPod
	// codes are the exit codes of containers, by pod.
	codes map[string]int
}

// runningPod is a pod with a node.
type runningPod struct {
	pod
	// deleted is closed when the API asks for the end of the pod, which leaving notes.
	deleted chan struct{}
	leaving bool
	// process is that of its container; 0 if there is none. Nobody hears of a pod that is lost.
	process int
	lost    bool
}

// run starts pods until ctx ends. It returns when none is left.
func (k *kubelet) run(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		var list struct{ Items []pod }
		if _, err := k.call(http.MethodGet, "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed", nil, &list); err != nil {
			k.t.Error(err)
			break
		}
		k.mu.Lock()
		for _, p := range list.Items {
			r := k.running[p.Metadata.UID]
			switch {
			case r == nil && p.Spec.NodeName == "":
				r = &runningPod{pod: p, deleted: make(chan struct{})}
				k.running[p.Metadata.UID] = r
				k.pods.Go(func() { k.runPod(r) })
			case r != nil && p.Metadata.DeletionTimestamp != "" && !r.leaving:
				r.leaving = true
				close(r.deleted)
			}
		}
		k.mu.Unlock()
	}
	k.each(func(r *runningPod) { k.kill(r, syscall.SIGKILL) })
	k.pods.Wait()
}

// each calls f for the pods that run.
func (k *kubelet) each(f func(*runningPod)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.running {
		f(r)
	}
}

// code returns the exit code of the last container of a pod.
func (k *kubelet) code(pod string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.codes[pod]
}

// kill sends a signal to the container of a pod. The caller has locked k.mu.
func (k *kubelet) kill(r *runningPod, signal syscall.Signal) {
	if r.process != 0 {
		_ = syscall.Kill(r.process, signal) // it may have ended
	}
}

// drain has kubectl drain the node of a pod. It returns when the pod is told to end.
func (k *kubelet) drain(r *runningPod) error {
	k.pods.Go(func() {
		if out, err := exec.Command("kubectl", "drain", r.node(), "--delete-emptydir-data").CombinedOutput(); err != nil {
			k.t.Errorf("kubectl drain: %v\n%s", err, out)
		}
	})
	<-r.deleted
	return nil
}

// lose kills a pod without a word, and deletes its node.
func (k *kubelet) lose(r *runningPod) error {
	k.mu.Lock()
	r.lost = true
	k.kill(r, syscall.SIGKILL)
	k.mu.Unlock()
	_, err := k.call(http.MethodDelete, "/api/v1/nodes/"+r.node(), nil, nil)
	return err
}

// runPod gives a pod its node, runs it, and says how it ended.
func (k *kubelet) runPod(r *runningPod) {
	err := k.bind(r)
	var status object
	if err == nil {
		status, err = k.runContainers(r)
	}
	k.mu.Lock()
	delete(k.running, r.Metadata.UID)
	lost := r.lost
	k.mu.Unlock()
	if lost {
		return
	}
	var now pod
	if err == nil {
		_, err = k.call(http.MethodPatch, r.path()+"/status", object{"status": status}, &now)
	}
	if err == nil && now.Metadata.DeletionTimestamp != "" {
		_, err = k.call(http.MethodDelete, r.path(), object{"gracePeriodSeconds": 0, "preconditions": object{"uid": r.Metadata.UID}}, nil)
	}
	if err != nil {
		k.t.Errorf("pod %s: %v", r.Metadata.Name, err)
	}
}

func (k *kubelet) bind(r *runningPod) error {
	_, err := k.call(http.MethodPost, "/api/v1/nodes", object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": r.node()}}, nil)
	if err == nil {
		_, err = k.call(http.MethodPost, r.path()+"/binding", object{
			"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": r.Metadata.Name},
			"target": object{"apiVersion": "v1", "kind": "Node", "name": r.node()},
		}, nil)
	}
	return err
}

// runContainers runs the containers of a pod, one after the other, until one fails. It returns the status of the pod.
func (k *kubelet) runContainers(r *runningPod) (status object, err error) {
	status = object{"phase": "Succeeded"}
	for _, group := range []struct {
		status, phase string
		containers    []container
	}{{"initContainerStatuses", "Pending", r.Spec.InitContainers}, {"containerStatuses", "Running", r.Spec.Containers}} {
		if _, err := k.call(http.MethodPatch, r.path()+"/status", object{"status": object{"phase": group.phase}}, nil); err != nil {
			return nil, err
		}
		var ended []object
		for _, c := range group.containers {
			start := time.Now()
			code, err := k.runContainer(r, c)
			if err != nil {
				return nil, fmt.Errorf("container %s: %w", c.Name, err)
			}
			reason := "Completed"
			if code != 0 {
				reason, status["phase"] = "Error", "Failed"
			}
			ended = append(ended, object{
				"name": c.Name, "image": c.Image, "imageID": "", "ready": false, "restartCount": 0,
				"state": object{"terminated": object{
					"exitCode": code, "reason": reason,
					"startedAt": start.UTC().Format(time.RFC3339), "finishedAt": time.Now().UTC().Format(time.RFC3339),
				}},
			})
			status[group.status] = ended
			if code != 0 {
				return status, nil
			}
		}
	}
	return status, nil
}

// runContainer runs the command of a container to its end.
func (k *kubelet) runContainer(r *runningPod, c container) (code int, err error) {
	env, err := k.environ(r.pod, c)
	if err != nil {
		return 0, err
	}
	args, err := k.isolation(r.pod, c)
	if err != nil {
		return 0, err
	}
	for _, word := range append(c.Command, c.Args...) {
		args = append(args, expand(word, env))
	}
	read, write, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = read.Close() }() // nothing more is read
	cmd := exec.Command("bwrap", args...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.ExtraFiles = []*os.File{write}
	out, err := os.Create(k.printed(r.pod, c.Name))
	if err != nil {
		return 0, errors.Join(err, write.Close())
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := errors.Join(cmd.Start(), write.Close(), out.Close()); err != nil {
		return 0, err
	}
	var started struct {
		Child int `json:"child-pid"`
	}
	err = json.NewDecoder(read).Decode(&started)
	k.setProcess(r, started.Child)
	err = errors.Join(err, k.wait(r, cmd))
	k.setProcess(r, 0)
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) && exited.ExitCode() > 0 {
		code, err = exited.ExitCode(), nil
	}
	k.mu.Lock()
	k.codes[r.Metadata.Name] = code
	k.mu.Unlock()
	return code, err
}

// setProcess notes the process of a container. One whose node was lost meanwhile does not live on.
func (k *kubelet) setProcess(r *runningPod, id int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r.process = id
	if r.lost {
		k.kill(r, syscall.SIGKILL)
	}
}

// wait returns when a container has ended. It gets SIGTERM when its pod is deleted, and SIGKILL if it takes too long.
func (k *kubelet) wait(r *runningPod, cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	signals, deleted := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, r.deleted
	var patience <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-deleted:
			deleted = nil
			patience = time.After(time.Duration(r.Spec.TerminationGracePeriodSeconds) * time.Second)
		case <-patience:
		}
		k.mu.Lock()
		k.kill(r, signals[0])
		k.mu.Unlock()
		signals = signals[len(signals)-1:]
	}
}

// printed is the file of what a container prints.
func (k *kubelet) printed(p pod, container string) string {
	return filepath.Join(k.dir, p.Metadata.Name+"."+container)
}

// isolation returns the arguments of bubblewrap, but for the command.
func (k *kubelet) isolation(p pod, c container) ([]string, error) {
	image, _, _ := strings.Cut(c.Image, "@")
	programs, ok := k.images[image]
	if !ok {
		return nil, fmt.Errorf("there is no image %s", c.Image)
	}
	user := p.Spec.SecurityContext
	args := []string{
		"--json-status-fd", "3", "--die-with-parent", "--cap-drop", "ALL",
		"--unshare-user", "--uid", strconv.Itoa(user.RunAsUser), "--gid", strconv.Itoa(user.RunAsGroup),
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--ro-bind", programs, "/usr/local/bin", "--dev", "/dev",
	}
	for _, m := range c.VolumeMounts {
		folder, err := k.folder(p, m.Name)
		if err != nil {
			return nil, err
		}
		bind := "--bind"
		if m.ReadOnly {
			bind = "--ro-bind"
		}
		args = append(args, bind, folder, m.MountPath)
	}
	return append(args, "--remount-ro", "/", "--chdir", "/", "--"), nil
}

// folder returns the folder of a volume, and makes it.
func (k *kubelet) folder(p pod, name string) (string, error) {
	for _, v := range p.Spec.Volumes {
		if v.Name != name {
			continue
		}
		folder := filepath.Join(k.dir, p.Metadata.UID, name)
		if v.PersistentVolumeClaim.ClaimName != "" {
			folder = k.claim(v.PersistentVolumeClaim.ClaimName)
		}
		err := os.MkdirAll(folder, 0o755)
		from, env := envFrom{ConfigMapRef: reference{Name: v.ConfigMap.Name}, SecretRef: reference{Name: v.Secret.SecretName}}, map[string]string{}
		if from != (envFrom{}) {
			err = errors.Join(err, k.variables(p, from, env))
		}
		for key, value := range env {
			err = errors.Join(err, os.WriteFile(filepath.Join(folder, key), []byte(value), 0o600))
		}
		return folder, err
	}
	return "", fmt.Errorf("there is no volume %s", name)
}

// claim is the folder of a PersistentVolumeClaim.
func (k *kubelet) claim(name string) string { return filepath.Join(k.dir, "claims", name) }

// call sends a request to the API server, and decodes the answer.
func (k *kubelet) call(method, path string, body, into any) (status int, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	req, err := http.NewRequest(method, k.api+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	answer, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
	case resp.StatusCode/100 != 2:
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	case into != nil:
		err = json.Unmarshal(answer, into)
	}
	return resp.StatusCode, err
}
