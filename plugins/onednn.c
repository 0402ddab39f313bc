/*
 * The training engine for larger networks: convolution, batch normalization and
 * pooling by oneDNN 2 or 3, the rest here. Activations keep the blocked layout that
 * the processor's vectors want from the first convolution to the last; weights
 * change between that and PyTorch's.
 */
#include "plugins/onednn_build.h"
#include "plugins/onednn_loops.h"

/* --- forward ------------------------------------------------------------------------------ */

static void conv_forward(struct engine_net *n, int i, const float *params)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];

	set(op->plain, params + node->first);
	if (op->pack)
		RUN(n, op->pack, {DNNL_ARG_FROM, op->plain}, {DNNL_ARG_TO, op->weights.memory});
	RUN(n, op->forward, {DNNL_ARG_SRC, n->values[node->in].memory},
	    {DNNL_ARG_WEIGHTS, op->pack ? op->weights.memory : op->plain},
	    {DNNL_ARG_DST, n->values[i + 1].memory});
}

/* As PyTorch: the running variance is the unbiased one. */
static void move_stats(struct engine_net *n, const struct graph_node *node, const struct op *op,
		       float *stats)
{
	float samples = (float)n->batch * (float)(node->side * node->side);
	float unbiased = samples > 1 ? samples / (samples - 1) : 1;

	for (int c = 0; c < node->channels; c++) {
		float *mean = stats + c, *variance = stats + node->channels + c;

		*mean += MOMENTUM * (op->mean.p[c] - *mean);
		*variance += MOMENTUM * (op->variance.p[c] * unbiased - *variance);
	}
}

static void norm_forward(struct engine_net *n, int i, const float *params, float *stats,
			 bool is_training)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];
	dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, n->values[node->in].memory},
				  {DNNL_ARG_DST, n->values[i + 1].memory},
				  {DNNL_ARG_SCALE, op->plain},
				  {DNNL_ARG_SHIFT, op->shift},
				  {DNNL_ARG_MEAN, op->mean.memory},
				  {DNNL_ARG_VARIANCE, op->variance.memory},
				  {DNNL_ARG_WORKSPACE, op->workspace.memory}};

	set(op->plain, params + node->first);
	set(op->shift, params + node->first + node->channels);
	if (!is_training) {
		set(op->running_mean, stats + node->stats);
		set(op->running_variance, stats + node->stats + node->channels);
		args[4].memory = op->running_mean;
		args[5].memory = op->running_variance;
	}
	run(n, is_training ? op->forward : op->infer, args, is_training && node->relu ? 7 : 6);
	if (is_training)
		move_stats(n, node, op, stats + node->stats);
}

static void add_forward(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];

	sum(n->values[i + 1].p, n->values[node->in].p, n->values[node->other].p,
	    floats(&n->values[i + 1]), node->relu);
}

static void mean_forward(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	int area = node->from_side * node->from_side;

	RUN(n, n->flatten, {DNNL_ARG_FROM, n->values[node->in].memory},
	    {DNNL_ARG_TO, n->flat.memory});
	for (int k = 0; k < n->batch * node->channels; k++) {
		float sum = 0;

		for (int p = 0; p < area; p++)
			sum += n->flat.p[k * area + p];
		n->values[i + 1].p[k] = sum / (float)area;
	}
}

static void dense_forward(struct engine_net *n, int i, const float *params)
{
	const struct graph_node *node = &n->g->nodes[i];
	const float *w = params + node->first, *bias = w + node->channels * node->from;

	for (int s = 0; s < n->batch; s++)
		for (int o = 0; o < node->channels; o++) {
			const float *x = n->values[node->in].p + s * node->from;
			float sum = bias[o];

			for (int k = 0; k < node->from; k++)
				sum += x[k] * w[o * node->from + k];
			n->values[i + 1].p[s * node->channels + o] = sum;
		}
}

static const float *forward(struct engine_net *n, const float *params, float *stats,
			    bool is_training)
{
	for (int i = 0; i < n->g->n; i++) {
		const struct graph_node *node = &n->g->nodes[i];

		n->failed = ok(n, dnnl_success) ? i : n->failed;
		switch (node->op) {
		case GRAPH_CONV:
			conv_forward(n, i, params);
			break;
		case GRAPH_NORM:
			norm_forward(n, i, params, stats, is_training);
			break;
		case GRAPH_MAXPOOL:
			RUN(n, n->ops[i].forward, {DNNL_ARG_SRC, n->values[node->in].memory},
			    {DNNL_ARG_DST, n->values[i + 1].memory},
			    {DNNL_ARG_WORKSPACE, n->ops[i].workspace.memory});
			break;
		case GRAPH_ADD:
			add_forward(n, i);
			break;
		case GRAPH_MEAN:
			mean_forward(n, i);
			break;
		case GRAPH_DENSE:
			dense_forward(n, i, params);
		}
	}
	return n->values[n->g->n].p;
}

/* --- backward ----------------------------------------------------------------------------- */

/* Where the gradient of a value is written: what is there already is added to it afterwards. */
static struct buffer begin_diff(struct engine_net *n, int value)
{
	struct buffer to = n->diffs[value];

	if (n->has_diff[value]) { /* shaped like it, in the scratch memory */
		to.p = n->scratch.p;
		(void)dnnl_memory_set_data_handle(n->diffs[value].memory, to.p);
	}
	return to;
}

static void end_diff(struct engine_net *n, int value)
{
	struct buffer *d = &n->diffs[value];

	if (n->has_diff[value]) {
		(void)dnnl_memory_set_data_handle(d->memory, d->p);
		add(d->p, n->scratch.p, floats(d));
	}
	n->has_diff[value] = true;
}

static void conv_back(struct engine_net *n, int i, const float *params, float *grads)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];
	dnnl_memory_t x = n->values[node->in].memory, dy = n->diffs[i + 1].memory;

	set(op->dplain, grads + node->first);
	if (op->order_x) {
		RUN(n, op->order_x, {DNNL_ARG_FROM, x}, {DNNL_ARG_TO, op->x_in_order.memory});
		RUN(n, op->order_dy, {DNNL_ARG_FROM, dy}, {DNNL_ARG_TO, op->dy_in_order.memory});
	}
	RUN(n, op->back_weights, {DNNL_ARG_SRC, op->order_x ? op->x_in_order.memory : x},
	    {DNNL_ARG_DIFF_DST, op->order_x ? op->dy_in_order.memory : dy},
	    {DNNL_ARG_DIFF_WEIGHTS, op->unpack ? op->dweights.memory : op->dplain});
	if (op->unpack)
		RUN(n, op->unpack, {DNNL_ARG_FROM, op->dweights.memory}, {DNNL_ARG_TO, op->dplain});
	if (!op->back_data)
		return;
	set(op->plain, params + node->first);
	RUN(n, op->pack_back, {DNNL_ARG_FROM, op->plain}, {DNNL_ARG_TO, op->weights_back.memory});
	(void)begin_diff(n, node->in);
	RUN(n, op->back_data, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, op->weights_back.memory},
	    {DNNL_ARG_DIFF_SRC, n->diffs[node->in].memory});
	end_diff(n, node->in);
}

static void norm_back(struct engine_net *n, int i, const float *params, float *grads)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];

	set(op->plain, params + node->first);
	set(op->dplain, grads + node->first);
	set(op->shift, params + node->first + node->channels);
	set(op->dshift, grads + node->first + node->channels);
	(void)begin_diff(n, node->in);
	dnnl_exec_arg_t args[10] = {{DNNL_ARG_SRC, n->values[node->in].memory},
				    {DNNL_ARG_DIFF_DST, n->diffs[i + 1].memory},
				    {DNNL_ARG_MEAN, op->mean.memory},
				    {DNNL_ARG_VARIANCE, op->variance.memory},
				    {DNNL_ARG_SCALE, op->plain},
				    {DNNL_ARG_DIFF_SRC, n->diffs[node->in].memory},
				    {DNNL_ARG_DIFF_SCALE, op->dplain},
				    {DNNL_ARG_DIFF_SHIFT, op->dshift}};
	int count = 8;

	if (node->relu)
		args[count++] = (dnnl_exec_arg_t){DNNL_ARG_WORKSPACE, op->workspace.memory};
	if (op->back_shift)
		args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SHIFT, op->shift};
	run(n, op->back_data, args, count);
	end_diff(n, node->in);
}

static void pool_back(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];

	(void)begin_diff(n, node->in);
	RUN(n, n->ops[i].back_data, {DNNL_ARG_DIFF_DST, n->diffs[i + 1].memory},
	    {DNNL_ARG_DIFF_SRC, n->diffs[node->in].memory},
	    {DNNL_ARG_WORKSPACE, n->ops[i].workspace.memory});
	end_diff(n, node->in);
}

/* Where both are the first gradients of their values, in one go. */
static void add_back(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	const float *out = n->values[i + 1].p;
	const float *dout = n->diffs[i + 1].p;
	const int inputs[] = {node->in, node->other};
	size_t count = floats(&n->values[i + 1]);
	bool are_new = !n->has_diff[node->in] && !n->has_diff[node->other];

	if (are_new && node->in != node->other) {
		share(n->diffs[node->in].p, n->diffs[node->other].p, dout, out, count, node->relu);
		n->has_diff[node->in] = n->has_diff[node->other] = true;
		return;
	}
	for (size_t which = 0; which < ARRAY_LEN(inputs); which++) {
		float *to = begin_diff(n, inputs[which]).p;

		share(to, to, dout, out, count, node->relu);
		end_diff(n, inputs[which]);
	}
}

static void mean_back(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	int area = node->from_side * node->from_side;

	for (int k = 0; k < n->batch * node->channels; k++)
		for (int p = 0; p < area; p++)
			n->flat.p[k * area + p] = n->diffs[i + 1].p[k] / (float)area;
	(void)begin_diff(n, node->in);
	RUN(n, n->unflatten, {DNNL_ARG_FROM, n->flat.memory},
	    {DNNL_ARG_TO, n->diffs[node->in].memory});
	end_diff(n, node->in);
}

static void dense_back(struct engine_net *n, int i, const float *params, float *grads)
{
	const struct graph_node *node = &n->g->nodes[i];
	const float *w = params + node->first, *dout = n->diffs[i + 1].p;
	float *dw = grads + node->first, *db = dw + node->channels * node->from;
	float *dx = begin_diff(n, node->in).p;

	memset(dw, 0, node->nparams * sizeof(float));
	memset(dx, 0, (size_t)(n->batch * node->from) * sizeof(float));
	for (int s = 0; s < n->batch; s++)
		for (int o = 0; o < node->channels; o++) {
			const float *x = n->values[node->in].p + s * node->from;
			float d = dout[s * node->channels + o];

			db[o] += d;
			for (int k = 0; k < node->from; k++) {
				dw[o * node->from + k] += d * x[k];
				dx[s * node->from + k] += d * w[o * node->from + k];
			}
		}
	end_diff(n, node->in);
}

static int backward(struct engine_net *n, const float *params, const float *dout, float *grads,
		    int (*done)(void *arg, int node), void *arg)
{
	memset(n->has_diff, 0, sizeof(n->has_diff));
	memcpy(n->diffs[n->g->n].p, dout, floats(&n->diffs[n->g->n]) * sizeof(float));
	for (int i = n->g->n - 1; i >= 0; i--) {
		n->failed = ok(n, dnnl_success) ? i : n->failed;
		switch (n->g->nodes[i].op) {
		case GRAPH_CONV:
			conv_back(n, i, params, grads);
			break;
		case GRAPH_NORM:
			norm_back(n, i, params, grads);
			break;
		case GRAPH_MAXPOOL:
			pool_back(n, i);
			break;
		case GRAPH_ADD:
			add_back(n, i);
			break;
		case GRAPH_MEAN:
			mean_back(n, i);
			break;
		case GRAPH_DENSE:
			dense_back(n, i, params, grads);
		}
		if (done(arg, i))
			return -1;
	}
	return 0;
}

/* --- layouts ------------------------------------------------------------------------------ */

static int convert(struct engine_net *n, const float *from, float *to, bool to_plain)
{
	for (int i = 0; i < n->g->n; i++) {
		const struct graph_node *node = &n->g->nodes[i];
		struct op *op = &n->ops[i];

		if (node->op != GRAPH_CONV) {
			memcpy(to + node->first, from + node->first, node->nparams * sizeof(float));
			continue;
		}
		set(op->plain, (to_plain ? from : to) + node->first);
		set(op->outside, (to_plain ? to : from) + node->first);
		RUN(n, to_plain ? op->to_plain : op->from_plain,
		    {DNNL_ARG_FROM, to_plain ? op->plain : op->outside},
		    {DNNL_ARG_TO, to_plain ? op->outside : op->plain});
	}
	return ok(n, dnnl_success) ? 0 : -1;
}

/* --- life --------------------------------------------------------------------------------- */

static void destroy(struct engine_net *n)
{
	if (!n)
		return;
	for (int i = 0; i < n->g->n; i++)
		drop_op(&n->ops[i]);
	for (int i = 0; i <= n->g->n; i++) {
		drop(&n->values[i]);
		drop(&n->diffs[i]);
	}
	drop(&n->scratch);
	drop(&n->flat);
	(void)dnnl_primitive_destroy(n->flatten);
	(void)dnnl_primitive_destroy(n->unflatten);
	(void)dnnl_stream_destroy(n->stream);
	(void)dnnl_engine_destroy(n->engine);
	free(n);
}

static const char *failure(const struct engine_net *n) { return *n->text ? n->text : NULL; }

static struct engine_net *create(const struct graph *g, int batch, struct err *e)
{
	struct engine_net *n = calloc(1, sizeof(*n));

	if (n)
		*n = (struct engine_net){.g = g, .batch = batch};
	if (n && build(n))
		return n;
	e->kind = ERR_SYS; /* by hand: a plug-in brings nothing of ours along */
	(void)snprintf(e->msg, sizeof(e->msg), "cannot build the network for %d samples: %s", batch,
		       n ? n->text : "no memory");
	*e->hint = '\0';
	destroy(n);
	return NULL;
}

static float *input(struct engine_net *n) { return n->values[0].p; }

extern const struct engine windsock_engine __attribute__((visibility("default")));
const struct engine windsock_engine = {
	.version = ENGINE_VERSION,
	.name = "onednn",
	.create = create,
	.destroy = destroy,
	.input = input,
	.convert = convert,
	.forward = forward,
	.backward = backward,
	.failure = failure,
};
