# Training on GPUs. As for NCCL only headers and nvcc are needed to build it: cuDNN and
# cuBLAS are found at run time.
ifneq ($(NVCC),)
ifeq ($(shell printf '\043include <cudnn.h>\n\043include <cublas_v2.h>\n' | $(CC) $(CUDA_CFLAGS) -E - >/dev/null 2>&1 && echo yes),yes)
PLUGINS += cudnn
endif
endif
SOURCES_cudnn := $(wildcard plugins/cudnn/*.c)

KERNELS_cudnn := $(addprefix $(O)/pic/plugins/cudnn/kernels.,fatbin ptx)
$(KERNELS_cudnn): $(wildcard plugins/cudnn/kernels_*.h)
$(O)/pic/plugins/cudnn/gpu.o: $(KERNELS_cudnn)
$(call pic,$(SOURCES_cudnn)): ALL_CFLAGS += $(CUDA_CFLAGS) -DKERNELS='"$(O)/pic/plugins/cudnn/kernels"'
$(O)/lib/windsock/cudnn.so: NO_UNDEFINED :=
$(O)/lib/windsock/cudnn.so: $(call pic,$(SOURCES_cudnn) $(SOURCES_cuda)) $(O)/pic/windsock.a
	$(call say,LD,$@)
	$(link_comm) -ldl -lpthread

# Stand-ins that compute on the processor: see tests/fake.
CUDNN_FAKES := $(if $(filter cudnn,$(PLUGINS)),$(addprefix $(O)/fake/,libcudnn.so.9 libcudnn-damaged.so.9 libcublas.so.13))
FAKE_CXX = $(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -I. $(CUDA_CFLAGS) -Wall -Wextra $(SAN_CXX) -O3 -fPIC -shared -fvisibility=hidden
$(O)/fake/libcudnn.so.9 $(O)/fake/libcudnn-damaged.so.9: tests/fake/libcudnn.cc tests/fake/tensors.h $(O)/flags
	$(FAKE_CXX) -Wl,-soname,libcudnn.so.9 $(if $(findstring damaged,$@),-DWITHOUT_GRADIENTS) -o $@ $< -ldl
$(O)/fake/libcublas.so.13: tests/fake/libcublas.cc tests/fake/tensors.h $(O)/flags
	$(FAKE_CXX) -Wl,-soname,libcublas.so.13 -o $@ $< -ldl
fakes: $(CUDNN_FAKES)
