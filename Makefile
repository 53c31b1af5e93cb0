# SPDX-License-Identifier: MIT
# A short front: CMake builds, the scripts in tools/ do the rest.
PREFIX ?= /usr/local
DIR ?= test/vectors/peers

.PHONY: build demo test bench vectors rivals lint install clean help
build: ## build the command and the libraries into build/
	tools/build

demo: ## build, pace two million lines, show what it did
	tools/deps build
	tools/page
	tools/demo

test: ## everything that is checked: release, sanitizers, clang
	tools/deps test
	tools/page
	tools/clients
	tools/test

bench: ## measure
	tools/build tests-bench
	@for bench in build/bench-*; do if [ -x "$$bench" ]; then echo "== $$bench"; "$$bench" || exit; fi; done
	bench/serve/run --quick

vectors: ## make vectors DIR=folder: does weir answer as the peers did?
	tools/deps test
	tools/build tests-vectors
	build/weir-vectors "$(DIR)"

rivals: ## measure the others beside weir: those whose tools are here
	bench/rivals/run
	bench/serve/run

lint: ## clang-format, clang-tidy and the checks of test/tidy
	tools/deps test
	tools/lint

install: build ## make install PREFIX=/usr/local DESTDIR=
	DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(abspath $(PREFIX))"

clean: ## remove build/ and build-*/
	rm -rf build build-asan build-tsan build-clang build-fuzz

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10
