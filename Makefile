# What CI runs stands in .ci/, so that a machine without make can run it too.
.PHONY: build test race check lint cover bench soak picture ci

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

bench:
	go test -run '^$$' -bench . -benchmem ./...
	.ci/bench

# A million cases of each property of the comparison.
soak:
	go test ./internal/merge -run 'TestProperties|TestCovers' -rapid.checks=1000000 -timeout 0

# The README's picture, from what the program really prints.
picture:
	go test . -run TestPicture -update

ci:
	.ci/run
