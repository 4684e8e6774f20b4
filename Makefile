# What CI runs stands in .ci/, so that a machine without make can run it too.
.PHONY: build test race check lint cover bench fuzz properties soak picture browser editor shells oracles screenshots reproducible ci

build:
	go build -trimpath -o trueup .

test:
	go test ./...

race:
	go test -race ./...

check: race
	.ci/check

lint:
	.ci/lint

cover:
	.ci/cover

# Parts by themselves, then whole runs and goals: docs/reference/performance.md.
bench:
	go test -run '^$$' -bench . -benchmem -benchtime 200ms ./internal/...
	.ci/bench

# Every fuzz target for ten minutes, or for FUZZTIME.
fuzz:
	.ci/fuzz

# A million cases of the largest properties of the comparison, and every mistake that tests must find.
properties:
	TRUEUP_LONG=2000 .ci/long internal/merge

# A large tree, a platform that fails, runs that are killed; SEEDS="1 2 3" for more.
soak:
	.ci/soak $(SEEDS)

# The README's picture, from what the program really prints.
picture:
	go test ./internal/e2e/docs -run TestPicture -update

# The HTML report in Chromium, which is installed where apt-get can.
browser:
	.ci/browser

# Manifests in the language server of editors, which npm installs in tools/editor.
editor:
	.ci/editor

# Completion with Tab in bash, zsh and fish, and the pages of the manual.
shells:
	.ci/shells

# Which location serves a request, compared with nginx and Varnish.
oracles:
	.ci/oracles

# The pictures of the HTML report and of a comment in docs/, from what the program really writes.
screenshots:
	PICTURES=1 .ci/browser

# Two releases of the commit, byte by byte, then installed; COLD=1 from empty caches.
reproducible:
	.ci/reproducible

ci:
	.ci/run
