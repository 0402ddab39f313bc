#ifndef BENCH_TRAIN_NET_H
#define BENCH_TRAIN_NET_H
/*
 * A network and one batch going through it, forward and backward. Parameters,
 * and likewise gradients, are one array in the order of the layers (weights as
 * PyTorch lays them out, then biases), so that a range of it can travel.
 */
#include "bench/dev/dev.h"
#include "bench/train/engine.h"
#include "bench/train/kernels.h"
#include "bench/train/scaler.h"
#include "lib/core/err.h"

enum {
	NET_LAYERS_MAX = 8,
	NET_PARTS_MAX = GRAPH_NODES_MAX,
	NET_INPUTS = 28 * 28, /* of the built-in loops */
	NET_CLASSES = 10,
	NET_SIDE_MAX = 224,
	NET_PIXELS_MAX = 3 * NET_SIDE_MAX * NET_SIDE_MAX, /* of any model */
};

struct layer {
	bool is_conv;
	struct conv conv;
	struct dense dense;
};
typedef void net_build(struct graph *g, int side, int classes);
struct model {
	const char *name, *help;
	int channels, side;	 /* of the input */
	net_build *graph;	 /* NULL: the layers that follow */
	net_build *device_graph; /* these, for a GPU */
	struct layer layers[NET_LAYERS_MAX];
	int nlayers;
};
extern const char *const model_names[]; /* NULL-terminated, for the option table */
const struct model *model_find(const char *name);

struct net {
	const struct model *model;
	const struct kernels *k;
	int nparts;				  /* layers, or a graph's nodes */
	size_t nparams, first[NET_PARTS_MAX + 1]; /* part i: [first[i], first[i + 1]) */
	/* of a graph; all other models have none of these */
	const struct engine *engine;
	struct graph *graph;
	struct engine_net *whole, *rest, *now; /* for a whole batch; for a smaller one */
	int rest_samples;
	float *stats, *dout;
	size_t nstats;
	struct scaler scaler;	  /* of fp16 */
	struct net_device *there; /* parameters stay in the engine's memory; NULL: in ours */
	/* Called before forward and backward come to a part; not 0 ends it (forward's loss is
	 * NaN then). NULL: nobody. A graph's all come at the beginning. */
	int (*before)(void *arg, int part);
	void *before_arg;
	bool is_validating;    /* normalize by what was learned */
	float *params, *grads; /* grads has NET_EXTRA more places, which are the caller's */
	int batch, samples;    /* at most; of the batch in it */
	int *labels;
	/* all [block][feature][lanes] */
	float *out[NET_LAYERS_MAX + 1];	 /* out[0]: the input */
	float *back[NET_LAYERS_MAX + 1]; /* gradients of out */
	int32_t *sel[NET_LAYERS_MAX];
	float *da, *sums, *bias;   /* of a convolution's backward pass */
	float *rows_in, *rows_out; /* sample by sample, for dense_dw */
};
enum { NET_EXTRA = 16 };

struct net_score {
	double loss; /* mean, also of the backward pass */
	int top1, top5;
};

/* NULL: no memory. */
struct net *net_new(const struct model *m, const struct kernels *k, const struct engine *engine,
		    int batch, struct err *e);
void net_free(struct net *n);
/* Uniform within 1/sqrt(inputs), as PyTorch does by default. */
void net_init(struct net *n, uint64_t seed);
int net_begin(struct net *n, int samples, struct err *e) MUST_CHECK;
void net_put(struct net *n, int i, const float *pixels, int label);
struct net_score net_forward(struct net *n);
/*
 * Sets all gradients, from the last layer to the first. @done is called with
 * each layer whose gradients are final, and with -1 in between, to let others
 * have a turn; not 0 ends it. May be NULL.
 */
int net_backward(struct net *n, int (*done)(void *arg, int layer), void *arg);
/* Where gradients are kept, backward ends before they are computed: waits for that. See failure. */
void net_backward_end(struct net *n);

/* For net*.c: calls before(). */
int net_before(const struct net *n, int part);
/* What went wrong in an engine; NULL: nothing. */
const char *net_failure(const struct net *n);

/* Softmax and cross-entropy of one sample; z and dz are every @lanes-th place. */
void net_score(const float *z, float *dz, int lanes, int label, int samples, struct net_score *s);

/* --- net_device.c --------------------------------------------------------------------
 * Where the engine has a memory of its own parameters, velocity and, where nobody here
 * has to see them, gradients stay there from step to step; params are a copy, as old as
 * the last net_fetch(). All of this does nothing, or the same in our memory, elsewhere.
 */
struct net_device {
	float *params, *velocity, *grads;
	struct dev *dev;  /* whose memory grads are: a communicator reduces them there; or NULL */
	bool keeps_grads; /* they do not come to net.grads, and done() is called before they are
			     computed */
	bool are_finite;  /* those that were watched during backward */
	struct err failure;
};
int net_device_new(struct net *n, struct dev *dev, struct err *e) MUST_CHECK;
void net_device_free(struct net *n);
int net_store(struct net *n, struct err *e) MUST_CHECK; /* params are other ones: begin anew */
int net_fetch(struct net *n, struct err *e) MUST_CHECK;
/* @velocity is left as it is where it is in our memory anyway. */
int net_fetch_velocity(const struct net *n, float *velocity, struct err *e) MUST_CHECK;
/* As net_store(), but for a training that goes on: with that velocity and loss scaling. */
int net_resume(struct net *n, const float *velocity, const struct scaler *saved,
	       struct err *e) MUST_CHECK;
/*
 * A step with the averaged gradients in grads (or kept). *ret_lost: they are not finite,
 * and no loss scaling is to blame. With that the step is left out where they overflowed.
 */
int net_update(struct net *n, float *velocity, const struct sgd *s, bool *ret_lost,
	       struct err *e) MUST_CHECK;
bool net_is_finite(const float *v, size_t n);

/* --- net_graph.c ------------------------------------------------------------------- */
/* How an engine has to build that model; NULL: it is for the built-in loops. */
net_build *net_builder(const struct model *m, const struct engine *engine);
int net_graph_new(struct net *n, struct err *e) MUST_CHECK;
void net_graph_free(struct net *n);
void net_graph_init(struct net *n, uint64_t seed);
int net_graph_begin(struct net *n, int samples, struct err *e) MUST_CHECK;
void net_graph_put(struct net *n, int i, const float *pixels, int label);
struct net_score net_graph_forward(struct net *n);
int net_graph_backward(struct net *n, int (*done)(void *arg, int part), void *arg);

#endif
