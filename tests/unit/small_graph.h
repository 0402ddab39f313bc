#ifndef TESTS_UNIT_SMALL_GRAPH_H
#define TESTS_UNIT_SMALL_GRAPH_H
/* Graphs put together node by node: each call adds one and returns its value. */
#include "bench/train/engine.h"

enum { CLASSES = 5 };

static size_t params_of(const struct graph_node *n)
{
	switch (n->op) {
	case GRAPH_CONV:
		return (size_t)(n->channels * n->from * n->k * n->k);
	case GRAPH_NORM:
		return 2 * (size_t)n->channels;
	case GRAPH_DENSE:
		return (size_t)(n->channels * n->from + n->channels);
	default:
		return 0;
	}
}

/* Completes a node that says what it is and where it stands. Returns its value. */
static int put(struct graph *g, struct graph_node n)
{
	n.from = n.in ? g->nodes[n.in - 1].channels : g->channels;
	n.from_side = n.in ? g->nodes[n.in - 1].side : g->side;
	n.channels = n.channels ? n.channels : n.from;
	n.side = n.k ? (n.from_side + 2 * n.pad - n.k) / n.stride + 1 : n.from_side;
	if (n.op == GRAPH_MEAN || n.op == GRAPH_DENSE)
		n.side = 1;
	n.first = g->nparams;
	n.nparams = params_of(&n);
	n.stats = g->nstats;
	g->nparams += n.nparams;
	g->nstats += n.op == GRAPH_NORM ? n.nparams : 0;
	g->nodes[g->n++] = n;
	return g->n;
}

static int conv(struct graph *g, int in, int channels, int k, int stride, int pad)
{
	return put(g, (struct graph_node){.op = GRAPH_CONV,
					  .in = in,
					  .channels = channels,
					  .k = k,
					  .stride = stride,
					  .pad = pad});
}

static int norm(struct graph *g, int in, bool relu)
{
	return put(g, (struct graph_node){.op = GRAPH_NORM, .in = in, .relu = relu});
}

static int sum(struct graph *g, int in, int other, bool relu)
{
	return put(g, (struct graph_node){.op = GRAPH_ADD, .in = in, .other = other, .relu = relu});
}

/* The last: a value for each class, from all pixels. */
static void weigh(struct graph *g, int in)
{
	(void)conv(g, in, CLASSES, g->nodes[in - 1].side, 1, 0);
}

static struct graph begin(int channels, int side)
{
	return (struct graph){.channels = channels, .side = side, .classes = CLASSES};
}

#endif
