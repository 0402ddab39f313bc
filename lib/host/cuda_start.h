#ifndef LIB_HOST_CUDA_START_H
#define LIB_HOST_CUDA_START_H
/*
 * What helps where CUDA does not start and nvidia-smi, which asks the kernel's part of the driver
 * alone, finds all well.
 */
#include "lib/core/base.h"

/*
 * By what cuInit() returned, into @ret as a fix (lib/core/fix.h); a command ends in a comment. @in:
 * a function of the libcuda that was asked, which is named where another should be.
 */
void cuda_start_fix(int code, const void *in, char *ret, size_t n);

#endif
