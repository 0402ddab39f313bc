#ifndef PLUGINS_ONEDNN_BUILD_H
#define PLUGINS_ONEDNN_BUILD_H
/* Between the parts of onednn.c: the nodes of a graph as oneDNN's primitives. */
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

/* --- building -------------------------------------------------------------------------- */

/* What the library would choose, where that needs no padding: it has its place in the caller's. */
static desc_t weights_desc(dnnl_primitive_desc_t fwd, const struct graph_node *node, desc_t plain)
{
	desc_t d = asked(fwd, dnnl_query_weights_md);

	return dnnl_memory_desc_get_size(d) == node->nparams * sizeof(float) ? d : plain;
}

static void build_conv_back(struct engine_net *n, const struct graph_node *node, struct op *op,
			    dnnl_primitive_desc_t fwd, const struct window *w)
{
	dnnl_primitive_desc_t data = NULL, weights = NULL;

	if (node->in && ok(n, conv_back_data_desc(&data, n->engine, w, fwd))) {
		op->back_data = finish(n, data);
		make(n, &op->weights_back, asked(data, dnnl_query_weights_md));
		op->pack_back = reorder(n, op->desc, op->weights_back.desc);
	}
	if (ok(n, conv_back_weights_desc(&weights, n->engine, w, fwd))) {
		op->back_weights = finish(n, weights);
		if (!dnnl_memory_desc_equal(asked(weights, dnnl_query_diff_weights_md), op->desc)) {
			make(n, &op->dweights, asked(weights, dnnl_query_diff_weights_md));
			op->unpack = reorder(n, op->dweights.desc, op->desc);
		}
	}
	(void)dnnl_primitive_desc_destroy(data);
	(void)dnnl_primitive_desc_destroy(weights);
}

static struct window window_of(const struct engine_net *n, const struct graph_node *node)
{
	return (struct window){.x = n->values[node->in].desc,
			       .y = n->values[node - n->g->nodes + 1].desc,
			       .k = {node->k, node->k},
			       .stride = {node->stride, node->stride},
			       .pad = {node->pad, node->pad}};
}

static void build_conv(struct engine_net *n, const struct graph_node *node, struct op *op)
{
	desc_t plain = describe(n, node->channels, node->from, node->k, dnnl_oihw);
	struct window w = window_of(n, node);
	dnnl_primitive_desc_t fwd = NULL;

	w.weights = describe(n, node->channels, node->from, node->k, dnnl_format_tag_any);
	if (ok(n, dnnl_success) && ok(n, conv_desc(&fwd, n->engine, &w))) {
		op->desc = wrap(n, &op->plain, weights_desc(fwd, node, plain), DNNL_MEMORY_NONE);
		(void)wrap(n, &op->dplain, op->desc, DNNL_MEMORY_NONE);
		(void)wrap(n, &op->outside, plain, DNNL_MEMORY_NONE);
		op->forward = finish(n, fwd);
	}
	if (ok(n, dnnl_success)) {
		if (!dnnl_memory_desc_equal(op->desc, asked(fwd, dnnl_query_weights_md))) {
			make(n, &op->weights, asked(fwd, dnnl_query_weights_md));
			op->pack = reorder(n, op->desc, op->weights.desc);
		}
		build_conv_back(n, node, op, fwd, &w);
		op->to_plain = reorder(n, op->desc, plain);
		op->from_plain = reorder(n, plain, op->desc);
	}
	desc_free(plain);
	desc_free(w.weights);
	(void)dnnl_primitive_desc_destroy(fwd);
}

static const float EPSILON = 1e-5f, MOMENTUM = 0.1f;

static void build_norm(struct engine_net *n, const struct graph_node *node, struct op *op)
{
	unsigned flags = dnnl_use_scale | dnnl_use_shift | (node->relu ? dnnl_fuse_norm_relu : 0u);
	dnnl_memory_t *each[] = {&op->plain, &op->dplain, &op->shift, &op->dshift};
	const dnnl_dims_t channels = {node->channels};
	desc_t x = n->values[node->in].desc, plain = NULL;
	dnnl_primitive_desc_t fwd = NULL, infer = NULL, back = NULL;

	if (!ok(n, norm_desc(&fwd, n->engine, dnnl_forward_training, x, EPSILON, flags)))
		return;
	op->forward = finish(n, fwd);
	make(n, &op->mean, dnnl_primitive_desc_query_md(fwd, dnnl_query_dst_md, 1));
	make(n, &op->variance, dnnl_primitive_desc_query_md(fwd, dnnl_query_dst_md, 2));
	if (node->relu)
		make(n, &op->workspace, asked(fwd, dnnl_query_workspace_md));
	if (ok(n, norm_back_desc(&back, n->engine, x, EPSILON, flags, fwd))) {
		op->back_data = finish(n, back);
		op->back_shift = inputs(back) > 5 + node->relu;
	}
	if (ok(n, norm_desc(&infer, n->engine, dnnl_forward_inference, x, EPSILON,
			    flags | dnnl_use_global_stats)))
		op->infer = finish(n, infer);
	(void)ok(n, desc_new(&plain, 1, channels, dnnl_a));
	for (size_t i = 0; i < ARRAY_LEN(each); i++)
		(void)wrap(n, each[i], plain, DNNL_MEMORY_NONE);
	(void)wrap(n, &op->running_mean, op->mean.desc, DNNL_MEMORY_NONE);
	(void)wrap(n, &op->running_variance, op->variance.desc, DNNL_MEMORY_NONE);
	desc_free(plain);
	(void)dnnl_primitive_desc_destroy(fwd);
	(void)dnnl_primitive_desc_destroy(infer);
	(void)dnnl_primitive_desc_destroy(back);
}

static void build_pool(struct engine_net *n, const struct graph_node *node, struct op *op)
{
	const struct window w = window_of(n, node);
	dnnl_primitive_desc_t fwd = NULL, back = NULL;

	if (!ok(n, pool_desc(&fwd, n->engine, &w)))
		return;
	op->forward = finish(n, fwd);
	make(n, &op->workspace, asked(fwd, dnnl_query_workspace_md));
	if (ok(n, pool_back_desc(&back, n->engine, &w, fwd)))
		op->back_data = finish(n, back);
	(void)dnnl_primitive_desc_destroy(fwd);
	(void)dnnl_primitive_desc_destroy(back);
}

/* --- the whole --------------------------------------------------------------------------- */

/* The loops of onednn.c want those in order that they make; one pixel of a convolution's is no
 * reason to leave the layout that it is fast in. */
static dnnl_format_tag_t layout(const struct graph_node *node)
{
	bool is_ours = node->op == GRAPH_MEAN || node->op == GRAPH_DENSE;

	return is_ours ? dnnl_nchw : blocked(node->channels);
}

/* The scratch memory has the size of the largest value. */
static void build_values(struct engine_net *n)
{
	const struct graph *g = n->g;
	const struct graph_node *last = NULL;
	desc_t d = describe(n, n->batch, g->channels, g->side, dnnl_nchw);
	const struct buffer *largest = &n->values[0];

	make(n, &n->values[0], d);
	desc_free(d);
	for (int i = 0; i < g->n && ok(n, dnnl_success); i++) {
		const struct graph_node *node = &g->nodes[i];

		d = describe(n, n->batch, node->channels, node->side, layout(node));
		make(n, &n->values[i + 1], d);
		make(n, &n->diffs[i + 1], d);
		desc_free(d);
		if (ok(n, dnnl_success) && floats(&n->values[i + 1]) > floats(largest))
			largest = &n->values[i + 1];
		last = node->op == GRAPH_MEAN ? node : last;
	}
	make(n, &n->scratch, largest->desc);
	if (!last || !ok(n, dnnl_success))
		return;
	d = describe(n, n->batch, last->from, last->from_side, dnnl_nchw);
	make(n, &n->flat, d);
	desc_free(d);
	n->flatten = reorder(n, n->values[last->in].desc, n->flat.desc);
	n->unflatten = reorder(n, n->flat.desc, n->values[last->in].desc);
}

static bool build(struct engine_net *n)
{
	if (!ok(n, dnnl_engine_create(&n->engine, dnnl_cpu, 0)) ||
	    !ok(n, dnnl_stream_create(&n->stream, n->engine, dnnl_stream_default_flags)))
		return false;
	build_values(n);
	for (int i = 0; i < n->g->n && ok(n, dnnl_success); i++) {
		const struct graph_node *node = &n->g->nodes[i];

		n->failed = i;
		if (node->op == GRAPH_CONV)
			build_conv(n, node, &n->ops[i]);
		else if (node->op == GRAPH_NORM)
			build_norm(n, node, &n->ops[i]);
		else if (node->op == GRAPH_MAXPOOL)
			build_pool(n, node, &n->ops[i]);
	}
	return ok(n, dnnl_success);
}

static void drop_op(struct op *op)
{
	dnnl_primitive_t primitives[] = {op->forward,	   op->infer,	 op->back_data,
					 op->back_weights, op->pack,	 op->pack_back,
					 op->unpack,	   op->to_plain, op->from_plain};
	dnnl_memory_t memories[] = {op->plain,	 op->dplain,	   op->shift,		op->dshift,
				    op->outside, op->running_mean, op->running_variance};

	for (size_t i = 0; i < ARRAY_LEN(primitives); i++)
		(void)dnnl_primitive_destroy(primitives[i]);
	for (size_t i = 0; i < ARRAY_LEN(memories); i++)
		(void)dnnl_memory_destroy(memories[i]);
	drop(&op->weights);
	drop(&op->weights_back);
	drop(&op->dweights);
	drop(&op->workspace);
	drop(&op->mean);
	drop(&op->variance);
}

#endif
