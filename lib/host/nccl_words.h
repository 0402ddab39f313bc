#ifndef LIB_HOST_NCCL_WORDS_H
#define LIB_HOST_NCCL_WORDS_H
/*
 * How a message quotes NCCL, and what to type where its words are all that is known. Where its
 * meaning is, probes/log/own.h puts that in the place.
 */
#define NCCL_SAYS "NCCL says: "
#define NCCL_ASK "NCCL_DEBUG=INFO ncclbench --backend nccl ... 2>&1 | ncclwhy"

#endif
