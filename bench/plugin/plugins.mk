# Communicators that need somebody's library. Each is a folder here; its sources,
# and what of this program it uses, are compiled as position-independent code.
PIC_SRC  := lib/core/arena.c lib/core/err.c lib/core/file.c lib/core/fix.c lib/core/quote.c lib/core/text.c \
            lib/core/units.c lib/core/wait.c \
            lib/host/answers.c lib/host/cgroup.c lib/host/cuda_start.c lib/host/memory.c lib/host/nccl_alike.c lib/host/nccl_channel.c lib/host/places.c lib/host/python.c lib/host/rdma.c lib/host/sysroot.c lib/net/addr.c bench/comm/comm.c bench/comm/place.c bench/comm/reduce.c \
            bench/comm/types.c bench/dev/dev_host.c bench/dev/pattern.c \
            $(wildcard bench/plugin/*.c)
pic       = $(patsubst %,$(O)/pic/%.o,$(basename $(1)))
CXX      ?= g++
CXXFLAGS ?= $(CFLAGS)
# What clang checks in C++ alone needs a runtime that our programs, which are C, have not.
SAN_CXX   = $(SANFLAG) $(if $(and $(SAN),$(findstring clang,$(CXX))),-fno-sanitize=vptr -fno-sanitize=function)
PIC       = -fPIC -fvisibility=hidden -MMD -MP -c

# Gloo is C++, and so is its plug-in alone.
ifeq ($(call has_header,gloo/config.h),yes)
COMM_PLUGINS += $(if $(shell command -v $(CXX)),gloo)
endif
SOURCES_gloo := $(wildcard bench/plugin/gloo/*.c bench/plugin/gloo/*.cc)
objects_gloo := $(call pic,$(SOURCES_gloo))
LIBS_gloo    := -lgloo

# Both MPIs have an mpi.h, and the two are not the same.
OPENMPI_CFLAGS ?= $(filter -I%,$(shell pkg-config --silence-errors --cflags ompi-c))
# (Open MPI 6 keeps what MPI_ERRORS_RETURN and its like are in a library of its own.)
OPENMPI_LIBS   ?= $(filter -L% -lmpi -lopen_mpi,$(shell pkg-config --silence-errors --libs ompi-c))
MPICH_CFLAGS   ?= $(filter -I%,$(shell pkg-config --silence-errors --cflags mpich))
MPICH_LIBS     ?= $(filter -L% -lmpich -lmpi,$(shell pkg-config --silence-errors --libs mpich))
COMM_PLUGINS   += $(if $(OPENMPI_LIBS),mpi-openmpi) $(if $(MPICH_LIBS),mpi-mpich)
SOURCES_mpi    := $(wildcard bench/plugin/mpi/*.c)
objects_mpi-openmpi := $(SOURCES_mpi:%.c=$(O)/pic/openmpi/%.o)
objects_mpi-mpich   := $(SOURCES_mpi:%.c=$(O)/pic/mpich/%.o)

# Only headers and nvcc are needed to build for GPUs: NVIDIA's libraries are found at run time.
# Where nvcc is not, or compiles nothing, IMAGES=DIR has what `make images IMAGES=DIR` made
# elsewhere, for any processor and C library.
NVCC        ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
IMAGES      ?= $(O)/pic
NVCC_SAYS   := $(if $(NVCC),$(shell bench/plugin/ask-nvcc '$(O)/nvcc.asked' $(NVCC)))
NVCC_WORKS  := $(if $(filter works,$(firstword $(NVCC_SAYS))),$(NVCC) $(filter -allow%,$(NVCC_SAYS)))
NVCCFLAGS   ?= $(filter -arch% -gencode%,$(NVCC_SAYS))
# (NVCC may be several words, as with ccache, or found on the PATH.)
NVCC_PATH   := $(lastword $(NVCC))
NVCC_HOME   := $(patsubst %/bin/nvcc,%,$(or $(if $(NVCC_PATH),$(shell command -v $(NVCC_PATH))),$(NVCC_PATH)))
GPU_HOME     = $(if $(NVCC_WORKS),$(NVCC_HOME),$(IMAGES))
# (/usr/include is where it is: once more, and earlier, it is in the way of C++'s own headers.)
CUDA_CFLAGS ?= $(if $(filter /usr,$(GPU_HOME)),,-isystem $(GPU_HOME)/include)
images_of    = $(addprefix $(IMAGES)/$(1)/kernels.,fatbin ptx)
for_gpus     = $(and $(or $(NVCC_WORKS),$(wildcard $(call images_of,$(1)))),$(call has_header,$(2),$(CUDA_CFLAGS)))
SOURCES_cuda := $(wildcard bench/plugin/cuda/*.c)
SOURCES_nccl := $(wildcard bench/plugin/nccl/*.c)
objects_nccl := $(call pic,$(SOURCES_nccl) $(SOURCES_cuda))
ifeq ($(call for_gpus,bench/plugin/nccl,cuda.h nccl.h),yes)
COMM_PLUGINS += nccl
GPU_HEADERS  += cuda.h nccl.h
images: $(call images_of,bench/plugin/nccl)
endif

COMM_LEFT_OUT = $(filter-out $(COMM_PLUGINS),gloo mpi-openmpi mpi-mpich nccl)
PLUGINS += $(COMM_PLUGINS)

$(O)/pic/%.o: %.c $(O)/flags
	$(call say,PIC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(PIC) -o $@ $<
$(O)/pic/%.o: %.cc $(O)/flags
	$(call say,C++,$<)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -Wall -Wextra $(if $(WERROR),-Werror) -I. $(SAN_CXX) $(CXXFLAGS) $(PIC) -o $@ $<
$(O)/pic/windsock.a: $(call pic,$(PIC_SRC)) bench/plugin/plugins.mk
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

# Lazy, so that a symbol that an older library lacks matters only where it is used.
NO_UNDEFINED = $(if $(SAN),,-Wl,--no-undefined)
LINKER = $(CC)
link_comm = $(Q)mkdir -p $(@D) && $(LINKER) $(SANFLAG) $(LDFLAGS) -shared $(NO_UNDEFINED) -Wl,-z,lazy -Wl,--as-needed \
            -o $@ $(filter %.o,$^) $(O)/pic/windsock.a
$(O)/lib/windsock/gloo.so: LINKER = $(CXX)
$(O)/lib/windsock/gloo.so: $(objects_gloo) $(O)/pic/windsock.a
	$(call say,LD,$@)
	$(link_comm) $(LIBS_gloo) -lpthread

$(O)/pic/openmpi/%.o: %.c $(O)/flags
	$(call say,PIC,"$< (Open MPI)")
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(OPENMPI_CFLAGS) -DMPI_FLAVOUR='"Open MPI"' $(PIC) -o $@ $<
$(O)/pic/mpich/%.o: %.c $(O)/flags
	$(call say,PIC,"$< (MPICH)")
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(MPICH_CFLAGS) -DMPI_FLAVOUR='"MPICH"' $(PIC) -o $@ $<
$(O)/lib/windsock/mpi-openmpi.so: $(objects_mpi-openmpi) $(O)/pic/windsock.a
	$(call say,LD,$@)
	$(link_comm) $(OPENMPI_LIBS) -ldl -lpthread
$(O)/lib/windsock/mpi-mpich.so: NO_UNDEFINED := # its library has another name at each vendor's
$(O)/lib/windsock/mpi-mpich.so: $(objects_mpi-mpich) $(O)/pic/windsock.a
	$(call say,LD,$@)
	$(link_comm) -ldl -lpthread

# Kernels (bench/plugin/image.h): code for the GPUs that nvcc knows, and the same as early PTX.
# The assembler says whether that keeps to what its version had.
ifneq ($(NVCC_WORKS),)
$(IMAGES)/%.fatbin: %.cu
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(NVCC_WORKS) --fatbin $(NVCCFLAGS) -I. $(if $(WERROR),-Werror all-warnings) -o $@ $<
$(IMAGES)/%.ptx: %.cu
	$(call say,PTX,$<)
	$(Q)mkdir -p $(@D) && $(NVCC_WORKS) --ptx -arch=compute_75 -I. -o $@ $< && \
	  sed -i 's/^\.version .*/.version 6.0/; s/^\.target .*/.target sm_60/' $@ && \
	  $(NVCC_WORKS) --cubin -arch=sm_75 -o $@.cubin $@ && rm $@.cubin
endif

# All that IMAGES=DIR needs: also those of NVIDIA's headers that a compiler here reads.
images:
	$(Q)$(CC) $(CUDA_CFLAGS) $(GPU_HEADERS:%=-include %) -M -xc /dev/null | tr -s ' \\' '\n' | grep ^/ | \
	  xargs grep -ls NVIDIA | while read -r file; do install -D -m 644 "$$file" \
	  $(IMAGES)/include/"$$(echo "$$file" | sed 's|.*/include/||; s|^[^/]*-linux-gnu/||')"; done
.PHONY: images

$(O)/pic/bench/plugin/nccl/pattern.o: $(call images_of,bench/plugin/nccl)
$(call pic,$(SOURCES_cuda)): ALL_CFLAGS += $(CUDA_CFLAGS)
$(call pic,$(SOURCES_nccl)): ALL_CFLAGS += $(CUDA_CFLAGS) -DKERNELS='"$(IMAGES)/bench/plugin/nccl/kernels"'
$(O)/lib/windsock/nccl.so: NO_UNDEFINED :=
$(O)/lib/windsock/nccl.so: $(objects_nccl) $(O)/pic/windsock.a
	$(call say,LD,$@)
	$(link_comm) -ldl -lpthread

# Stand-ins for the driver and NCCL, for tests of error paths without a GPU. They compute on the
# processor, which is most of what their tests take: as fast as this one can, since they run here
# alone, and to the same bits (no product is fused with its sum).
native := $(shell $(CXX) -march=native -E -x c++ /dev/null >/dev/null 2>&1 && echo -march=native)
FAKE_FLAGS = -I. -Wall -Wextra -O3 $(native) -ffp-contract=off -fPIC -shared
FAKE_CXX = $(Q)mkdir -p $(@D) && $(CXX) -std=c++17 $(CUDA_CFLAGS) $(SAN_CXX) $(FAKE_FLAGS) -fvisibility=hidden
FAKE_CC = $(Q)mkdir -p $(@D) && $(CC) $(STD) $(CUDA_CFLAGS) $(SANFLAG) $(FAKE_FLAGS)
FAKES := $(if $(filter nccl,$(COMM_PLUGINS)),$(addprefix $(O)/fake/,libcuda.so.1 libnccl.so.2 libnccl-damaged.so.2 libnccl-old.so.2))
$(O)/fake/libcuda.so.1: tests/fake/libcuda.cc tests/fake/libcuda_memory.cc tests/fake/libcuda_graph.cc tests/fake/engine_kernels.cc tests/fake/kernels.h tests/fake/libcuda.h bench/plugin/nccl/kernels.cu $(wildcard plugins/cudnn/kernels*) $(O)/flags
	$(FAKE_CXX) -Wl,-soname,libcuda.so.1 -o $@ $(filter %.cc,$^)
$(O)/fake/libnccl.so.2 $(O)/fake/libnccl-damaged.so.2 $(O)/fake/libnccl-old.so.2: tests/fake/libnccl.c tests/fake/libnccl_ops.c tests/fake/libnccl_carry.c tests/fake/libnccl_graph.c tests/fake/libnccl_newer.c tests/fake/libnccl.h bench/comm/reduce.c bench/comm/types.c $(O)/flags
	$(FAKE_CC) -Wl,-soname,libnccl.so.2 $(if $(findstring damaged,$@),-DWITHOUT_ABORT) \
	  $(if $(findstring old,$@),-DOLD) -o $@ $(filter %.c,$^)
# With PYTHONPATH=$(O)/fake its PyTorch has no packages, whatever the machine's own has: the
# loader's path is next, and so the stand-ins are.
fakes: $(FAKES)
	$(Q)mkdir -p $(O)/fake/torch/lib
unit: fakes
.PHONY: fakes
