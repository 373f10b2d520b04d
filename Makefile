# Cellpost. `make help` lists the targets.
#
#   MODE=release (default) | dev | asan | tsan | cov     how to compile
#   CC=gcc (default) | clang                              with what
#   REDIS=yes | no (default: yes when libhiredis-dev is there)
#   V=1                                                   show the commands

MODE    ?= release
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
PREFIX  ?= /usr/local
DESTDIR ?=
SYSCONFDIR ?= /etc
PORT    ?= 8080
STATE   ?= var
TEST_JOBS ?= 2
BUILD   := build/$(MODE)
Q       := $(if $(V),,@)

PACKAGES := json-c libzmq sqlite3 libcrypto libseccomp inih libarchive
REDIS    ?= $(shell pkg-config --exists hiredis && echo yes || echo no)
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wformat=2
HARDEN   := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
LINK_HARDEN := -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack

FLAGS_release := $(HARDEN) -g
FLAGS_dev     := $(HARDEN) -g -Werror
FLAGS_asan    := -O1 -g -Werror -fno-omit-frame-pointer -fPIE \
                 -fsanitize=address,undefined -fno-sanitize-recover=undefined
FLAGS_tsan    := -O1 -g -fno-omit-frame-pointer -fPIE -fsanitize=thread
FLAGS_cov     := -O0 -g --coverage -fPIE
FLAGS_fuzz    := -O1 -g -Werror -fno-omit-frame-pointer -fPIE \
                 -fsanitize=fuzzer-no-link,address,undefined \
                 -fno-sanitize-recover=undefined
LINK_release  := $(LINK_HARDEN)
LINK_dev      := $(LINK_HARDEN)
LINK_asan     := -pie -fsanitize=address,undefined
LINK_tsan     := -pie -fsanitize=thread
LINK_cov      := -pie --coverage
LINK_fuzz     := -pie -fsanitize=fuzzer,address,undefined

CFLAGS  := -std=gnu17 $(WARNINGS) $(FLAGS_$(MODE)) -D_GNU_SOURCE -I. -I$(BUILD) \
           $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null) $(EXTRA_CFLAGS) \
           $(if $(filter yes,$(REDIS)),-DCELLPOST_REDIS)
LDFLAGS := $(LINK_$(MODE))
LDLIBS  := -lfcgi $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lmagic -lm -lpthread \
           $(if $(filter yes,$(REDIS)),-lhiredis)

KEEPER_ONLY := core/keeper/main.c
APP_ONLY    := fcgi/main.c
LIB_SOURCES := $(filter-out $(KEEPER_ONLY) $(APP_ONLY),$(wildcard core/*/*.c core/*/*/*.c fcgi/*.c fcgi/*/*.c))
LIB_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/embedded.o \
               $(BUILD)/zygote_library.o
LIBRARY     := $(BUILD)/libcellpost.a
PROGRAMS    := $(BUILD)/cellpost $(BUILD)/cellpost-keeper
UNIT_TESTS  := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
FUZZERS     := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 20
# Text files that are compiled in: SQL and Python helpers.
EMBEDDED    := $(sort $(wildcard sql/migrations/*.sql sql/queries/*.sql sql/*.sql)) \
               core/ipykernel/probe.py $(wildcard core/keeper/*/*.py fcgi/*/*.json fcgi/*/*.py)
SETUP       := core/ipykernel/load.py $(wildcard core/ipykernel/setup/*.py)

# What a zygote loads (core/keeper/shim/zygote_fork.h): never instrumented, since it
# lives in a Python that is not.
ZYGOTE_SOURCES := $(wildcard $(addsuffix /*.c,core/base core/text core/json core/process \
                  core/cgroup core/jail core/jail/layers core/jail/watch core/keeper/shim))
ZYGOTE_CFLAGS  := -std=gnu17 $(WARNINGS) -O2 -D_FORTIFY_SOURCE=2 \
                  -fstack-protector-strong -fPIC -fvisibility=hidden \
                  -ffunction-sections -fdata-sections -D_GNU_SOURCE -I. \
                  $(shell pkg-config --cflags json-c 2>/dev/null)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

all: $(PROGRAMS) ## build both programs

$(BUILD)/setup.py: tools/bundle $(SETUP)
	$(Q)mkdir -p $(BUILD)
	$(Q)tools/bundle core/ipykernel/setup core/ipykernel/load.py > $@

$(BUILD)/embedded.c $(BUILD)/embedded.h &: tools/embed Makefile $(EMBEDDED) $(BUILD)/setup.py
	$(Q)tools/embed $(BUILD)/embedded.c $(BUILD)/embedded.h $(EMBEDDED) \
	  core/ipykernel/setup=$(BUILD)/setup.py

$(BUILD)/embedded.o: $(BUILD)/embedded.c
	$(Q)$(CC) $(CFLAGS) -c $< -o $@

$(BUILD)/%.o: %.c $(BUILD)/embedded.h
	$(Q)mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/zygote/%.o: %.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ZYGOTE_CFLAGS) -MMD -MP -c $< -o $@

# What of those files is not used is left out, and with it every library but C's.
$(BUILD)/zygote.so: $(ZYGOTE_SOURCES:%.c=$(BUILD)/zygote/%.o)
	@echo "  LD   $@"
	$(Q)$(CC) -shared -s -Wl,--gc-sections -Wl,-z,defs -Wl,-z,relro,-z,now $^ -o $@

$(BUILD)/zygote_library.o: core/keeper/zygote/zygote_library.S $(BUILD)/zygote.so
	$(Q)$(CC) -DZYGOTE_LIBRARY='"$(BUILD)/zygote.so"' -c $< -o $@

$(LIBRARY): $(LIB_OBJECTS)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(BUILD)/cellpost: $(BUILD)/fcgi/main.o $(LIBRARY)
	@echo "  LD   $@"
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/cellpost-keeper: $(BUILD)/core/keeper/main.o $(LIBRARY)
	@echo "  LD   $@"
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

.PRECIOUS: $(BUILD)/%.o
$(BUILD)/unit/%: $(BUILD)/tests/unit/%.o $(LIBRARY)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $^ -lcmocka $(LDLIBS) -o $@

unit: $(UNIT_TESTS) ## build and run the unit tests (cmocka)
	$(Q)tools/run-unit $(UNIT_TESTS)

$(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(LIBRARY)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

fuzz: fuzz-packages ## run each fuzz target for FUZZ_SECONDS (default 20), with clang
	$(Q)$(MAKE) --no-print-directory MODE=fuzz CC=clang run-fuzzers

run-fuzzers: $(FUZZERS)
	$(Q)tools/run-fuzzers $(FUZZ_SECONDS) $(FUZZERS)

$(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(LIBRARY)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

bench-store: $(BUILD)/bench/store_bench ## cost of the history at 1,000 and 1,000,000 runs
	$(Q)rm -f $(BUILD)/bench-*.db*
	$(Q)$< $(BUILD)

bench-notebook: $(BUILD)/bench/notebook_bench ## cost of a cell in notebooks of 0.1 to 100 MB
	$(Q)$< $(BUILD)

# One test: /usr/bin/python3 -m pytest tests/http -k word
# Files of tests go to TEST_JOBS processes, each with instances of its own.
test: test-packages all unit check-benches ## everything: unit tests, then the whole against real nginx and kernels
	$(Q)CELLPOST_MODE=$(MODE) CELLPOST_BUILD=$(CURDIR)/$(BUILD) \
	  /usr/bin/python3 -m pytest -q -n $(TEST_JOBS) --dist loadfile --durations=25 $(wildcard tests/http tests/e2e tests/keeper tests/jail tests/browser)

# That they run at all, not what they measure.
check-benches: $(BUILD)/bench/store_bench $(BUILD)/bench/notebook_bench
	$(Q)rm -f $(BUILD)/bench-*.db*
	$(Q)$(BUILD)/bench/store_bench $(BUILD) 100 200 > /dev/null
	$(Q)$(BUILD)/bench/notebook_bench $(BUILD) 1 > /dev/null

lint: ## structure, format, static analysis, scripts; gcc and clang
	$(Q)tools/lint $(STEPS)

up: ## build, start an instance (PORT, STATE), run a first cell in it
	$(Q)MODE=$(MODE) PORT=$(PORT) STATE='$(STATE)' tools/up

down: ## end the instance in STATE with all its kernels
	$(Q)STATE='$(STATE)' tools/down

install: all ## install programs, pages, units, site and manual (DESTDIR, PREFIX, SYSCONFDIR)
	$(Q)MODE=$(MODE) DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' tools/install

test-packages:
	$(Q)tools/install-packages build runtime test

fuzz-packages:
	$(Q)tools/install-packages build fuzz

install-packages: ## install the Debian packages that building and running need
	$(Q)tools/install-packages build runtime

# What the bench compares with: no Cellpost code, and core/jupyter alone.
$(BUILD)/raw_client: tests/bench/raw_client.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $< $(LDLIBS) -o $@

$(BUILD)/channel_client: $(BUILD)/tests/bench/channel_client.o $(LIBRARY)
	$(Q)$(CC) $(LDFLAGS) $^ $(LDLIBS) -o $@

bench: all $(BUILD)/raw_client ## figures, as ratios within one run (BENCH="latency memory churn steady stream feed jail neighbour warm")
	$(Q)CELLPOST_MODE=$(MODE) /usr/bin/python3 -m tests.bench $(BENCH)

vendor: ## fetch the pages' libraries anew, as static/vendor/vendor.json pins them
	$(Q)tools/vendor

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: test-packages fuzz-packages all unit check-benches fuzz run-fuzzers bench-store bench-notebook test lint up down install install-packages vendor clean help bench
