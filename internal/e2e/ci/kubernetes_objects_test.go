//go:build linux

package ci

import (
	"fmt"
	"net/http"
	"regexp"
)

// object is one of the API of Kubernetes, as JSON.
type object = map[string]any

// indexName is the name of the annotation with the index of a Job's pod.
const indexName = "batch.kubernetes.io/job-completion-index"

// pod is what a kubelet reads of a pod, and a test of its status.
type pod struct {
	Metadata struct {
		Name, Namespace, UID                 string
		CreationTimestamp, DeletionTimestamp string
		Annotations, Labels                  map[string]string
	}
	Spec struct {
		NodeName                      string
		TerminationGracePeriodSeconds int
		SecurityContext               struct{ RunAsUser, RunAsGroup int }
		InitContainers, Containers    []container
		Volumes                       []volume
	}
	Status struct {
		ContainerStatuses []struct {
			State struct{ Terminated struct{ ExitCode int } }
		}
	}
}

type container struct {
	Name, Image   string
	Command, Args []string
	EnvFrom       []envFrom
	Env           []struct {
		Name, Value string
		ValueFrom   struct{ FieldRef struct{ FieldPath string } }
	}
	VolumeMounts []struct {
		Name, MountPath string
		ReadOnly        bool
	}
}

// envFrom names a ConfigMap or a Secret.
type envFrom struct{ ConfigMapRef, SecretRef reference }

type reference struct {
	Name     string
	Optional bool
}

// volume is an emptyDir, unless it is one of the others.
type volume struct {
	Name                  string
	PersistentVolumeClaim struct{ ClaimName string }
	ConfigMap             struct{ Name string }
	Secret                struct{ SecretName string }
}

// job is the status of a Job.
type job struct {
	Metadata struct{ Name string }
	Status   struct {
		Active, Failed, Succeeded       int
		CompletedIndexes, FailedIndexes string
		Conditions                      []condition
	}
}

type condition struct{ Type, Status, Reason string }

// index is the index of the pod in its Job.
func (p pod) index() string { return p.Metadata.Annotations[indexName] }

// node is the node that the pod is given.
func (p pod) node() string { return "node-of-" + p.Metadata.Name }

// path is where the API has the pod.
func (p pod) path() string {
	return "/api/v1/namespaces/" + p.Metadata.Namespace + "/pods/" + p.Metadata.Name
}

// environ returns the variables of a container.
func (k *kubelet) environ(p pod, c container) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		if err := k.variables(p, from, env); err != nil {
			return nil, err
		}
	}
	for _, v := range c.Env {
		switch v.ValueFrom.FieldRef.FieldPath {
		case "":
			env[v.Name] = expand(v.Value, env)
		case "metadata.labels['" + indexName + "']", "metadata.annotations['" + indexName + "']":
			env[v.Name] = p.index()
		case "metadata.labels['batch.kubernetes.io/job-name']":
			env[v.Name] = p.Metadata.Labels["batch.kubernetes.io/job-name"]
		default:
			return nil, fmt.Errorf("%s: a stand-in has no field %s", v.Name, v.ValueFrom.FieldRef.FieldPath)
		}
	}
	return env, nil
}

// variables adds the variables of a ConfigMap or a Secret.
func (k *kubelet) variables(p pod, from envFrom, env map[string]string) error {
	var plain struct{ Data map[string]string }
	var secret struct{ Data map[string][]byte }
	kind, name, into := "configmaps", from.ConfigMapRef.Name, any(&plain)
	if name == "" {
		kind, name, into = "secrets", from.SecretRef.Name, &secret
	}
	status, err := k.call(http.MethodGet, "/api/v1/namespaces/"+p.Metadata.Namespace+"/"+kind+"/"+name, nil, into)
	if status == http.StatusNotFound && (from.ConfigMapRef.Optional || from.SecretRef.Optional) {
		return nil
	}
	for key, value := range plain.Data {
		env[key] = value
	}
	for key, value := range secret.Data {
		env[key] = string(value)
	}
	return err
}

var variable = regexp.MustCompile(`\$\((\w+)\)`)

// expand puts in the values of $(NAME); one that is unknown stays.
func expand(text string, env map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := env[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}
