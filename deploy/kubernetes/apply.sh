#!/bin/sh
# Applies a commit of the branch, and ends with the exit code of all projects: apply.sh COMMIT
# A run of another commit ends first, and cleanly: this one takes all projects.
set -eu
cd "$(dirname "$0")"
namespace=$(sed -n 's/^namespace: //p' kustomization.yaml)

# has_ended reports whether a Job is complete or has failed.
has_ended() {
  kubectl -n "$namespace" get job "$1" -o jsonpath='{.status.conditions[?(@.status=="True")].type}' | grep -Eq 'Complete|Failed'
}

kubectl -n "$namespace" delete job trueup-apply trueup-result --ignore-not-found --cascade=foreground
kubectl kustomize . | sed "s/COMMIT/$1/" | kubectl apply -f -
until has_ended trueup-apply; do sleep 5; done
kubectl -n "$namespace" patch job trueup-result -p '{"spec": {"suspend": false}}'
until has_ended trueup-result; do sleep 5; done
kubectl -n "$namespace" logs job/trueup-result || true
exit "$(kubectl -n "$namespace" get pods -l batch.kubernetes.io/job-name=trueup-result \
  -o jsonpath='{.items[-1:].status.containerStatuses[0].state.terminated.exitCode}')"
