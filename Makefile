# pbf: partitioned Bloom filters for PostgreSQL. `make help` lists the targets.

# pbf_trgm is SQL only: operator classes that need pg_trgm too. Both are of one version.
EXTENSION = pbf pbf_trgm
MODULE_big = pbf

# Where the sources are, if they are built somewhere else (make -f ../Makefile VPATH=..).
S := $(if $(VPATH),$(VPATH)/)
# Files by patterns, named as seen from there.
files = $(patsubst $(S)%,%,$(sort $(wildcard $(addprefix $(S),$(1)))))

# The one place of the version is pbf.control.
EXTVERSION := $(shell sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" $(S)pbf.control)
DATA = $(foreach e,$(EXTENSION),$(e)--$(EXTVERSION).sql $(call files,$(e)--*--*.sql))

OBJS = $(patsubst %.c,%.o,$(call files,src/*.c src/core/*.c src/type/*.c src/index/*.c))
SRC_HEADERS := $(wildcard $(addprefix $(S),src/*.h src/core/*.h src/type/*.h src/index/*.h))

# pg_regress: sql/*.sql in the order of their names; EXTRA_REGRESS_OPTS is PGXS's own hook for further options.
REGRESS = $(sort $(filter-out $(UNTESTED),$(notdir $(basename $(call files,sql/*.sql)))))
REGRESS_OPTS = --encoding=UTF8 --no-locale

SPECS := $(call files,test/isolation/specs/*.spec)
ifneq (,$(SPECS))
ISOLATION = $(sort $(notdir $(basename $(SPECS))))
ISOLATION_OPTS = --inputdir=$(S)test/isolation
endif

ifneq (,$(call files,test/t/*.pl))
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
endif

PG_CONFIG ?= pg_config

# Extra warnings for our own code only: the server's headers are named as system headers, where compilers are silent.
# Errors only on demand (make COPT=-Werror), so that a newer compiler never breaks an installation.
PG_CPPFLAGS = -I$(S)src -isystem $(shell $(PG_CONFIG) --includedir-server)
PG_CFLAGS = -Wall -Wextra
# The flags that PGXS hands down are those of the compiler that built the server, usually gcc. And clang looks into
# the macros of system headers, some of which compare signed and unsigned; gcc checks that for our code.
ifneq (,$(findstring clang,$(CC)))
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-sign-compare
endif

PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq (,$(PGXS))
$(error $(PG_CONFIG) names no PGXS: install postgresql-server-dev-NN, or say make PG_CONFIG=/path/to/pg_config)
endif
include $(PGXS)

# Without the contrib modules there is nothing for pbf_trgm to build on. (Expanded when REGRESS is: after PGXS.)
ifeq (,$(wildcard $(datadir)/extension/pg_trgm.control))
UNTESTED = trgm
endif

# The bitcode for JIT is compiled by clang without CFLAGS and COPT.
override BITCODE_CFLAGS += -Wall -Wextra -Wno-sign-compare $(filter -Werror,$(COPT))

# PGXS knows no header dependencies where the server was built without them. Few enough files to keep this simple.
$(OBJS) $(OBJS:.o=.bc): $(SRC_HEADERS)

# Not by a rule: make would find the directories among the sources.
ifneq (,$(S))
$(shell mkdir -p $(sort $(dir $(OBJS))))
endif

CLANG_FORMAT ?= clang-format-14
FORMATTED = $(wildcard src/*.[ch] src/*/*.[ch] test/unit/*.[ch] test/faults/*.c test/bench/*.[ch] test/paper/*.[ch])

.PHONY: help unit unit-asan unit-ubsan format format-check dist

# What PGXS defines, for `make help`:
## all: build the extension (default)
## install: install it into the server that pg_config belongs to (DESTDIR=dir for a staged installation)
## uninstall: remove it again
## installcheck: run pg_regress, isolation and TAP tests against the installed extension
## clean: remove everything built

## unit: test the filter core without a server (also unit-asan, unit-ubsan)
unit:
	$(MAKE) -C $(S)test/unit run

unit-asan unit-ubsan: unit-%:
	$(MAKE) -C $(S)test/unit run-$*

## format: format the C code with the pinned formatter (CLANG_FORMAT=clang-format-14)
format:
	$(CLANG_FORMAT) -i $(FORMATTED)

## format-check: say which C code is not formatted, change nothing
format-check:
	$(CLANG_FORMAT) --dry-run --Werror $(FORMATTED)

## dist: make the release archive for PGXN from the committed tree
dist:
	git archive --format=zip --prefix=pbf-$(EXTVERSION)/ -o pbf-$(EXTVERSION).zip HEAD

## help: this list
help:
	@echo "pbf $(EXTVERSION), built for $$($(PG_CONFIG) --version) (another server: PG_CONFIG=/path/to/pg_config)"
	@echo
	@sed -n 's/^## \([a-z-]*\): \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "  make %-14s%s\n", $$1, $$2 }'
	@echo
	@echo "  bash test/check.sh    every test, on a server of its own that leaves nothing behind"
	@echo "  bash test/demo.sh     a tour over real word lists"
