# A second of work on each GPU, for windsock. As for NCCL only headers and nvcc are needed to
# build it: the driver, and cuBLAS where there is one, are found at run time.
ifeq ($(call for_gpus,plugins/burst,cuda.h),yes)
PLUGINS += burst
GPU_HEADERS += cuda.h
images: $(call images_of,plugins/burst)
endif
SOURCES_burst := $(wildcard plugins/burst/*.c)
objects_burst := $(call pic,$(SOURCES_burst))

$(call images_of,plugins/burst): plugins/burst/kinds.h
$(O)/pic/plugins/burst/burst.o: $(call images_of,plugins/burst)
$(call pic,$(SOURCES_burst)): ALL_CFLAGS += $(CUDA_CFLAGS) -DBURST_KERNELS='"$(IMAGES)/plugins/burst/kernels"'
$(O)/lib/windsock/burst.so: $(objects_burst) $(O)/pic/windsock.a
	$(call say,LD,$@)
	$(link_comm) -ldl -lm

# Stand-ins: NVIDIA's management library says what a file says; the driver only moves its clock.
BURST_FAKES := $(O)/fake/nvml/libnvidia-ml.so.1 $(if $(filter burst,$(PLUGINS)),$(O)/fake/burst/libcuda.so.1)
$(O)/fake/nvml/libnvidia-ml.so.1: tests/fake/libnvml.c lib/host/nvml_abi.h $(O)/flags
	$(FAKE_CC) -fvisibility=hidden -Wl,-soname,libnvidia-ml.so.1 -o $@ $<
$(O)/fake/burst/libcuda.so.1: tests/fake/libcuda_burst.cc plugins/burst/kernels.cu plugins/burst/kinds.h $(O)/flags
	$(FAKE_CXX) -Wl,-soname,libcuda.so.1 -o $@ $<
fakes: $(BURST_FAKES)
