#ifndef PLUGINS_BURST_KINDS_H
#define PLUGINS_BURST_KINDS_H
/* What an operand's elements are: between product.c, which asks, and kernels.cu, which fills. */
enum { KIND_FP32, KIND_BF16, KIND_FP16 };

#endif
