#include "bench/train/engine.h"

const char *const engine_precisions[] = {"off", "bf16", "fp16", NULL};

static int add(struct graph *g, struct graph_node node)
{
	struct graph_node *n = &g->nodes[g->n];
	const struct graph_node *before = node.in ? &g->nodes[node.in - 1] : NULL;

	*n = node;
	n->from = before ? before->channels : g->channels;
	n->from_side = before ? before->side : g->side;
	n->channels = n->channels ? n->channels : n->from;
	n->side = n->op == GRAPH_MEAN || n->op == GRAPH_DENSE ? 1
		  : n->k ? (n->from_side + 2 * n->pad - n->k) / n->stride + 1
			 : n->from_side;
	n->first = g->nparams;
	n->stats = g->nstats;
	if (n->op == GRAPH_CONV)
		n->nparams =
			(size_t)n->channels * ((size_t)n->from * (size_t)(n->k * n->k) + n->bias);
	else if (n->op == GRAPH_DENSE)
		n->nparams = (size_t)n->channels *
			     ((size_t)n->from * (size_t)(n->from_side * n->from_side) + 1);
	else if (n->op == GRAPH_NORM)
		n->nparams = 2 * (size_t)n->channels;
	g->nparams += n->nparams;
	g->nstats += n->op == GRAPH_NORM ? n->nparams : 0;
	return ++g->n;
}

static int conv(struct graph *g, int in, int channels, int k, int stride)
{
	return add(g, (struct graph_node){.op = GRAPH_CONV,
					  .in = in,
					  .channels = channels,
					  .k = k,
					  .stride = stride,
					  .pad = k / 2});
}

static int norm(struct graph *g, int in, bool relu)
{
	return add(g, (struct graph_node){.op = GRAPH_NORM, .in = in, .relu = relu});
}

static int block(struct graph *g, int in, int channels, int stride)
{
	int a = norm(g, conv(g, in, channels, 3, stride), true);
	int b = norm(g, conv(g, a, channels, 3, 1), false);
	int past = stride == 1 ? in : norm(g, conv(g, in, channels, 1, stride), false);

	return add(g, (struct graph_node){.op = GRAPH_ADD, .in = b, .other = past, .relu = true});
}

void graph_resnet18(struct graph *g, int side, int classes)
{
	int at;

	*g = (struct graph){.channels = 3, .side = side, .classes = classes};
	at = norm(g, conv(g, 0, 64, 7, 2), true);
	at = add(g,
		 (struct graph_node){.op = GRAPH_MAXPOOL, .in = at, .k = 3, .stride = 2, .pad = 1});
	for (int i = 0, channels = 64; i < 4; i++, channels *= 2) {
		at = block(g, at, channels, i ? 2 : 1);
		at = block(g, at, channels, 1);
	}
	at = add(g, (struct graph_node){.op = GRAPH_MEAN, .in = at});
	(void)add(g, (struct graph_node){.op = GRAPH_DENSE, .in = at, .channels = classes});
}

/* --- what the built-in loops know, too ------------------------------------------------------ */

/* 5 x 5 without a border, ReLU, and the largest of each 2 x 2. */
static int conv_and_pool(struct graph *g, int in, int channels)
{
	int at = add(g, (struct graph_node){.op = GRAPH_CONV,
					    .in = in,
					    .channels = channels,
					    .k = 5,
					    .stride = 1,
					    .bias = true,
					    .relu = true});

	return add(g, (struct graph_node){.op = GRAPH_MAXPOOL, .in = at, .k = 2, .stride = 2});
}

static int dense(struct graph *g, int in, int channels, bool relu)
{
	return add(g, (struct graph_node){
			      .op = GRAPH_DENSE, .in = in, .channels = channels, .relu = relu});
}

void graph_cnn(struct graph *g, int side, int classes)
{
	int at;

	*g = (struct graph){.channels = 1, .side = side, .classes = classes};
	at = conv_and_pool(g, conv_and_pool(g, 0, 10), 20);
	(void)dense(g, dense(g, at, 50, true), classes, false);
}

void graph_mlp(struct graph *g, int side, int classes)
{
	*g = (struct graph){.channels = 1, .side = side, .classes = classes};
	(void)dense(g, dense(g, 0, 100, true), classes, false);
}
