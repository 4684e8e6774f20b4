#!/bin/sh
# Applies a commit of the branch, and ends with the exit code of all projects: apply.sh COMMIT
# A run of another commit ends first, and cleanly: this one takes all projects.
set -eu
cd "$(dirname "$0")"
namespace=$(sed -n 's/^namespace: //p' kustomization.yaml)

# job prints the id of a Job, and whether it is complete or has failed.
job() {
  kubectl -n "$namespace" get job "$1" --ignore-not-found -o jsonpath='{.metadata.uid} {.status.conditions[?(@.status=="True")].type}'
}

# wait_for waits for the end of a Job, a little longer than its activeDeadlineSeconds.
wait_for() { # JOB SECONDS
  found=$(job "$1")
  id=${found%% *}
  end=$(($(date +%s) + $2))
  while [ "$(date +%s)" -lt "$end" ]; do
    # What the API server does not answer is asked again.
    found=$(job "$1" || echo "$id")
    case $found in
      "$id"*Complete* | "$id"*Failed*) return ;;
      "$id"*) sleep 5 ;;
      *) echo "the Job $1 was deleted or replaced, perhaps because another commit is applied" >&2; exit 1 ;;
    esac
  done
  echo "the Job $1 did not end within $2 seconds: look at its pods" >&2
  exit 1
}

kubectl -n "$namespace" delete job trueup-apply trueup-result --ignore-not-found --cascade=foreground
kubectl kustomize . | sed "s/COMMIT/$1/" | kubectl apply -f -
wait_for trueup-apply 7500
kubectl -n "$namespace" patch job trueup-result -p '{"spec": {"suspend": false}}'
wait_for trueup-result 1200
kubectl -n "$namespace" logs job/trueup-result || true
code=$(kubectl -n "$namespace" get pods -l batch.kubernetes.io/job-name=trueup-result \
  -o jsonpath='{.items[-1:].status.containerStatuses[0].state.terminated.exitCode}')
[ -n "$code" ] || { echo "the Job trueup-result left no exit code" >&2; exit 1; }
exit "$code"
