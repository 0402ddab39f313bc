#ifndef BENCH_PLUGIN_GLOO_CALLS_H
#define BENCH_PLUGIN_GLOO_CALLS_H
/* Private to the C++ of this folder: one communicator of Gloo's, and its calls. */
#include <gloo/rendezvous/context.h>

#include <memory>
#include <vector>

#include "bench/plugin/gloo/ops.h"

struct gloo_link {
	int fd, rank;  /* of the peer */
	int own, peer; /* ports */
};

struct gloo_ops {
	std::shared_ptr<gloo::rendezvous::Context> context;
	std::vector<gloo_link> links;
	std::vector<char> scratch; /* for results that only the root keeps */
	uint32_t tag = 0;
	uint32_t parts = 0; /* that were made of it, or of others of its ranks */
};

/* Returns when the collective is finished on this rank; throws what Gloo throws. */
void gloo_call(gloo_ops &g, const comm_request &q);

#endif
