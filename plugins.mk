# Plug-ins: shared objects that only some runs load, each linked against a library
# that most machines need not have. Without its headers one is left out.
PLUGINDIR := $(PREFIX)/lib/windsock
# Filled below, and not from the environment.
PLUGINS :=
COMM_PLUGINS :=
GPU_HEADERS :=
has_header = $(shell printf '\043include <%s>\n' $(1) | $(CC) $(2) -E - >/dev/null 2>&1 && echo yes)

ifeq ($(call has_header,curl/curl.h),yes)
PLUGINS += curl
endif
PLUGIN_LIBS_curl := -lcurl
objects_curl := $(O)/plugins/curl.o

# ddpsmoke's resnet18: oneDNN 2 or 3, as Debian and Ubuntu have it.
has_dnnl := $(shell printf '\043include <dnnl.h>\n\043if DNNL_VERSION_MAJOR == 3 || (DNNL_VERSION_MAJOR == 2 \046\046 DNNL_VERSION_MINOR >= 3)\nyes_it_is\n\043endif\n' | $(CC) -E - 2>/dev/null | grep -c ^yes_it_is)
ifeq ($(has_dnnl),1)
PLUGINS += onednn
endif
PLUGIN_LIBS_onednn := -ldnnl
objects_onednn := $(O)/plugins/onednn.o

# Communicators of ncclbench.
include bench/plugin/plugins.mk

# ddpsmoke on GPUs.
include plugins/cudnn/plugins.mk

# windsock's look at GPUs.
include plugins/burst/plugins.mk

PLUGIN_FILES := $(PLUGINS:%=$(O)/lib/windsock/%.so)
plugins: $(PLUGIN_FILES)
	$(if $(filter curl,$(PLUGINS)),,@echo "  no libcurl headers (libcurl4-openssl-dev): portcheck --cloud --audit reads files only")
	$(if $(filter onednn,$(PLUGINS)),,@echo "  no oneDNN 2.3 headers or later (libdnnl-dev): ddpsmoke trains mlp and cnn, not resnet18")
	$(if $(filter no,$(firstword $(NVCC_SAYS))),@echo "  no code for GPUs: $(NVCC) compiles nothing here: $(wordlist 2,99,$(NVCC_SAYS))")
	$(if $(filter cudnn,$(PLUGINS)),,@echo "  no nvcc that works, cudnn.h or cublas_v2.h: ddpsmoke trains on CPUs only")
	$(if $(COMM_LEFT_OUT),@echo "  ncclbench without: $(COMM_LEFT_OUT) (libgloo-dev and g++, libopenmpi-dev, libmpich-dev, an nvcc that works and nccl.h)")

# Its own flags file is the commands': a plug-in shares their headers.
$(O)/plugins/%.o: plugins/%.c $(O)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
$(O)/lib/windsock/%.so: $(O)/plugins/%.o
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SANFLAG) $(LDFLAGS) -shared -o $@ $< $(PLUGIN_LIBS_$*)

# What was built: root may find no nvcc, where who built it did.
install-plugins: plugins
	for f in $(O)/lib/windsock/*.so; do [ ! -e "$$f" ] || install -D -m 644 -t '$(DESTDIR)$(PLUGINDIR)' "$$f" || exit; done
uninstall-plugins:
	rm -f $(patsubst objects_%,'$(DESTDIR)$(PLUGINDIR)/%.so',$(filter objects_%,$(.VARIABLES)))
	$(call remove_empty,$(DESTDIR)$(PLUGINDIR))
.PHONY: plugins install-plugins uninstall-plugins
