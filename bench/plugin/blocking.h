#ifndef BENCH_PLUGIN_BLOCKING_H
#define BENCH_PLUGIN_BLOCKING_H
/*
 * What communicators have in common whose library's calls block (Gloo's, MPI's): a
 * request that was started is finished, or has failed, when the call comes back, so
 * that testing and waiting only tell which. One thread (watch.h) and one failure
 * serve a whole family of them: the one that it began with, its root, and its parts.
 */
#include "bench/plugin/watch.h"

struct blocking {
	struct comm comm;
	struct blocking *root; /* itself, in one that is not a part */

	/* the root's alone */
	struct cards cards;
	struct watch watch;
	char transport[192];
	struct err failure; /* kind ERR_NONE: healthy */
	int culprit;
};

/* On a zeroed one. @cards and @watch are the caller's to fill. */
void blocking_init(struct blocking *b, const struct comm_impl *impl, const struct comm_world *w);
void blocking_init_part(struct blocking *b, struct blocking *from, const struct comm_group *g);
/* What a root holds; of a part nothing. */
void blocking_done(struct blocking *b);

static inline struct blocking *blocking_of(const struct comm *c)
{
	return CONTAINER_OF(c, struct blocking, comm);
}
static inline bool blocking_is_part(const struct blocking *b) { return b->root != b; }
/* -1 with the failure of before. */
int blocking_failed(const struct blocking *b, struct err *e);

/* For struct comm_impl. */
const struct comm_peer *blocking_peer(const struct comm *c, int rank);
const char *blocking_transport(const struct comm *c);
int blocking_test(struct comm *c, bool *ret_finished, struct err *e);
int blocking_wait(struct comm *c, struct err *e);
void blocking_abort(struct comm *c, const char *reason);
int blocking_culprit(const struct comm *c, bool *ret_gone);
#define BLOCKING_IMPL                                                                              \
	.peer = blocking_peer, .transport = blocking_transport, .test = blocking_test,             \
	.wait = blocking_wait, .abort = blocking_abort, .culprit = blocking_culprit

/* And for struct comm_plugin: their buffers are in the host's memory. */
struct dev *blocking_memory(const struct comm_world *w, struct err *e);
#define BLOCKING_PLUGIN(word, probe_it, make)                                                      \
	__attribute__((visibility("default"))) const struct comm_plugin windsock_comm = {          \
		.version = COMM_PLUGIN_VERSION,                                                    \
		.name = (word),                                                                    \
		.probe = (probe_it),                                                               \
		.failed_check = plugin_failed_check,                                               \
		.dev_new = blocking_memory,                                                        \
		.comm_new = (make),                                                                \
	}

#endif
