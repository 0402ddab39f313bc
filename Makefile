# make               build every command into $(O)/bin
# make preflight     set this machine up, build, run windsock: is it fit for training?
# make check         set this machine up, build, run every test (CI runs this)
# make check-sanitize  tests under ASan and UBSan, threads under TSan, commands under valgrind
# make check-launchers  the same ranks under real Slurm, torchrun, accelerate, sshfs
# make check-nccl-versions  our rules and plug-in against 21 releases of the real NCCL, 7 GB
# make soak          everything that hangs or leaks only now and then, many times
# make check-newcomer  both of them in a bare root folder, as a newcomer would
# make check-packages  dist and deb twice: the same bytes; installed, used, purged
# make check-systemd  the unit and its timer in a bare machine that has booted systemd
# make fuzz          every fuzzer for FUZZ_SECONDS each
# make bench-peers   our speed beside other tools', interleaved, as ratios
# make dist          an archive that runs from anywhere (glibc 2.31 is enough)
# make images IMAGES=DIR  what nvcc makes, for `make IMAGES=DIR` where it is not
# make deb           a Debian package
# make install DESTDIR= PREFIX=/usr/local
# make O=out-of-tree SAN=address,undefined WERROR=1 V=1 CC=clang

O       ?= build
$(if $(word 2,$(O)),$(error O='$(O)': make takes no folder with a blank in its name))
PREFIX  ?= /usr/local
# As arguments these are taken, from the environment not: many a job has a DATADIR of its own.
BINDIR  := $(PREFIX)/bin
MANDIR  := $(PREFIX)/share/man
BASHDIR := $(PREFIX)/share/bash-completion/completions
ZSHDIR  := $(PREFIX)/share/zsh/site-functions
DATADIR := $(PREFIX)/share/windsock

CFLAGS  ?= -O2 -g1
STD     := -std=gnu11 -D_GNU_SOURCE
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wformat=2 -Wwrite-strings -Wpointer-arith -Wvla -Wundef
WARN    += $(if $(WERROR),-Werror)
SANFLAG := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-pass-failed)

# libnl is linked statically where the package has the archive: `ifprobe` must
# start as fast as `ip`, and every shared library costs a twentieth of that.
static   = $(firstword $(wildcard $(addsuffix /$(1).a,$(LIBDIRS))) $(patsubst lib%,-l%,$(1)))
LIBDIRS := $(shell $(CC) -print-search-dirs | sed -n 's/^libraries: =//p' | tr : ' ')
NL_CFLAGS := $(shell pkg-config --cflags libnl-3.0)
ALL_CFLAGS = $(STD) $(WARN) -I. -I$(O) $(NL_CFLAGS) $(SANFLAG) $(CFLAGS)
LDLIBS  := -Wl,--as-needed $(call static,libnl-3) $(call static,libsodium) -lcjson -lm -ldl -lpthread

COMMANDS := $(filter-out app,$(patsubst cmd/%.c,%,$(wildcard cmd/*.c)))
SRC      := $(sort $(wildcard lib/*/*.c probes/*/*.c bench/*/*.c cmd/*.c))
UNIT     := $(sort $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/t_*.c)))
LAB      := $(sort $(patsubst tests/lab/%.c,%,$(wildcard tests/lab/*.c)))
obj       = $(patsubst %.c,$(O)/%.o,$(filter $(1),$(SRC)))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

all: $(COMMANDS:%=$(O)/bin/%) docs plugins

# --- one list per kind of plug-in, from file names ----------------------------
GEN := $(O)/gen/renderers.h $(O)/gen/rules.h $(O)/gen/checks.h $(O)/gen/colls.h
$(O)/gen/renderers.h: LIST := $(patsubst lib/report/render_%.c,RENDERER(%),$(sort $(wildcard lib/report/render_*.c)))
$(O)/gen/rules.h:     LIST := $(patsubst probes/rules/rules_%.c,RULES(%),$(sort $(wildcard probes/rules/rules_*.c)))
$(O)/gen/checks.h:    LIST := $(patsubst probes/check/c_%.c,CHECK(%),$(sort $(wildcard probes/check/c_*.c)))
$(O)/gen/colls.h:     LIST := $(patsubst bench/coll/c_%.c,COLL(%),$(sort $(wildcard bench/coll/c_*.c)))
# Programs for sh on other hosts, as C strings of one line: the account's own shell may be a csh.
SH := $(patsubst lib/cluster/sh/%.sh,$(O)/gen/sh/%.h,$(wildcard lib/cluster/sh/*.sh))
$(O)/gen/sh/%.h: lib/cluster/sh/%.sh
	@mkdir -p $(@D); sed '/^[[:space:]]*#/d; /^$$/d; s/^[[:space:]]*//; s/[\\"]/\\&/g; s/.*/"& "/' $< >$@
# One per archive, of its objects: it is made again where one came or went.
OBJECTS := $(O)/gen/lib.list $(O)/gen/probes.list $(O)/gen/bench.list
$(O)/gen/lib.list:    LIST = $(call obj,lib/%.c)
$(O)/gen/probes.list: LIST = $(call obj,probes/%.c)
$(O)/gen/bench.list:  LIST = $(call obj,bench/%.c)
$(GEN) $(OBJECTS): FORCE
	@mkdir -p $(@D); printf '%s\n' $(foreach x,$(LIST),'$(x)') >$@.new; \
	cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# --- compile, archive, link ----------------------------------------------------
$(O)/%.o: %.c $(O)/flags | $(GEN) $(SH)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/lib.a: $(call obj,lib/%.c)
$(O)/probes.a: $(call obj,probes/%.c)
$(O)/bench.a: $(call obj,bench/%.c)
$(O)/%.a: $(O)/gen/%.list $(O)/flags
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

$(O)/bin/%: $(O)/cmd/%.o $(O)/cmd/app.o $(O)/probes.a $(O)/bench.a $(O)/lib.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SANFLAG) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(O)/unit/%: $(O)/tests/unit/%.o $(O)/probes.a $(O)/bench.a $(O)/lib.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SANFLAG) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka
# Programs that tests run on the lab's nodes.
$(O)/lab/%: $(O)/tests/lab/%.o $(O)/lib.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SANFLAG) $(LDFLAGS) -o $@ $^ $(LDLIBS)
unit: $(UNIT:%=$(O)/unit/%) $(LAB:%=$(O)/lab/%)
# What is tested is built as it is delivered; the tests themselves need no speed.
$(O)/tests/%.o: private ALL_CFLAGS += -O0

# Rebuild when the flags change, not when the Makefile's clock does. -Werror
# changes no object.
FLAGS = $(CC) $(filter-out -Werror,$(ALL_CFLAGS))
$(O)/flags: FORCE
	@mkdir -p $(@D); echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@

include plugins.mk

# All that is C, once, whatever it would be linked with: for a compiler that only says what it
# thinks of it (CC='clang -fsyntax-only' CXX=true), and makes nothing. SEEN: sources it knows.
look: $(filter-out $(SEEN:%.c=$(O)/%.o),$(call obj,%)) $(UNIT:%=$(O)/tests/unit/%.o) $(LAB:%=$(O)/tests/lab/%.o) \
      $(foreach p,$(PLUGINS),$(objects_$p)) fakes

# --- what the option tables say, as man pages and completions ------------------
RUN := # what starts a command of another processor, as qemu
docs: $(foreach c,$(COMMANDS),$(O)/man/$c.1 $(O)/bash/$c $(O)/zsh/_$c)
$(O)/man/%.1: $(O)/bin/% ; @mkdir -p $(@D); $(RUN) $< --generate man >$@
$(O)/bash/%: $(O)/bin/% ; @mkdir -p $(@D); $(RUN) $< --generate bash >$@
$(O)/zsh/_%: $(O)/bin/% ; @mkdir -p $(@D); $(RUN) $< --generate zsh >$@

# --- jobs -----------------------------------------------------------------------
# A recipe that names $(MAKE) runs for `make -n`, too: jobs have it from their environment.
export MAKE
preflight:
	@scripts/setup build
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@$(O)/bin/windsock

check:
	@scripts/setup check
	@O='$(O)' scripts/check

check-sanitize:
	@scripts/setup check
	@O='$(O)/san' scripts/check-sanitize

check-launchers:
	@scripts/setup launchers
	@O='$(O)' scripts/check-launchers

check-nccl-versions:
	@scripts/setup check
	@O='$(O)' scripts/check-nccl-versions

soak:
	@scripts/setup check
	@$(MAKE) --no-print-directory -j$$(nproc) all unit
	@O='$(O)' scripts/soak

# A bare Debian, a clean clone, and nothing but the two commands that CONTRIBUTING.md begins with.
check-newcomer:
	@scripts/check-newcomer
check-packages:
	@scripts/setup packages
	@O='$(O)' scripts/check-packages
check-systemd:
	@scripts/setup packages
	@O='$(O)' scripts/check-systemd

fuzz:
	@O='$(O)/fuzz' scripts/fuzz

bench-peers:
	@scripts/setup peers
	@$(MAKE) --no-print-directory -j$$(nproc) all unit
	@O='$(O)' scripts/bench-peers

# A folder that runs from anywhere, as an archive. See scripts/dist --help.
dist:
	@O='$(O)' scripts/dist

# A Debian package, checked by lintian. See scripts/deb --help.
deb:
	@O='$(O)' scripts/deb

# For Slurm, Kubernetes, CI and monitoring: each says in its first lines where it goes. And a lab.
GLUE = scripts/lab scripts/gpu-check scripts/gpu-peer.py $(filter-out %/npd,$(wildcard $(foreach d,lab.d gpu-check.d slurm nhc parallelcluster kubernetes kubernetes/npd github gitlab prometheus systemd,scripts/$d/*)))
# What somebody else put into a folder stays, and the folder with it.
remove_empty = [ ! -d '$(1)' ] || rmdir --ignore-fail-on-non-empty '$(1)'
install: all install-plugins
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(MANDIR)/man1' '$(DESTDIR)$(BASHDIR)' '$(DESTDIR)$(ZSHDIR)' '$(DESTDIR)$(DATADIR)'
	install -m 755 $(COMMANDS:%=$(O)/bin/%) '$(DESTDIR)$(BINDIR)'
	install -m 644 $(COMMANDS:%=$(O)/man/%.1) '$(DESTDIR)$(MANDIR)/man1'
	install -m 644 $(COMMANDS:%=$(O)/bash/%) '$(DESTDIR)$(BASHDIR)'
	install -m 644 $(COMMANDS:%=$(O)/zsh/_%) '$(DESTDIR)$(ZSHDIR)'
	install -m 644 lib/report/envelope.schema.json '$(DESTDIR)$(DATADIR)'
	for f in $(GLUE); do install -D -m $$([ -x $$f ] && echo 755 || echo 644) $$f '$(DESTDIR)$(DATADIR)'/$${f#scripts/} || exit; done
uninstall: uninstall-plugins
	rm -f $(foreach c,$(COMMANDS),'$(DESTDIR)$(BINDIR)/$c' '$(DESTDIR)$(MANDIR)/man1/$c.1' \
	  '$(DESTDIR)$(BASHDIR)/$c' '$(DESTDIR)$(ZSHDIR)/_$c')
	! cd '$(DESTDIR)$(DATADIR)' 2>/dev/null || { rm -f envelope.schema.json $(GLUE:scripts/%=%) && \
	  for d in $(filter-out ./,$(sort $(dir $(GLUE:scripts/%=%)))); do \
	    [ ! -d $$d ] || rmdir -p --ignore-fail-on-non-empty $$d || exit; done; }
	$(call remove_empty,$(DESTDIR)$(DATADIR))
clean:
	rm -rf '$(O)'

.PHONY: all unit look docs preflight check check-sanitize check-launchers check-nccl-versions check-newcomer check-packages check-systemd soak fuzz bench-peers dist deb install uninstall clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)
