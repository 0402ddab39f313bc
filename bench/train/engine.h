#ifndef BENCH_TRAIN_ENGINE_H
#define BENCH_TRAIN_ENGINE_H
/*
 * Networks too large for the built-in loops, or on a GPU: a graph of operations, and
 * an engine (a plug-in) that runs it. Parameters and gradients are the caller's, one
 * array each, in the order of the nodes; how a convolution's are laid out in their
 * place is the engine's choice: by the processor, its version and its settings.
 */
#include "bench/train/sgd.h"
#include "lib/core/err.h"

enum graph_op {
	GRAPH_CONV,    /* k x k: weights [out][in][k][k], and with @bias: bias [out] */
	GRAPH_NORM,    /* batch normalization: scale[c], shift[c] */
	GRAPH_MAXPOOL, /* k x k */
	GRAPH_ADD,     /* of two values */
	GRAPH_MEAN,    /* over all pixels */
	GRAPH_DENSE,   /* of all channels and pixels: weights [out][in], bias [out] */
};
struct graph_node { /* node i makes value i + 1 of value @in; value 0 is the input */
	enum graph_op op;
	int in, other; /* @other: the second value of an ADD */
	int k, stride, pad;
	bool relu;	       /* of a NORM, an ADD; engines of a device: of a CONV, a DENSE too */
	bool bias;	       /* of a CONV, where there is a device; a DENSE always has one */
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
/* The built-in loops' two models, for a device: the same parameters in the same places. */
void graph_cnn(struct graph *g, int side, int classes);
void graph_mlp(struct graph *g, int side, int classes);

enum { ENGINE_VERSION = 7 };
struct engine_net;
struct engine { /* what a plug-in exports as `windsock_engine` */
	unsigned version;
	const char *name;
	/* For so many samples; @g must live. NULL: no memory, or nothing that can do it. */
	struct engine_net *(*create)(const struct graph *g, int batch, struct err *e);
	void (*destroy)(struct engine_net *n); /* may be NULL */
	/* [batch][channel][row][column], to be filled: again after backward(), with a device
	 * as soon as forward() has returned. */
	float *(*input)(struct engine_net *n);
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
	const struct engine_device *device;		    /* NULL: it has the host's memory */
};

enum engine_precision { ENGINE_FLOAT32, ENGINE_BF16, ENGINE_FP16 };
extern const char *const engine_precisions[]; /* --amp's words in that order, NULL-terminated */
struct engine_opts {
	int local_rank; /* the GPU: this one of those that are visible, modulo their number */
	/* Of convolutions and products, which sum in float32; parameters, their gradients,
	 * normalization and the last values are float32 all the same. */
	enum engine_precision precision;
	bool tf32;	      /* float32 may be rounded to 10 bits before it is multiplied */
	uint64_t deadline_ns; /* no wait for the GPU is longer */
};

/*
 * What an engine has besides whose memory is a GPU's. forward() and backward() take
 * parameters and gradients in two ways. In the host's memory: they travel there and back
 * within each call, and done() means that a node's gradients have arrived. Or in the GPU's,
 * from alloc(): nothing travels, and done() means that the GPU was told to compute them;
 * whoever reads them there orders itself behind that by before(). Statistics, input and
 * dout are the host's in either case, and results of both ways are the same bits.
 *
 * Everything lives in the GPU's primary context, as the NCCL plug-in's does: @stream is
 * a CUstream of that, so gradients are reduced where they are, while backward runs:
 *
 *	alloc() for parameters, gradients and velocity, put() what was broadcast
 *	every step:  forward()
 *	             backward(), in done(): before(stream), start the all-reduce on the stream
 *	             wait for the communicator, after(stream), sgd()
 *	get() the parameters where they are to be compared
 */
struct engine_device {
	/* Are the libraries here? Opens no GPU. ERR_ABSENT: which is not, and what brings it. */
	int (*find)(struct err *e);
	/* Once in a process, before all else. @ret: what is used, in one line. ERR_ABSENT: what is
	 * not here. */
	int (*open)(const struct engine_opts *o, char *ret, size_t n, struct err *e);
	int (*alloc)(size_t floats, float **ret, struct err *e); /* zeroed */
	void (*free)(float *p);					 /* may be NULL */
	/* What somebody else took of the same GPU's memory counts as of alloc(); free() forgets it.
	 */
	int (*adopt)(float *p, size_t floats, struct err *e);
	int (*put)(float *to, const float *from_host, size_t n, struct err *e);
	/* Waits for all work so far. */
	int (*get)(float *to_host, const float *from, size_t n, struct err *e);
	int (*before)(void *stream, struct err *e); /* @stream waits for our work so far */
	int (*after)(void *stream, struct err *e);  /* our work to come waits for @stream's */
	int (*sgd)(size_t n, float *p, float *v, const float *g, struct sgd s, struct err *e);
	/* Are these finite? The question takes its turn behind our work so far ... */
	int (*watch)(const float *p, size_t n, struct err *e);
	/* ... and the answer is that to all since the last time; it is waited for. */
	int (*is_finite)(bool *ret, struct err *e);
	bool (*is_scaled)(void); /* fp16: its gradients need the following */
	/*
	 * What dout is multiplied by before it becomes one, so that small
	 * gradients do not vanish, a power of two. Gradients come out as if it were 1; those
	 * that were too large for the type are not finite (see scaler.h).
	 */
	void (*set_scale)(float scale);
	/* It was the GPU that failed, at work that it had been given: DEV_SICK or DEV_WATCHED; also
	 * where it did not open. NULL: it was not. */
	const char *(*failed_check)(void);
};

#endif
