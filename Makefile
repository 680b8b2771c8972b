# SPDX-License-Identifier: BSD-3-Clause
# One non-recursive makefile.
#
#   make             build/spoor, build/libspoor.{a,so}, build/libspoortracer.{a,so}
#   make demo        sets up what is missing, builds, and traces an example program for some seconds
#   make check       sets up, builds, runs every test          (SAN=1: with ASan and UBSan; ONLY=word: those that match)
#                    (RUN="--beside --until-fails 5": options of tests/run)
#                    (HOSTILE=1: instead, everything fails once: tests/hostile/run)
#   make quick       what one runs between edits: unit tests, checks of the source, the cases that the changed files touch
#   make check-deep  what takes a night: sanitizers, each failure, fuzzing, random scripts, all cases in other kernels (PARTS=…)
#   make static      build/spoor-static: one file that needs no other; FOR=aarch64: build/aarch64/spoor-static
#   make deb         Debian packages in build/packages; make rpm: for Fedora and its kin
#   make check-packages  installs and uses them in a fresh Debian, and the static program in others (DEBIANS=…)
#   make bench       measures beside the peers                 (Debian's bpftrace)
#   make check-kernels   the same behaviour tests in Debian's kernels under QEMU (SUITES=…: which kernels)
#   make pictures    the pictures of the documents, anew       (needs root)
#   make fuzz        each fuzz target for FUZZ_SECONDS (60)
#   make install     DESTDIR, PREFIX, LIBDIR, INCLUDEDIR, STRIP (empty: with debug information), BPFTRACE=1 (a link of that name)
#   make uninstall   takes exactly that away again
#   make format      clang-format over the tree
#   make lint        checks of the source alone: format, clang-tidy, cppcheck, shellcheck, sizes; part of make check

BUILD  ?= build
# A directory has one name, so that an object has one name in all lists of what it depends on.
ifeq ($(origin BUILD),command line)
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
endif
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
STRIP  ?= strip
ifeq ($(origin CC),default)
CC     := gcc
endif
CLANG  ?= clang
OBJCOPY ?= objcopy
FUZZ_SECONDS ?= 60

VERSION  := 0.1.0
# Warnings stop a build with the compilers that were seen to have none. Later ones may know more of them, which is no reason not to build.
GCCS   := 9 10 11 12 13 14 15 16
CLANGS := 11 12 13 14 15 16 17 18 19 20 21
werror = $(if $(filter $(if $(findstring clang,$(1)),$(CLANGS),$(GCCS)),$(firstword $(subst ., ,$(shell $(1) -dumpversion 2>/dev/null)))),-Werror)
OPTIMISE ?= -O2
# What may be uninitialised gcc guesses, and guesses otherwise with other optimisations than ours.
LTO      := $(filter -flto%,$(CFLAGS))
guesses  := $(if $(findstring clang,$(CC)),,$(if $(LTO)$(filter-out -O2,$(filter -O%,$(CFLAGS) $(OPTIMISE))),-Wno-error=maybe-uninitialized))
WARNINGS := -Wall -Wextra $(call werror,$(CC)) $(guesses) -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
CPPFLAGS += -Isrc -Iinclude -I$(BUILD)/gen -D_GNU_SOURCE -DSPOOR_VERSION='"$(VERSION)"'
# With link-time optimisation the objects have code all the same, which libspoortracer.a is made of.
CFLAGS   += -std=gnu11 $(OPTIMISE) -g -fno-omit-frame-pointer $(WARNINGS) $(if $(LTO),-ffat-lto-objects)
LDLIBS   := -lpthread
# The demangler: libiberty, linked statically (Debian: libiberty-dev).
LDLIBS   += -liberty
# The reader of debug information: elfutils (Debian: libdw-dev). It costs an empty script 0.3 ms at its start.
LDLIBS   += -ldw -lelf
# What profiles and pages are compressed with; libelf has loaded it already.
LDLIBS   += -lz
# What these compress with, for those who link them statically (libelf uses zstd in newer versions).
LDLIBS_STATIC := -Wl,--start-group -ldw -lelf -llzma -lbz2 -lz -lzstd -Wl,--end-group

# What the compiler knows to harden programs; sanitizers see more without it.
ifeq ($(SAN)$(findstring -fsanitize,$(OPTIMISE)),)
-include $(BUILD)/gen/hardening.mk
CFLAGS   += $(HARDENING_COMPILE)
LDFLAGS  += $(HARDENING_LINK)
$(BUILD)/gen/hardening.mk: tools/hardening
	@mkdir -p $(@D)
	@tools/hardening $(CC) >$@.new 2>/dev/null && mv $@.new $@
endif

ifeq ($(SAN),1)
BUILD    := build-san
CFLAGS   += -fsanitize=address,undefined -fno-sanitize-recover=undefined
LDFLAGS  += -fsanitize=address,undefined
endif

# libspoor is the recorder (src/recorder); everything else is the tracer. libspoortracer is that without the command.
FOLDERS  := base type sym reader lang bpf print chart export vm kernel builtin probe session profile tracer
SOURCES  := $(foreach folder,$(FOLDERS),$(wildcard src/$(folder)/*.c src/$(folder)/*/*.c))
# What lies between it and the commands: unit tests have it, too.
ABOVE    := history metrics otlp serve remote top
UPPER    := $(foreach folder,$(ABOVE),$(wildcard src/$(folder)/*.c))
COMMANDS := $(filter-out src/cmd/static.c,$(wildcard src/cmd/*.c))
OBJECTS  := $(SOURCES:src/%.c=$(BUILD)/obj/%.o)
UPPER_OBJECTS := $(UPPER:src/%.c=$(BUILD)/obj/%.o)
MAIN     := $(COMMANDS:src/%.c=$(BUILD)/obj/%.o)
LIBRARY  := $(patsubst src/recorder/%.c,$(BUILD)/lib/%.o,$(wildcard src/recorder/*.c))
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*_test.c))
TARGETS  := $(patsubst tests/targets/%.c,$(BUILD)/targets/%,$(wildcard tests/targets/*.c))
TARGETS  += $(patsubst tests/targets/%.h,$(BUILD)/targets/%.h,$(wildcard tests/targets/*.h))
LIBRARIES := $(patsubst tests/targets/library/%.c,$(BUILD)/targets/%.so,$(wildcard tests/targets/library/*.c))
# A 32-bit program, where the compiler makes such: without libraries it needs none of theirs.
ifeq ($(shell $(CC) -dumpmachine | cut -d- -f1),x86_64)
TARGETS  += $(patsubst tests/targets/ia32/%.c,$(BUILD)/targets/%,$(wildcard tests/targets/ia32/*.c))
endif
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/*.c))
BLOCKD   := $(wildcard examples/blockd/*.c)
EXAMPLES += $(BUILD)/examples/blockd
FUZZERS  := $(patsubst tests/fuzz/%_fuzz.c,%,$(wildcard tests/fuzz/*_fuzz.c))
GENERATED := $(BUILD)/gen/syscalls.inc $(BUILD)/gen/tools.inc $(BUILD)/gen/flame.inc $(BUILD)/gen/page.inc $(BUILD)/gen/history.inc

comma := ,
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all static demo pictures check check-deep quick check-kernels kernels-table bench bench-kernels fuzz install uninstall deb rpm check-packages format lint lint-files clean setup tests guest

all: $(BUILD)/spoor $(BUILD)/libspoor.a $(BUILD)/libspoor.so $(BUILD)/libspoortracer.a $(BUILD)/libspoortracer.so

$(BUILD)/spoor: $(MAIN) $(BUILD)/libtracer.a
	@echo '  LD   $@'
	@$(CC) $(CFLAGS) $(LDFLAGS) -pie -o $@ $^ $(LDLIBS)

# One file that needs no other, for machines on which nothing can be installed; stripped. The linker warns of functions of
# the C library that src/cmd/static.c stands in for, so what it says is shown when it fails. Asked for together, `all` comes
# before, because both make the same archive.
static: | $(filter all,$(MAKECMDGOALS))
	@tools/setup build static $(if $(FOR),cross)
	@$(if $(FOR),tools/cross $(BUILD) $(FOR) static,$(MAKE) --no-print-directory $(BUILD)/spoor-static)
$(BUILD)/spoor-static: $(MAIN) $(BUILD)/obj/cmd/static.o $(BUILD)/gen/microhttpd.o $(BUILD)/libtracer.a
	@echo '  LD   $@'
	@$(CC) $(CFLAGS) $(LDFLAGS) -static-pie -s -o $@ $^ $(LDLIBS) $(LDLIBS_STATIC) \
	    $$(nm -u $(BUILD)/gen/microhttpd.o | sed -n 's/^ *U \(gnutls_.*\)/-Wl,--defsym=\1=no_tls/p') 2>$@.log || { cat $@.log; exit 1; }
# The server of HTTP, where its archive is, whose functions of GnuTLS src/cmd/static.c stands in for.
$(BUILD)/gen/microhttpd.o:
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -r -nostdlib -o $@ -Wl,--whole-archive -lmicrohttpd -Wl,--no-whole-archive 2>/dev/null || \
	    $(CC) -c -x c -o $@ - </dev/null

$(BUILD)/libtracer.a: $(OBJECTS) $(UPPER_OBJECTS)
	@rm -f $@
	@$(AR) rcs $@ $^

# Position-independent and hidden, so that the same objects make the command and libspoortracer.
$(BUILD)/obj/%.o: src/%.c Makefile | $(GENERATED)
	@mkdir -p $(@D)
	@echo '  CC   $<'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

# libspoor: what programs that record are linked with.
$(BUILD)/lib/%.o: src/recorder/%.c Makefile
	@mkdir -p $(@D)
	@echo '  CC   $<'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(BUILD)/libspoor.a: $(LIBRARY)
	@rm -f $@
	@$(AR) rcs $@ $^

$(BUILD)/libspoor.so.1: $(LIBRARY)
	@echo '  LD   $@'
	@$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libspoor.so.1 -Wl,-z,nodelete $(if $(SAN),,-Wl,-z,defs) -o $@ $^

$(BUILD)/libspoor.so: $(BUILD)/libspoor.so.1
	@ln -sf $(<F) $@

# libspoortracer: the tracer for other programs. What is not in include/spoor/tracer.h is nobody's name: in the archive
# it is one object whose other names are local, in the shared library a version script says so.
$(BUILD)/libspoortracer.o: $(OBJECTS)
	@echo '  LD   $@'
	@$(CC) $(if $(LTO),-fno-lto) -nostdlib -r -o $@ $^
	@$(OBJCOPY) --wildcard --keep-global-symbol='spoor_tracer_*' --remove-section='*.gnu.*lto_*' $@

$(BUILD)/libspoortracer.a: $(BUILD)/libspoortracer.o
	@rm -f $@
	@$(AR) rcs $@ $^

$(BUILD)/libspoortracer.so.1: $(OBJECTS) src/tracer/symbols.map
	@echo '  LD   $@'
	@$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/tracer/symbols.map \
		$(if $(SAN),,-Wl,-z,defs) -o $@ $(OBJECTS) $(LDLIBS)

$(BUILD)/libspoortracer.so: $(BUILD)/libspoortracer.so.1
	@ln -sf $(<F) $@

# The system calls of this machine, by number: see src/sym/kernel/syscalls.c.
$(BUILD)/gen/syscalls.inc:
	@mkdir -p $(@D)
	@echo '#include <asm/unistd.h>' | $(CC) -E -dM - | sed -nE -e '/__NR_(syscalls|arch_specific_syscall) /d' \
		-e 's/^#define __NR_([a-z0-9_]+) .*/SYSCALL(\1, __NR_\1)/p' | sort > $@

# The tools' scripts, as texts that the program contains: see src/cmd/tools.c.
$(BUILD)/gen/tools.inc: $(wildcard tools/*.bt)
	@mkdir -p $(@D)
	@for tool in $(^F:.bt=); do echo "TOOL($$tool,"; sed -e 's/[\\"]/\\&/g; s/.*/"&\\n"/' tools/$$tool.bt; echo ')'; done >$@

# What works in a flame graph, as texts that the program contains: see src/profile/flame.c.
$(BUILD)/gen/flame.inc: src/profile/flame.js src/profile/flame.css src/profile/page.css tools/embed
	@mkdir -p $(@D)
	@tools/embed flame_script=src/profile/flame.js flame_style=src/profile/flame.css page_style=src/profile/page.css >$@

# The page of `report --html`, as texts that the program contains: see src/export/html.
$(BUILD)/gen/page.inc: tools/embed $(wildcard src/page/*)
	@mkdir -p $(@D)
	@tools/embed src/page >$@

# That of `--html`: see src/history.
$(BUILD)/gen/history.inc: tools/embed $(wildcard src/page/* src/page/history/*)
	@mkdir -p $(@D)
	@tools/embed src/page/history >$@

# Versions of cmocka have different names for some assertions, and call the older ones deprecated.
$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/libtracer.a $(BUILD)/libspoor.a
	@mkdir -p $(@D)
	@echo '  LD   $@'
	@$(CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) -Wno-missing-prototypes -Wno-deprecated-declarations -MMD -MP $(LDFLAGS) -o $@ $< \
		$(BUILD)/libtracer.a $(BUILD)/libspoor.a -lcmocka $(LDLIBS)


# Headers that scripts of cases include.
$(BUILD)/targets/%.h: tests/targets/%.h
	@mkdir -p $(@D)
	@cp $< $@

# Those that record take the sanitizers with the library.
$(BUILD)/targets/%: tests/targets/%.c $(wildcard tests/targets/*.h) $(BUILD)/libspoor.a
	@mkdir -p $(@D)
	@$(CC) -Iinclude -std=gnu11 -O1 -g -Wall -Wextra -Werror -fno-omit-frame-pointer -o $@ $< $(BUILD)/libspoor.a -lpthread \
		$(if $(SAN),$(if $(shell grep -l spoor/trace.h $<),-fsanitize=address$(comma)undefined))

$(BUILD)/targets/%: tests/targets/ia32/%.c
	@mkdir -p $(@D)
	@$(CC) -m32 -static -nostdlib -ffreestanding -fno-pie -no-pie -fno-stack-protector -O1 -g -Wall -Wextra -Werror -o $@ $<

# Libraries that targets open while they run.
$(BUILD)/targets/%.so: tests/targets/library/%.c
	@mkdir -p $(@D)
	@$(CC) -Iinclude -std=gnu11 -O1 -g -Wall -Wextra -Werror -fno-omit-frame-pointer -fPIC -shared -o $@ $<

$(BUILD)/examples/blockd: $(BLOCKD) $(wildcard examples/blockd/*.h include/spoor/*.h include/spoor/*/*.h) $(BUILD)/libspoor.a
	@mkdir -p $(@D)
	@echo '  LD   $@'
	@$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $(BLOCKD) $(BUILD)/libspoor.a -lpthread

$(BUILD)/examples/watch: examples/watch.c include/spoor/tracer.h $(BUILD)/libspoortracer.a
	@mkdir -p $(@D)
	@echo '  LD   $@'
	@$(CC) -Iinclude $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libspoortracer.a $(LDLIBS)

$(BUILD)/examples/%: examples/%.c
	@mkdir -p $(@D)
	@$(CC) -Iinclude -std=gnu11 -O2 -g -Wall -Wextra -Werror -fno-omit-frame-pointer -o $@ $< -lpthread

demo: setup
	@$(MAKE) --no-print-directory all $(EXAMPLES)
	@examples/demo.sh $(BUILD)
	@examples/blockd/demo.sh $(BUILD)

pictures: all $(EXAMPLES)
	@tools/pictures $(BUILD)

bench:
	@tools/setup build check bench
	@$(MAKE) --no-print-directory all $(TARGETS) $(EXAMPLES)
	@bench/run $(BUILD)
	@bench/tools $(BUILD)
	@bench/by_hand $(BUILD)

# The same table inside Debian's kernel under QEMU: instructions counted, for machines whose kernel cannot run both.
bench-kernels: all
	@tools/setup build check kernels
	@tests/kernels/bench $(BUILD) $(SUITES)

# spoor on a hostile machine: tests/hostile/fail.c stands before every function that it wraps.
HOSTILE_NAMES = $(shell tests/hostile/names)
$(BUILD)/hostile/spoor: tests/hostile/fail.c $(MAIN) $(BUILD)/libtracer.a
	@mkdir -p $(@D)
	@echo '  LD   $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-missing-prototypes $(LDFLAGS) $(HOSTILE_NAMES:%=-Wl,--wrap=%) -o $@ $^ $(LDLIBS)

# What a guest of another architecture needs: see tools/cross.
guest: $(BUILD)/spoor $(TARGETS) $(LIBRARIES) $(BUILD)/unit/kernel_test $(BUILD)/unit/attach_test

tests: all $(BUILD)/hostile/spoor $(UNITS) $(TARGETS) $(LIBRARIES) $(EXAMPLES)

# ONLY=word and SUITES="bookworm trixie:core" choose: see tests/kernels/run. What the running kernel cannot do is tested here.
check-kernels:
	@tools/setup build check kernels $(if $(findstring arm64,$(SUITES)),matrix cross)
	@$(MAKE) --no-print-directory tests
	@ONLY=$(ONLY) tests/kernels/run $(BUILD) $(SUITES)

# From the results of check-kernels with all of SUITES="bullseye:kinds bookworm:kinds locked trixie:kinds sid:kinds arm64:kinds".
kernels-table:
	@tests/kernels/table $(BUILD) >docs/KERNELS.md.new && mv docs/KERNELS.md.new docs/KERNELS.md

# HOSTILE=1: instead, every allocation and every system call fails once, with sanitizers (HOSTILE_STEP=7: every seventh).
HOSTILE_STEP ?= 1
ifeq ($(HOSTILE),1)
check: setup
	@$(MAKE) --no-print-directory SAN=1 build-san/hostile/spoor build-san/libspoor.a \
		$(patsubst %,build-san/targets/%,calls fires objects recording storm)
	@SAN=1 tests/hostile/run build-san $(HOSTILE_STEP) $(ONLY)
else
check: setup
	@$(MAKE) --no-print-directory tests
	@tests/run $(RUN) $(BUILD) $(ONLY)
endif

# Between edits: unit tests, checks of the source, and the cases that the changed files touch.
quick:
	@$(MAKE) --no-print-directory -j$(shell nproc) tests
	@tests/run --quick $(RUN) $(BUILD) $(ONLY)

# The better part of a night; PARTS chooses: see tests/deep.
check-deep:
	@tests/deep $(PARTS)

# Everything is compiled again with clang, for coverage and with sanitizers.
fuzz: setup
	@$(MAKE) --no-print-directory BUILD=build-fuzz CC=$(CLANG) OPTIMISE="-O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined" \
		$(FUZZERS:%=build-fuzz/fuzz/%)
	@for fuzzer in $(FUZZERS); do tests/fuzz/run build-fuzz/fuzz/$$fuzzer $(FUZZ_SECONDS) || exit 1; done

$(BUILD)/fuzz/lsp: $(patsubst %,$(BUILD)/obj/cmd/lsp_%.o,documents text wire)
$(BUILD)/fuzz/%: tests/fuzz/%_fuzz.c $(BUILD)/libtracer.a
	@mkdir -p $(@D)
	@echo '  LD   $@'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-missing-prototypes -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -o $@ $< $(filter %.o,$^) $(BUILD)/libtracer.a $(LDLIBS)

# What clang-tidy says of each file that is shipped, see .clang-tidy, and clang alone of tests, examples and benchmarks, once per
# change. What needs the kernel's headers or LTTng's is not there.
LINTED := $(sort $(patsubst %/,%,$(dir $(wildcard src/*/*.c src/*/*/*.c))))
OTHERS := $(filter-out tests/kernels/% bench/lttng.c bench/by_hand.c,$(wildcard tests/*/*.c tests/*/*/*.c examples/*.c examples/*/*.c bench/*.c))
lint-files: $(LINTED:%=$(BUILD)/lint/%.ok) $(OTHERS:%.c=$(BUILD)/lint/%.ok)

# A folder at a time, because most of clang-tidy's time goes into its beginning: those of its files whose objects are newer than
# what it said last, for an object is made anew when its source has changed, or what that includes has.
objects_of = $(patsubst $(BUILD)/obj/recorder/%,$(BUILD)/lib/%,$(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard $(1)/*.c)))
sources_of = $(patsubst $(BUILD)/obj/%.o,src/%.c,$(patsubst $(BUILD)/lib/%,$(BUILD)/obj/recorder/%,$(filter %.o,$(1))))
.SECONDEXPANSION:
$(LINTED:%=$(BUILD)/lint/%.ok): $(BUILD)/lint/%.ok: $$(call objects_of,$$*) .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet $(call sources_of,$(if $(filter .clang-tidy,$?),$^,$?)) -- $(CPPFLAGS) $(CFLAGS) 2>/dev/null
	@touch $@

# Some define _GNU_SOURCE, to nothing, and some have attributes of gcc's that keep what is traced in its place.
$(BUILD)/lint/%.ok: %.c | $(GENERATED)
	@mkdir -p $(@D)
	@$(CLANG) $(CPPFLAGS) -U_GNU_SOURCE -D_GNU_SOURCE= -Itests -Itests/unit $(filter-out -Werror,$(CFLAGS)) \
		-Wno-missing-prototypes $(call werror,$(CLANG)) -Wno-unknown-attributes -fsyntax-only -MMD -MP -MT $@ -MF $(@:.ok=.d) $<
	@touch $@

lint: setup
	@tests/run $(BUILD) source/

setup:
	@tools/setup build static check cross

clean:
	rm -rf build build-san

FORMAT ?= clang-format -i
format:
	@$(FORMAT) $(wildcard src/*/*.[ch] src/*/*/*.[ch] include/spoor/*.h include/spoor/*/*.h tests/*/*.[ch] examples/*.c examples/*/*.[ch] bench/*.c bench/handwritten/*.[ch])

# What goes where is said by tools/install.
PUT := DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)' STRIP='$(STRIP)' \
	BPFTRACE='$(BPFTRACE)' VERSION='$(VERSION)' LIBS='$(LDLIBS)' tools/install
install: all
	@$(PUT) $(BUILD)

uninstall:
	@$(PUT) --remove $(BUILD)

deb rpm:
	@tools/setup build packages
	@mkdir -p $(BUILD)
	@packaging/$@ $(BUILD)

check-packages: deb static
	@$(MAKE) --no-print-directory static FOR=aarch64
	@packaging/check $(BUILD) $(DEBIANS)

-include $(OTHERS:%.c=$(BUILD)/lint/%.d) $(OBJECTS:.o=.d) $(UPPER_OBJECTS:.o=.d) $(LIBRARY:.o=.d) $(MAIN:.o=.d) $(addsuffix .d,$(UNITS))
