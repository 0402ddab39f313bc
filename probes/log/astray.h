#ifndef PROBES_LOG_ASTRAY_H
#define PROBES_LOG_ASTRAY_H
/*
 * What hosts were told of a network that is not theirs: an interface that one
 * of them does not have, a Ray node that goes by an address of another network
 * than the head, a driver older than the CUDA of the library on it, another NCCL
 * than the others'. Each line is harmless alone; two of them together say what is wrong.
 */
#include "probes/log/explain.h"

/* A line that says where the head of a Ray cluster is. */
void astray_hear_head(struct why *w, struct why_stream *s, const struct log_line *l);
/* A line that says which CUDA a driver, or NCCL, is of, and which version of NCCL it is. */
void astray_hear_cuda(struct why *w, struct why_stream *s, const struct log_line *l);
void astray(struct why *w, struct arena *a, struct explanation *x);

#endif
