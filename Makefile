# Short names for the usual commands; CMake does the work (CMakePresets.json).
#   make build PRESET=asan    another preset
#   make demo SETUP=:         skip the set-up, e.g. on a host without a network
#   make test LAYERS=mpi      only tests with a label that fits (lint unit mpi cli slurm storm scale gpu python)
#   make test EXCEPT='slurm|storm'
PRESET ?= dev
SETUP  ?= tools/setup.sh
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
DEMO   ?= demo-run
COMPILED ?= compiled
BUNDLE ?= tilesweep-bundle.tar.gz
BUILD  := $(if $(filter dev ci,$(PRESET)),build,build-$(PRESET))
ONLY   := $(if $(LAYERS),-L '^($(LAYERS))$$') $(if $(EXCEPT),-LE '^($(EXCEPT))$$')

help:
	@echo 'make setup     packages, the CUDA Tile toolchain into .deps, Python for analysis/'
	@echo 'make build     build/bin/tilesweep and build/bin/tilesweep-worker'
	@echo 'make demo      set up, build, and run the main job end to end into $(DEMO)/'
	@echo 'make test      set up, build, and run every test (those for a GPU skip without one)'
	@echo 'make gpu-test  build and run the tests that need a GPU'
	@echo 'make compile-all  every config of every shipped pack for every architecture, into $(COMPILED)/'
	@echo 'make lint      only the checks of the source'
	@echo 'make format    clang-format over src/ and tests/'
	@echo 'make install   into $(PREFIX)'
	@echo 'make bundle    $(BUNDLE): all that nodes without a network need'

setup:
	$(SETUP)

build:
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS)

demo: setup build
	tools/demo.sh $(BUILD)/bin jobs/demo.yaml $(DEMO)

test: setup build
	ctest --preset $(PRESET) $(ONLY)

gpu-test: build
	ctest --preset $(PRESET) -L gpu

compile-all: build
	tools/compile_all.sh $(BUILD)/bin jobs/compile_all.yaml $(COMPILED)

lint: build
	ctest --preset $(PRESET) -L lint

format:
	find src tests -name '*.[ch]' | xargs clang-format-14 -i

install: build
	cmake --install $(BUILD) --prefix $(PREFIX)

bundle: setup build
	tools/bundle.sh $(BUILD) $(BUNDLE)

.PHONY: help setup build demo test gpu-test compile-all lint format install bundle
