#ifndef PLUGINS_ONEDNN_CONV_H
#define PLUGINS_ONEDNN_CONV_H
/* A convolution as oneDNN's primitives. */
#include "plugins/onednn_net.h"

/* What the library would choose, where that needs no padding: it has its place in the caller's. */
static desc_t weights_desc(dnnl_primitive_desc_t fwd, const struct graph_node *node, desc_t plain)
{
	desc_t d = asked(fwd, dnnl_query_weights_md);

	return dnnl_memory_desc_get_size(d) == node->nparams * sizeof(float) ? d : plain;
}

/* The library's plain loops, which are there to be compared with, take a thousand times as long. */
static bool is_reference(dnnl_primitive_desc_t pd)
{
	const char *name = NULL;

	return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
	       name && !strncmp(name, "ref", 3);
}

/*
 * Of images of two pixels by two AVX2's code makes no gradient of weights; as matrices, which want
 * them in order, they are no trouble.
 */
static void prefer_in_order(struct engine_net *n, const struct graph_node *node, struct op *op,
			    const struct window *w, dnnl_primitive_desc_t fwd,
			    dnnl_primitive_desc_t *weights)
{
	struct window in_order = *w;
	dnnl_primitive_desc_t pd = NULL;

	in_order.x = describe(n, n->batch, node->from, node->from_side, dnnl_nchw);
	in_order.y = describe(n, n->batch, node->channels, node->side, dnnl_nchw);
	in_order.weights = describe(n, node->channels, node->from, node->k, dnnl_oihw);
	if (ok(n, dnnl_success) &&
	    conv_back_weights_desc(&pd, n->engine, &in_order, fwd) == dnnl_success &&
	    !is_reference(pd)) {
		make(n, &op->x_in_order, in_order.x);
		make(n, &op->dy_in_order, in_order.y);
		op->order_x = reorder(n, w->x, in_order.x);
		op->order_dy = reorder(n, w->y, in_order.y);
		(void)dnnl_primitive_desc_destroy(*weights);
		*weights = pd;
		pd = NULL;
	}
	(void)dnnl_primitive_desc_destroy(pd);
	desc_free(in_order.x);
	desc_free(in_order.y);
	desc_free(in_order.weights);
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
		if (is_reference(weights))
			prefer_in_order(n, node, op, w, fwd, &weights);
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

#endif
