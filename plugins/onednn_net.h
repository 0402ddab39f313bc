#ifndef PLUGINS_ONEDNN_NET_H
#define PLUGINS_ONEDNN_NET_H
/* Between the parts of onednn.c: a network as oneDNN's memory and primitives, and what they are
 * made and run with. */
#include "bench/train/engine.h"

#include "plugins/onednn_versions.h"
#include <dnnl_debug.h>

struct buffer {
	desc_t desc; /* the memory's */
	dnnl_memory_t memory;
	float *p;
};
struct op { /* what a node is for oneDNN */
	dnnl_primitive_t forward, infer, back_data, back_weights;
	desc_t desc;		     /* of a convolution's weights, as the caller keeps them */
	dnnl_memory_t plain, dplain; /* params and grads there; the handle moves */
	dnnl_memory_t shift, dshift; /* a normalization's, behind its scales */
	bool back_shift;	     /* its backward pass takes the first of these, too */
	struct buffer weights, weights_back, dweights; /* what a pass wants them to be ... */
	dnnl_primitive_t pack, pack_back, unpack;      /* ... and how; NULL: the same */
	/* What a convolution's back_weights wants to see, where it is not what the others do. */
	struct buffer x_in_order, dy_in_order;
	dnnl_primitive_t order_x, order_dy;
	dnnl_primitive_t to_plain, from_plain;
	dnnl_memory_t outside; /* in PyTorch's layout */
	struct buffer workspace, mean, variance;
	dnnl_memory_t running_mean, running_variance;
};
struct engine_net {
	const struct graph *g;
	int batch;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	struct buffer values[GRAPH_NODES_MAX + 1], diffs[GRAPH_NODES_MAX + 1];
	bool has_diff[GRAPH_NODES_MAX + 1];
	struct buffer scratch; /* a gradient that is to be added */
	struct buffer flat;    /* the last image, plain, for the mean */
	dnnl_primitive_t flatten, unflatten;
	struct op ops[GRAPH_NODES_MAX];
	dnnl_status_t status; /* the first that was not success */
	int failed;	      /* the node */
	char text[96];
};

/* --- small things --------------------------------------------------------------------- */

static bool ok(struct engine_net *n, dnnl_status_t st)
{
	if (st != dnnl_success && n->status == dnnl_success) {
		n->status = st;
		(void)snprintf(n->text, sizeof(n->text), "oneDNN failed at node %d: %s", n->failed,
			       st == dnnl_out_of_memory ? "no memory" : dnnl_status2str(st));
	}
	return n->status == dnnl_success;
}

static dnnl_format_tag_t blocked(int channels)
{
#ifdef __x86_64__ /* the question is nobody else's */
	if (channels % 16 == 0 && __builtin_cpu_supports("avx512f"))
		return dnnl_nChw16c;
	if (channels % 8 == 0 && __builtin_cpu_supports("avx2"))
		return dnnl_nChw8c;
#endif
	(void)channels;
	return dnnl_nchw;
}

/* For the caller to desc_free(). */
static desc_t describe(struct engine_net *n, int a, int b, int side, dnnl_format_tag_t tag)
{
	const dnnl_dims_t dims = {a, b, side, side};
	desc_t d = NULL;

	(void)ok(n, desc_new(&d, 4, dims, tag));
	return d;
}

static desc_t wrap(struct engine_net *n, dnnl_memory_t *m, desc_t d, void *p)
{
	desc_t own = NULL;

	if (ok(n, dnnl_success) && ok(n, dnnl_memory_create(m, d, n->engine, p)))
		(void)ok(n, dnnl_memory_get_memory_desc(*m, &own));
	return own;
}

static void make(struct engine_net *n, struct buffer *b, desc_t d)
{
	size_t bytes;

	if (!ok(n, d ? dnnl_success : dnnl_invalid_arguments))
		return;
	bytes = (dnnl_memory_desc_get_size(d) + 63) / 64 * 64;
	b->p = aligned_alloc(64, bytes ? bytes : 64);
	if (!b->p) {
		(void)ok(n, dnnl_out_of_memory);
		return;
	}
	memset(b->p, 0, bytes);
	b->desc = wrap(n, &b->memory, d, b->p);
}

static void drop(struct buffer *b)
{
	if (b->memory)
		(void)dnnl_memory_destroy(b->memory);
	free(b->p);
}

static size_t floats(const struct buffer *b) { return dnnl_memory_desc_get_size(b->desc) / 4; }

static void set(dnnl_memory_t m, const float *p)
{
	(void)dnnl_memory_set_data_handle(m, (void *)(uintptr_t)p);
}

static void run(struct engine_net *n, dnnl_primitive_t p, const dnnl_exec_arg_t *args, int nargs)
{
	if (ok(n, dnnl_success))
		(void)ok(n, dnnl_primitive_execute(p, n->stream, nargs, args));
}
#define RUN(n, p, ...)                                                                             \
	run((n), (p), (const dnnl_exec_arg_t[]){__VA_ARGS__},                                      \
	    (int)(sizeof((dnnl_exec_arg_t[]){__VA_ARGS__}) / sizeof(dnnl_exec_arg_t)))

static dnnl_primitive_t finish(struct engine_net *n, dnnl_primitive_desc_t pd)
{
	dnnl_primitive_t p = NULL;

	(void)(ok(n, dnnl_success) && ok(n, dnnl_primitive_create(&p, pd)));
	return p;
}

static dnnl_primitive_t reorder(struct engine_net *n, desc_t from, desc_t to)
{
	dnnl_primitive_desc_t pd = NULL;
	dnnl_primitive_t p = NULL;

	if (ok(n, dnnl_success) &&
	    ok(n, dnnl_reorder_primitive_desc_create(&pd, from, n->engine, to, n->engine, NULL)))
		p = finish(n, pd);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	return p;
}

static desc_t asked(dnnl_primitive_desc_t pd, dnnl_query_t what)
{
	return dnnl_primitive_desc_query_md(pd, what, 0);
}

/* Some releases refuse one more than they have a use for, others one less. */
static int inputs(dnnl_primitive_desc_t pd)
{
	int n = 0;

	return dnnl_primitive_desc_query(pd, dnnl_query_num_of_inputs_s32, 0, &n) == dnnl_success
		       ? n
		       : 0;
}

#endif
