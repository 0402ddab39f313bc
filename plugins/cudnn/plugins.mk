# Training on GPUs. As for NCCL only headers and nvcc are needed to build it: cuDNN and
# cuBLAS are found at run time.
ifeq ($(call for_gpus,plugins/cudnn,cudnn.h cublas_v2.h),yes)
PLUGINS += cudnn
GPU_HEADERS += cudnn.h cublas_v2.h
images: $(call images_of,plugins/cudnn)
endif
SOURCES_cudnn := $(wildcard plugins/cudnn/*.c)
objects_cudnn := $(call pic,$(SOURCES_cudnn) $(SOURCES_cuda))

$(call images_of,plugins/cudnn): $(wildcard plugins/cudnn/kernels_*.h)
$(O)/pic/plugins/cudnn/gpu.o: $(call images_of,plugins/cudnn)
$(call pic,$(SOURCES_cudnn)): ALL_CFLAGS += $(CUDA_CFLAGS) -DKERNELS='"$(IMAGES)/plugins/cudnn/kernels"'
$(O)/lib/windsock/cudnn.so: NO_UNDEFINED :=
$(O)/lib/windsock/cudnn.so: $(objects_cudnn) $(O)/pic/windsock.a
	$(call say,LD,$@)
	$(link_comm) -ldl -lpthread

# Stand-ins that compute on the processor: see tests/fake.
CUDNN_FAKES := $(if $(filter cudnn,$(PLUGINS)),$(addprefix $(O)/fake/,libcudnn.so.9 libcudnn-damaged.so.9 libcublas.so.13))
$(O)/fake/libcudnn.so.9 $(O)/fake/libcudnn-damaged.so.9: tests/fake/libcudnn.cc tests/fake/convolution.h tests/fake/tensors.h $(O)/flags
	$(FAKE_CXX) -Wl,-soname,libcudnn.so.9 $(if $(findstring damaged,$@),-DWITHOUT_GRADIENTS) -o $@ $< -ldl
$(O)/fake/libcublas.so.13: tests/fake/libcublas.cc tests/fake/tensors.h $(O)/flags
	$(FAKE_CXX) -Wl,-soname,libcublas.so.13 -o $@ $< -ldl
fakes: $(CUDNN_FAKES)
