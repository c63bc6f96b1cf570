# SPDX-License-Identifier: GPL-2.0
#
# Builds everything and runs it; 'make help' lists the targets.

SHELL := /bin/bash
.NOTPARALLEL:
.DEFAULT_GOAL := help

DRIVER ?= rust
CACHE ?= $(or $(PVRDMA_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vmw_pvrdma_rust)
override CACHE := $(abspath $(CACHE))
override KDIR := $(if $(KDIR),$(abspath $(KDIR)))

export PVRDMA_CACHE := $(CACHE)
export KDIR V

progress = @scripts/progress $(1) $(CACHE)/log/$(1).log
enter := scripts/toolbox enter
testing := /repo/tools/testing/vmw_pvrdma
start := $(shell date +%s)

# Wrong input is refused before anything is built.
ifneq ($(filter-out help,$(or $(MAKECMDGOALS),help)),)
ifneq ($(shell id -u),0)
$(error root rights are needed; try: sudo make $(MAKECMDGOALS))
endif
ifeq ($(filter rust c,$(DRIVER)),)
$(error unknown DRIVER '$(DRIVER)'; it is rust or c)
endif
ifneq ($(KDIR),)
kdir_version := $(shell sed -n 's/^\(VERSION\|PATCHLEVEL\) = //p' '$(KDIR)/Makefile' 2>/dev/null | head -n 2 | paste -sd.)
ifneq ($(kdir_version),7.3)
$(error KDIR '$(KDIR)' is $(if $(kdir_version),a $(kdir_version) tree,no kernel tree); a Linux 7.3 tree is needed)
endif
endif
endif

.PHONY: help toolbox debian-12 tree kernel device run shell test test-all clean distclean

help:
	@echo 'make run        boot a guest and show RDMA working over the driver'
	@echo 'make shell      the same guest, interactive'
	@echo 'make test       all tests that belong to every change'
	@echo 'make test-all   the same, and the slow ones: other kernel configurations'
	@echo
	@echo 'make toolbox    the Debian root tree with all tools'
	@echo 'make debian-12  a tree of the RDMA libraries that Debian 12 has'
	@echo 'make tree       the kernel source with this repository laid over it'
	@echo 'make kernel     the kernel with both drivers'
	@echo 'make device     the emulated adapter'
	@echo 'make clean      remove what was built, keep the toolbox'
	@echo 'make distclean  remove the whole cache directory'
	@echo
	@echo 'DRIVER=rust|c   the driver of run and shell (now: $(DRIVER))'
	@echo 'FAULTS=FILE    what the adapter does wrong in make shell (see device/README.md)'
	@echo 'SUITES="A B"    only these suites of the tests'
	@echo 'KDIR=PATH       use this clean Linux 7.3 tree instead of Debian'\''s'
	@echo 'CACHE=PATH      where everything is kept (now: $(CACHE))'
	@echo 'V=1             show all output'

toolbox:
	$(call progress,toolbox) scripts/toolbox build

debian-12:
	$(call progress,debian-12) scripts/toolbox build-old

tree: toolbox
	$(call progress,tree) $(enter) /repo/scripts/tree

kernel: tree
	$(call progress,kernel) $(enter) /repo/scripts/kernel

device: toolbox
	$(call progress,crates) $(enter) --net /repo/scripts/device --fetch
	$(call progress,device) $(enter) /repo/scripts/device

run: kernel device
	@$(enter) $(testing)/run-demo $(DRIVER) --since $(start)

shell: kernel device
ifneq ($(FAULTS),)
	@mkdir -p $(CACHE)/run
	@cp '$(FAULTS)' $(CACHE)/run/faults.json
endif
	@$(enter) $(testing)/run-shell $(DRIVER) $(if $(FAULTS),--faults /cache/run/faults.json)

test: kernel device debian-12
	@$(enter) $(testing)/run-tests $(SUITES)

test-all: kernel device debian-12
	@$(enter) $(testing)/run-tests --all $(SUITES)

clean:
ifneq ($(KDIR),)
	$(call progress,clean) $(enter) /repo/scripts/tree --remove
endif
	rm -rf $(addprefix $(CACHE)/,build device log run tree)

distclean: clean
	rm -rf $(addprefix $(CACHE)/,toolbox cargo lock) $(CACHE)/accelerator-*
	rmdir $(CACHE)
