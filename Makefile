# SPDX-License-Identifier: MIT
# A short front: CMake builds, the scripts in tools/ do the rest.
PREFIX ?= /usr/local
BUILD ?= build
DIR ?= test/vectors/peers

.PHONY: build demo check test prove fuzz simulate soak machines amalgamation dist deb image sbom bindings \
	bench vectors rivals lint install uninstall clean help
build: ## build the command and the libraries into build/
	tools/build

demo: ## build, pace two million lines, show what it did
	tools/deps build
	tools/page
	tools/demo

check: ## one minute, after each edit: unit tests, properties (small), vectors, tidy, the changed files' format
	tools/test check

test: ## installs what the tests need, then all of them on the release build, and the sanitizers where they find something
	tools/deps test
	tools/page
	tools/modules test/serve/clients || true
	tools/test test

prove: ## the long proofs: explorers in full, fuzzers, kills, real engines, all sanitizers; a new seed each time
	tools/deps prove
	tools/page
	tools/modules test/serve/clients || true
	tools/test prove

simulate: HOURS ?= 1000
simulate: ## a fleet with faults for HOURS=1000 simulated hours, some 3 s each
	tools/deps test
	tools/build tests-simulate
	build/test/simulate-fleet --hours $(HOURS)

soak: HOURS ?= 8
soak: ## weir serve for HOURS=8 under mixed load: does it leak, drift, or let too much through?
	tools/deps test
	tools/build product
	bench/serve/soak $(HOURS)

fuzz: ## ten minutes for each fuzz target
	tools/deps prove
	tools/test fuzz

machines: ## the library on other machines: s390x, arm64, i386, armhf, riscv64, musl, POSIX without Linux, Debian 13
	tools/deps prove
	tools/cross

amalgamation: ## the library in two files: build/amalgamation/weir.c and weir.h
	tools/amalgamation build/amalgamation

dist: ## the sources as a tarball, with all that a build without a network needs; the same commit, the same bytes
	tools/dist build/dist

deb: ## Debian packages, in build/deb
	tools/deb

image: build ## an image of weir serve for containers, by buildah
	tools/image

sbom: build ## what is in weir, and what it is linked with: build/weir.spdx.json
	tools/sbom >build/weir.spdx.json

bench: ## measure: weir-bench, what stands beside it, and the service
	tools/build product tests-bench
	@for bench in weir-bench 'weir-bench table --keys 10M' bench-take bench-rate 'bench-rate --wait' 'bench-rate --loops' \
		'bench-rate --pools' bench-log_calls bench-strictness; do echo "== $$bench"; build/$$bench || exit; done
	bench/pace
	bench/replay
	bench/serve/run --quick
	bench/serve/attack
	bench/serve/stopped
	bench/serve/threads
	bench/serve/tls

vectors: ## make vectors DIR=folder: does weir answer as the peers did?
	tools/deps test
	tools/build tests-vectors
	build/weir-vectors "$(DIR)"

rivals: ## measure the others beside weir: those whose tools are here
	bench/rivals/run
	bench/bindings
	bench/serve/run
	bench/stall/run
	bench/rivals/held/run

lint: ## clang-format, clang-tidy and the checks of test/tidy
	tools/deps prove
	tools/lint

install: build ## make install PREFIX=/usr/local DESTDIR=
	DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(abspath $(PREFIX))"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi # the linker's list of libraries

uninstall: ## removes what the last make install put there (DESTDIR= as it was given then)
	@tools/uninstall "$(BUILD)" "$(DESTDIR)"

clean: ## remove build/ and build-*/
	rm -rf build build-asan build-tsan build-clang build-coverage build-fuzz

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14
