#ifndef PLUGINS_ONEDNN_BUILD_H
#define PLUGINS_ONEDNN_BUILD_H
/* Between the parts of onednn.c: the nodes of a graph as oneDNN's primitives. */
#include "bench/train/engine.h"

#include <dnnl.h>
#include <dnnl_debug.h>

struct buffer {
	dnnl_memory_desc_t desc;
	dnnl_memory_t memory;
	float *p;
};
struct op { /* what a node is for oneDNN */
	dnnl_primitive_t forward, infer, back_data, back_weights;
	dnnl_memory_desc_t desc;     /* of a convolution's weights, as the caller keeps them */
	dnnl_memory_t plain, dplain; /* params and grads there; the handle moves */
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
	if (channels % 16 == 0 && __builtin_cpu_supports("avx512f"))
		return dnnl_nChw16c;
	return channels % 8 == 0 && __builtin_cpu_supports("avx2") ? dnnl_nChw8c : dnnl_nchw;
}

static void describe(struct engine_net *n, dnnl_memory_desc_t *d, int a, int b, int side,
		     dnnl_format_tag_t tag)
{
	const dnnl_dims_t dims = {a, b, side, side};

	(void)ok(n, dnnl_memory_desc_init_by_tag(d, 4, dims, dnnl_f32, tag));
}

static void wrap(struct engine_net *n, dnnl_memory_t *m, const dnnl_memory_desc_t *d, void *p)
{
	(void)ok(n, dnnl_memory_create(m, d, n->engine, p));
}

static void make(struct engine_net *n, struct buffer *b, const dnnl_memory_desc_t *d)
{
	size_t bytes = (dnnl_memory_desc_get_size(d) + 63) / 64 * 64;

	b->desc = *d;
	b->p = aligned_alloc(64, bytes ? bytes : 64);
	if (!b->p) {
		(void)ok(n, dnnl_out_of_memory);
		return;
	}
	memset(b->p, 0, bytes);
	wrap(n, &b->memory, d, b->p);
}

static void drop(struct buffer *b)
{
	if (b->memory)
		(void)dnnl_memory_destroy(b->memory);
	free(b->p);
}

static size_t floats(const struct buffer *b) { return dnnl_memory_desc_get_size(&b->desc) / 4; }

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

static dnnl_primitive_t reorder(struct engine_net *n, const dnnl_memory_desc_t *from,
				const dnnl_memory_desc_t *to)
{
	dnnl_primitive_desc_t pd = NULL;
	dnnl_primitive_t p = NULL;

	if (ok(n, dnnl_reorder_primitive_desc_create(&pd, from, n->engine, to, n->engine, NULL)))
		p = finish(n, pd);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	return p;
}

static const dnnl_memory_desc_t *asked(dnnl_primitive_desc_t pd, dnnl_query_t what)
{
	return dnnl_primitive_desc_query_md(pd, what, 0);
}

/* --- building -------------------------------------------------------------------------- */

/* What the library would choose, where that needs no padding: it has its place in the caller's. */
static const dnnl_memory_desc_t *weights_desc(dnnl_primitive_desc_t fwd,
					      const struct graph_node *node,
					      const dnnl_memory_desc_t *plain)
{
	const dnnl_memory_desc_t *d = asked(fwd, dnnl_query_weights_md);

	return dnnl_memory_desc_get_size(d) == node->nparams * sizeof(float) ? d : plain;
}

static void build_conv_back(struct engine_net *n, const struct graph_node *node, struct op *op,
			    dnnl_primitive_desc_t fwd, const dnnl_memory_desc_t *any)
{
	const dnnl_dims_t stride = {node->stride, node->stride}, pad = {node->pad, node->pad};
	const dnnl_memory_desc_t *x = &n->values[node->in].desc;
	const dnnl_memory_desc_t *y = &n->values[node - n->g->nodes + 1].desc;
	dnnl_primitive_desc_t data = NULL, weights = NULL;
	dnnl_convolution_desc_t d;

	if (node->in &&
	    ok(n, dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, x, any, y,
							   stride, pad, pad)) &&
	    ok(n, dnnl_primitive_desc_create(&data, &d, NULL, n->engine, fwd))) {
		op->back_data = finish(n, data);
		make(n, &op->weights_back, asked(data, dnnl_query_weights_md));
		op->pack_back = reorder(n, &op->desc, &op->weights_back.desc);
	}
	if (ok(n, dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, x, any,
							      NULL, y, stride, pad, pad)) &&
	    ok(n, dnnl_primitive_desc_create(&weights, &d, NULL, n->engine, fwd))) {
		op->back_weights = finish(n, weights);
		if (!dnnl_memory_desc_equal(asked(weights, dnnl_query_diff_weights_md),
					    &op->desc)) {
			make(n, &op->dweights, asked(weights, dnnl_query_diff_weights_md));
			op->unpack = reorder(n, &op->dweights.desc, &op->desc);
		}
	}
	(void)dnnl_primitive_desc_destroy(data);
	(void)dnnl_primitive_desc_destroy(weights);
}

static void build_conv(struct engine_net *n, const struct graph_node *node, struct op *op)
{
	const dnnl_dims_t stride = {node->stride, node->stride}, pad = {node->pad, node->pad};
	const dnnl_memory_desc_t *x = &n->values[node->in].desc;
	const dnnl_memory_desc_t *y = &n->values[node - n->g->nodes + 1].desc;
	dnnl_primitive_desc_t fwd = NULL;
	dnnl_memory_desc_t any, plain;
	dnnl_convolution_desc_t d;

	describe(n, &any, node->channels, node->from, node->k, dnnl_format_tag_any);
	describe(n, &plain, node->channels, node->from, node->k, dnnl_oihw);
	if (!ok(n, dnnl_convolution_forward_desc_init(&d, dnnl_forward_training,
						      dnnl_convolution_direct, x, &any, NULL, y,
						      stride, pad, pad)) ||
	    !ok(n, dnnl_primitive_desc_create(&fwd, &d, NULL, n->engine, NULL)))
		return;
	op->desc = *weights_desc(fwd, node, &plain);
	op->forward = finish(n, fwd);
	if (!dnnl_memory_desc_equal(&op->desc, asked(fwd, dnnl_query_weights_md))) {
		make(n, &op->weights, asked(fwd, dnnl_query_weights_md));
		op->pack = reorder(n, &op->desc, &op->weights.desc);
	}
	build_conv_back(n, node, op, fwd, &any);
	op->to_plain = reorder(n, &op->desc, &plain);
	op->from_plain = reorder(n, &plain, &op->desc);
	wrap(n, &op->plain, &op->desc, DNNL_MEMORY_NONE);
	wrap(n, &op->dplain, &op->desc, DNNL_MEMORY_NONE);
	wrap(n, &op->outside, &plain, DNNL_MEMORY_NONE);
	(void)dnnl_primitive_desc_destroy(fwd);
}

static const float EPSILON = 1e-5f, MOMENTUM = 0.1f;

static void build_norm(struct engine_net *n, const struct graph_node *node, struct op *op)
{
	unsigned flags = dnnl_use_scaleshift | (node->relu ? dnnl_fuse_norm_relu : 0u);
	const dnnl_memory_desc_t *x = &n->values[node->in].desc;
	const dnnl_dims_t pair = {2, node->channels};
	dnnl_primitive_desc_t fwd = NULL, infer = NULL, back = NULL;
	dnnl_batch_normalization_desc_t d;
	dnnl_memory_desc_t plain;

	if (!ok(n, dnnl_batch_normalization_forward_desc_init(&d, dnnl_forward_training, x, EPSILON,
							      flags)) ||
	    !ok(n, dnnl_primitive_desc_create(&fwd, &d, NULL, n->engine, NULL)))
		return;
	op->forward = finish(n, fwd);
	make(n, &op->mean, dnnl_primitive_desc_query_md(fwd, dnnl_query_dst_md, 1));
	make(n, &op->variance, dnnl_primitive_desc_query_md(fwd, dnnl_query_dst_md, 2));
	if (node->relu)
		make(n, &op->workspace, asked(fwd, dnnl_query_workspace_md));
	if (ok(n, dnnl_batch_normalization_backward_desc_init(&d, dnnl_backward, x, x, EPSILON,
							      flags)) &&
	    ok(n, dnnl_primitive_desc_create(&back, &d, NULL, n->engine, fwd)))
		op->back_data = finish(n, back);
	if (ok(n, dnnl_batch_normalization_forward_desc_init(&d, dnnl_forward_inference, x, EPSILON,
							     flags | dnnl_use_global_stats)) &&
	    ok(n, dnnl_primitive_desc_create(&infer, &d, NULL, n->engine, NULL)))
		op->infer = finish(n, infer);
	(void)ok(n, dnnl_memory_desc_init_by_tag(&plain, 2, pair, dnnl_f32, dnnl_nc));
	wrap(n, &op->plain, &plain, DNNL_MEMORY_NONE);
	wrap(n, &op->dplain, &plain, DNNL_MEMORY_NONE);
	wrap(n, &op->running_mean, &op->mean.desc, DNNL_MEMORY_NONE);
	wrap(n, &op->running_variance, &op->variance.desc, DNNL_MEMORY_NONE);
	(void)dnnl_primitive_desc_destroy(fwd);
	(void)dnnl_primitive_desc_destroy(infer);
	(void)dnnl_primitive_desc_destroy(back);
}

static void build_pool(struct engine_net *n, const struct graph_node *node, struct op *op)
{
	const dnnl_dims_t stride = {node->stride, node->stride}, pad = {node->pad, node->pad};
	const dnnl_dims_t k = {node->k, node->k};
	const dnnl_memory_desc_t *x = &n->values[node->in].desc;
	const dnnl_memory_desc_t *y = &n->values[node - n->g->nodes + 1].desc;
	dnnl_primitive_desc_t fwd = NULL, back = NULL;
	dnnl_pooling_desc_t d;

	if (!ok(n, dnnl_pooling_forward_desc_init(&d, dnnl_forward_training, dnnl_pooling_max, x, y,
						  stride, k, pad, pad)) ||
	    !ok(n, dnnl_primitive_desc_create(&fwd, &d, NULL, n->engine, NULL)))
		return;
	op->forward = finish(n, fwd);
	make(n, &op->workspace, asked(fwd, dnnl_query_workspace_md));
	if (ok(n,
	       dnnl_pooling_backward_desc_init(&d, dnnl_pooling_max, x, y, stride, k, pad, pad)) &&
	    ok(n, dnnl_primitive_desc_create(&back, &d, NULL, n->engine, fwd)))
		op->back_data = finish(n, back);
	(void)dnnl_primitive_desc_destroy(fwd);
	(void)dnnl_primitive_desc_destroy(back);
}

/* --- the whole --------------------------------------------------------------------------- */

static void build_values(struct engine_net *n)
{
	const struct graph *g = n->g;
	const struct graph_node *last = NULL;
	dnnl_memory_desc_t d, largest;

	describe(n, &d, n->batch, g->channels, g->side, dnnl_nchw);
	make(n, &n->values[0], &d);
	largest = d;
	for (int i = 0; i < g->n; i++) {
		const struct graph_node *node = &g->nodes[i];

		describe(n, &d, n->batch, node->channels, node->side,
			 node->side > 1 ? blocked(node->channels) : dnnl_nchw);
		make(n, &n->values[i + 1], &d);
		make(n, &n->diffs[i + 1], &d);
		if (dnnl_memory_desc_get_size(&d) > dnnl_memory_desc_get_size(&largest))
			largest = d;
		last = node->op == GRAPH_MEAN ? node : last;
	}
	make(n, &n->scratch, &largest);
	if (!last)
		return;
	describe(n, &d, n->batch, last->from, last->from_side, dnnl_nchw);
	make(n, &n->flat, &d);
	n->flatten = reorder(n, &n->values[last->in].desc, &d);
	n->unflatten = reorder(n, &d, &n->values[last->in].desc);
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
	dnnl_memory_t memories[] = {op->plain, op->dplain, op->outside, op->running_mean,
				    op->running_variance};

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
