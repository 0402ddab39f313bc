#ifndef BENCH_TRAIN_ENGINE_H
#define BENCH_TRAIN_ENGINE_H
/*
 * Networks too large for the built-in loops: a graph of operations, and an engine
 * (a plug-in) that runs it. Parameters and gradients are the caller's, one array
 * each, in the order of the nodes; how a convolution's are laid out in their place
 * is the engine's choice, which depends on the processor alone.
 */
#include "lib/core/err.h"

enum graph_op {
	GRAPH_CONV,    /* k x k, no bias: weights [out][in][k][k] */
	GRAPH_NORM,    /* batch normalization: scale[c], shift[c] */
	GRAPH_MAXPOOL, /* k x k */
	GRAPH_ADD,     /* of two values */
	GRAPH_MEAN,    /* over all pixels */
	GRAPH_DENSE,   /* weights [out][in], bias [out] */
};
struct graph_node { /* node i makes value i + 1 of value @in; value 0 is the input */
	enum graph_op op;
	int in, other; /* @other: the second value of an ADD */
	int k, stride, pad;
	bool relu;	       /* of a NORM or an ADD */
	int channels, side;    /* of what it makes */
	int from, from_side;   /* of what it reads */
	size_t first, nparams; /* its parameters */
	size_t stats;	       /* of a NORM: running mean[c], variance[c] */
};
enum { GRAPH_NODES_MAX = 80 };
struct graph {
	int channels, side, classes; /* of the input; of the last value */
	struct graph_node nodes[GRAPH_NODES_MAX];
	int n;
	size_t nparams, nstats;
};

/* ResNet-18 as torchvision builds it, its parameters in that order. */
void graph_resnet18(struct graph *g, int side, int classes);

enum { ENGINE_VERSION = 1 };
struct engine_net;
struct engine { /* what a plug-in exports as `windsock_engine` */
	unsigned version;
	const char *name;
	/* For so many samples; @g must live. NULL: no memory, or nothing that can do it. */
	struct engine_net *(*create)(const struct graph *g, int batch, struct err *e);
	void (*destroy)(struct engine_net *n); /* may be NULL */
	float *(*input)(struct engine_net *n); /* [batch][channel][row][column], to be filled */
	/* All parameters (or gradients) to or from PyTorch's layouts. -1: see failure(). */
	int (*convert)(struct engine_net *n, const float *from, float *to, bool to_plain);
	/* Returns [batch][classes]. Training: normalizes by the batch, moves @stats; else by
	 * @stats. */
	const float *(*forward)(struct engine_net *n, const float *params, float *stats,
				bool is_training);
	/*
	 * From the gradient of what forward() returned, sets all of @grads; @done is called
	 * with each node whose are final, last to first; not 0 ends it.
	 */
	int (*backward)(struct engine_net *n, const float *params, const float *dout, float *grads,
			int (*done)(void *arg, int node), void *arg);
	const char *(*failure)(const struct engine_net *n); /* of the library; NULL: none */
};

#endif
