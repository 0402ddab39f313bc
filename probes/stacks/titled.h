#ifndef PROBES_STACKS_TITLED_H
#define PROBES_STACKS_TITLED_H
/*
 * Of ranks.c: the ranks of engines that hand work to processes of their own and give them a title
 * instead of variables: vLLM's "VLLM::Worker_PP0_TP1", SGLang's "sglang::scheduler_TP3", Ray's
 * "ray::RayTrainWorker" (which has no number: the order of theirs is taken).
 */
#include "probes/stacks/process.h"
#include "probes/stacks/ranks.h"

/* Of @below and those that it started, where it is not 0. Those that are ranks already are not
 * taken. */
void ranks_titled(const struct processes *all, pid_t below, struct arena *a,
		  struct rank_processes *ret);

#endif
