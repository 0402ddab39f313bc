#ifndef PLUGINS_CUDNN_PARTS_H
#define PLUGINS_CUDNN_PARTS_H
/* Between the parts of this engine: a graph whose values lie in the GPU's memory. */
#include "plugins/cudnn/gpu.h"

struct value {		 /* of a node; 0: the input */
	void *p, *d;	 /* it, and its gradient */
	uint32_t stored; /* channels in memory: of 16 bit types filled up to a multiple of 8 */
	uint32_t area;	 /* pixels */
	uint32_t count;	 /* elements */
	bool has_diff;	 /* there is something in @d already */
	cudnnTensorDescriptor_t desc;
};
enum conv_pass { CONV_FORWARD, CONV_DATA, CONV_WEIGHTS, CONV_PASSES };
enum { CONV_WAYS = 4 };
struct conv { /* one pass: how, and what else may do where cuDNN refuses that after all */
	cudnnConvolutionDescriptor_t desc;
	struct conv_way {
		int algorithm;
		cudnnMathType_t math;
		size_t space;
	} ways[CONV_WAYS];
	int n, at;
};
struct op {
	/* CONV, DENSE: weights as they are multiplied: NULL: the caller's in their place */
	void *weights, *dweights;
	uint32_t nweights, taps; /* elements in there */
	cudnnFilterDescriptor_t filter;
	struct conv conv[CONV_PASSES];
	float *mean, *inverse;	/* NORM: of the batch, or what was learned */
	unsigned char *taken;	/* MAXPOOL */
	CUevent ready, arrived; /* gradients: computed; in the host's memory */
};
struct engine_net {
	const struct graph *g;
	int batch;
	struct value values[GRAPH_NODES_MAX + 1];
	struct op ops[GRAPH_NODES_MAX];
	/* The input: the host's, and where it arrives, by turns, while the step before is still
	 * computed: it is value 0 there, or what a 16 bit one is packed from. */
	float *pixels, *arrives[2];
	int turn;
	CUevent sent;
	float *stats, *stats_here;
	float *answers, *answers_here; /* answers: in the last value */
	float *dout, *dout_here;
	float *params, *grads, *grads_here; /* for a caller with the host's memory */
	float *sums[2];			    /* of norm.c */
	void *space;			    /* of cuDNN */
	size_t space_size;
	struct err failure; /* the first */
};

/* --- launching: arguments have the kernel's types by construction ------------------------ */
struct window { /* as in kernels_pool.h */
	uint32_t side, made, k, stride, pad;
};
struct arg {
	union {
		const void *p;
		uint32_t u;
		float f;
		struct window w;
	} v;
};
#define P(x)                                                                                       \
	(struct arg) { .v.p = (x) }
#define U(x)                                                                                       \
	(struct arg) { .v.u = (uint32_t)(x) }
#define F(x)                                                                                       \
	(struct arg) { .v.f = (x) }
#define W(x)                                                                                       \
	(struct arg) { .v.w = (x) }
enum { ARGS_MAX = 16 };
/* A kernel with the type's name after it ("pool" is "pool_bf16"), or by its whole one. */
void launch_typed(struct engine_net *n, const char *name, uint32_t work, const struct arg *args,
		  size_t nargs);
void launch_plain(struct engine_net *n, const char *name, uint32_t work, const struct arg *args,
		  size_t nargs);
#define ARGS(...)                                                                                  \
	(const struct arg[]){__VA_ARGS__}, sizeof((struct arg[]){__VA_ARGS__}) / sizeof(struct arg)
#define TYPED(n, name, work, ...) launch_typed((n), (name), (work), ARGS(__VA_ARGS__))
#define PLAIN(n, name, work, ...) launch_plain((n), (name), (work), ARGS(__VA_ARGS__))

/* How many elements a thread takes at once, where they are neighbours. */
static inline uint32_t pack_width(void) { return gpu_is_16() ? 8 : 1; }
/* The distance of two channels of a pixel. */
static inline uint32_t inner(const struct value *v) { return gpu_is_16() ? 1 : v->area; }
static inline bool is_well(const struct engine_net *n) { return n->failure.kind == ERR_NONE; }
/* Notes what cuDNN or cuBLAS said; @node: where. */
bool dnn_ok(struct engine_net *n, cudnnStatus_t st, const char *what, int node);
bool blas_ok(struct engine_net *n, cublasStatus_t st, int node);

/* --- weights.c: what is multiplied -------------------------------------------------------- */
int weights_build(struct engine_net *n, int node);
/* Where node @i's are, from the caller's. */
const void *weights_ready(struct engine_net *n, int i, const float *params);
/* Where their gradients go, and how they come to the caller's place. */
void *weights_grads(struct engine_net *n, int i, float *grads);
void weights_grads_done(struct engine_net *n, int i, float *grads);

/* --- conv.c, dense.c, norm.c, ops.c ------------------------------------------------------- */
int conv_build(struct engine_net *n, int i);
void conv_drop(struct op *op);
void conv_forward(struct engine_net *n, int i, const float *params);
void conv_back(struct engine_net *n, int i, const float *params, float *grads);
void dense_forward(struct engine_net *n, int i, const float *params);
void dense_back(struct engine_net *n, int i, const float *params, float *grads);
/* After a convolution or a product: its bias and ReLU, there and back. */
void bias_forward(struct engine_net *n, int i, const float *params);
void bias_back(struct engine_net *n, int i, float *grads);

size_t norm_room(const struct value *v); /* floats in sums[0] */
void norm_forward(struct engine_net *n, int i, const float *params, bool is_training);
void norm_back(struct engine_net *n, int i, const float *params, float *grads);
/* Sums per channel in sums[*]: their last parts, of which so many are returned. */
uint32_t norm_sum_up(struct engine_net *n, uint32_t parts, uint32_t channels, const float **ret);
uint32_t norm_parts(const struct value *v);

void pool_forward(struct engine_net *n, int i);
void pool_back(struct engine_net *n, int i);
void add_forward(struct engine_net *n, int i);
void add_back(struct engine_net *n, int i);
void mean_forward(struct engine_net *n, int i);
void mean_back(struct engine_net *n, int i);

/* --- device.c: what is kept in the GPU's memory ------------------------------------------ */
extern const struct engine_device engine_device_cuda;
bool device_has(const float *p); /* in an array of that */

/* --- build.c ---------------------------------------------------------------------------- */
struct engine_net *net_create(const struct graph *g, int batch, struct err *e);
void net_destroy(struct engine_net *n);
/* The arrays for a caller with the host's memory; made when they are needed. */
int net_stage_params(struct engine_net *n);
int net_stage_grads(struct engine_net *n);

#endif
