#ifndef PLUGINS_ONEDNN_BUILD_H
#define PLUGINS_ONEDNN_BUILD_H
/* Between the parts of onednn.c: the nodes of a graph as oneDNN's primitives. */
#include "plugins/onednn_conv.h"

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
					 op->unpack,	   op->to_plain, op->from_plain,
					 op->order_x,	   op->order_dy};
	dnnl_memory_t memories[] = {op->plain,	 op->dplain,	   op->shift,		op->dshift,
				    op->outside, op->running_mean, op->running_variance};

	for (size_t i = 0; i < ARRAY_LEN(primitives); i++)
		(void)dnnl_primitive_destroy(primitives[i]);
	for (size_t i = 0; i < ARRAY_LEN(memories); i++)
		(void)dnnl_memory_destroy(memories[i]);
	drop(&op->weights);
	drop(&op->weights_back);
	drop(&op->dweights);
	drop(&op->x_in_order);
	drop(&op->dy_in_order);
	drop(&op->workspace);
	drop(&op->mean);
	drop(&op->variance);
}

#endif
