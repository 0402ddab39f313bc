#ifndef BENCH_PLUGIN_GLOO_OPS_H
#define BENCH_PLUGIN_GLOO_OPS_H
/*
 * Gloo, as C can call it: everything C++ is behind this header. Every function
 * that fails returns -1 with Gloo's own words in @why; no exception passes.
 */
#ifdef __cplusplus
extern "C" {
#endif
#include "bench/comm/comm.h"

enum { GLOO_WHY_MAX = 320 };

struct gloo_ops;
struct gloo_ops_world {
	int rank, size;
	const char *address; /* of the interface that carries the data, as text */
	uint64_t timeout_ms;
	/* Collective: gathers a blob of @n bytes from each rank. */
	int (*exchange)(void *arg, const void *mine, size_t n, void *all);
	void *arg;
};

const char *gloo_ops_version(void);
struct gloo_ops *gloo_ops_new(const struct gloo_ops_world *w, char *why, size_t n);
/*
 * Some of @from's ranks, by their numbers there; @w's exchange is not used, they meet over
 * @from. Before it, every rank of @from, also one that is in no part, counts it.
 */
void gloo_ops_count_part(struct gloo_ops *from);
struct gloo_ops *gloo_ops_part(struct gloo_ops *from, const int *members,
			       const struct gloo_ops_world *w, char *why, size_t n);
void gloo_ops_free(struct gloo_ops *g); /* NULL is fine */
/* Returns when the collective is finished on this rank; no wait of its takes more than @most_ms. */
int gloo_ops_run(struct gloo_ops *g, const struct comm_request *q, uint64_t most_ms, char *why,
		 size_t n);
/* From another thread: what is under way fails. */
void gloo_ops_break(struct gloo_ops *g);
/* The rank that Gloo's words are about, by its address in them; -1: it does not say. */
int gloo_ops_blames(const struct gloo_ops *g, const char *why);

#ifdef __cplusplus
}
#endif
#endif
