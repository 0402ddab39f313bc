#ifndef PROBES_LOG_GENERATED_H
#define PROBES_LOG_GENERATED_H
/*
 * Text that ranks generate while the model's parameters are spread over them (ZeRO-3, FSDP): each
 * forward pass gathers them, on all ranks, so who has come to its end must go on with the others.
 */
#include "lib/core/base.h"

#define GENERATED_ANCHORS                                                                          \
	"generate(|generation/utils.py|greedy_search|in generate|in _sample|synced_gpus"           \
	"|zero_stage|ZeRO-3|ZeRO stage 3|zero3.|zero3_|_zero3|stage3_|_stage3|stage=3|stage: "     \
	"3|stage\": 3|"                                                                            \
	"partitioned_param|partition_parameters|parameter_offload|FullySharded|fully_shard|"       \
	"_fully_shard/|fsdp/_|FSDP.FULL_SHARD|FULL_SHARD"

struct why;
struct why_stream;
struct log_line;

struct generated {
	bool generates, is_sharded, is_synced;
	char how[16]; /* "ZeRO-3", "FSDP" */
};

void generated_hear(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
