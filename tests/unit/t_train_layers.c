/*
 * Every kind of layer that resnet18 has, through the engine that trains it, against the
 * same layers in double precision: what comes out, the gradients by numeric
 * differentiation, running statistics. Each stands behind a convolution, so that what it
 * hands back is seen, too, and before one that weighs every pixel differently.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/engine.h"
#include "bench/train/random.h"
#include "lib/core/plugin.h"
#include "tests/unit/small_graph.h"

#include <math.h>

enum { BATCH = 3, SIDE = 7, WIDEST = BATCH * 32 * 12 * 12, PROBES = 14 };

static const struct engine *engine;

/* --- the same in double precision ---------------------------------------------------------- */

struct plain {
	const struct graph *g;
	double *params, *stats; /* PyTorch's layouts */
	double *values[GRAPH_NODES_MAX + 1];
	bool is_training;
};

static size_t area(const struct graph_node *n) { return (size_t)(n->side * n->side); }

static const double *image(const double *value, int sample, int channels, int channel, int side)
{
	return value + (sample * channels + channel) * side * side;
}

/* Over the window of a pixel: its weighted sum (@w: the filter), or its largest (NULL). */
static double window(const struct graph_node *n, const double *in, const double *w, int y, int x)
{
	double all = w ? 0 : -HUGE_VAL;

	for (int k = 0; k < n->k * n->k; k++) {
		int row = y * n->stride - n->pad + k / n->k,
		    col = x * n->stride - n->pad + k % n->k;
		double v;

		if (row < 0 || col < 0 || row >= n->from_side || col >= n->from_side)
			continue;
		v = in[row * n->from_side + col];
		all = w ? all + w[k] * v : fmax(all, v);
	}
	return all;
}

static void plain_windows(const struct plain *p, const struct graph_node *n, double *out)
{
	const double *in = p->values[n->in], *w = p->params + n->first;

	for (int i = 0; i < BATCH * n->channels * n->side * n->side; i++) {
		int x = i % n->side, y = i / n->side % n->side;
		int c = i / n->side / n->side % n->channels,
		    s = i / n->side / n->side / n->channels;

		out[i] = 0;
		if (n->op == GRAPH_MAXPOOL)
			out[i] = window(n, image(in, s, n->from, c, n->from_side), NULL, y, x);
		for (int f = 0; f < n->from && n->op == GRAPH_CONV; f++)
			out[i] += window(n, image(in, s, n->from, f, n->from_side),
					 w + (c * n->from + f) * n->k * n->k, y, x);
	}
}

/* Mean and variance of a channel, by this batch; moves the running ones as PyTorch does. */
static void learn(const struct plain *p, const struct graph_node *n, int c, double *ret)
{
	double count = (double)(BATCH * area(n)), *stats = p->stats + n->stats + c;

	ret[0] = ret[1] = 0;
	for (int pass = 0; pass < 2; pass++)
		for (int s = 0; s < BATCH; s++)
			for (size_t i = 0; i < area(n); i++) {
				double v = image(p->values[n->in], s, n->from, c, n->side)[i];

				ret[pass] += (pass ? (v - ret[0]) * (v - ret[0]) : v) / count;
			}
	stats[0] += 0.1 * (ret[0] - stats[0]);
	stats[n->channels] += 0.1 * (ret[1] * count / (count - 1) - stats[n->channels]);
}

static void plain_norm(const struct plain *p, const struct graph_node *n, double *out)
{
	const double *scale = p->params + n->first, *shift = scale + n->channels;

	for (int c = 0; c < n->channels; c++) {
		const double *running = p->stats + n->stats + c;
		double by[2] = {running[0], running[n->channels]};

		if (p->is_training)
			learn(p, n, c, by);
		for (int s = 0; s < BATCH; s++)
			for (size_t i = 0; i < area(n); i++) {
				size_t at = (size_t)(s * n->channels + c) * area(n) + i;
				double v = p->values[n->in][at];

				v = (v - by[0]) / sqrt(by[1] + 1e-5) * scale[c] + shift[c];
				out[at] = n->relu ? fmax(v, 0) : v;
			}
	}
}

static void plain_rest(const struct plain *p, const struct graph_node *n, double *out)
{
	const double *in = p->values[n->in], *w = p->params + n->first;
	int pixels = n->from_side * n->from_side;

	for (int i = 0; i < BATCH * n->channels * n->side * n->side; i++) {
		int s = i / n->channels, c = i % n->channels;

		if (n->op == GRAPH_ADD) {
			out[i] = in[i] + p->values[n->other][i];
			out[i] = n->relu ? fmax(out[i], 0) : out[i];
			continue;
		}
		out[i] = n->op == GRAPH_DENSE ? w[n->channels * n->from + c] : 0;
		for (int k = 0; k < pixels && n->op == GRAPH_MEAN; k++)
			out[i] += in[i * pixels + k] / pixels;
		for (int f = 0; f < n->from && n->op == GRAPH_DENSE; f++)
			out[i] += w[c * n->from + f] * in[s * n->from + f];
	}
}

static const double *plain_forward(const struct plain *p)
{
	for (int i = 0; i < p->g->n; i++) {
		const struct graph_node *n = &p->g->nodes[i];

		if (n->op == GRAPH_CONV || n->op == GRAPH_MAXPOOL)
			plain_windows(p, n, p->values[i + 1]);
		else if (n->op == GRAPH_NORM)
			plain_norm(p, n, p->values[i + 1]);
		else
			plain_rest(p, n, p->values[i + 1]);
	}
	return p->values[p->g->n];
}

/* --- both ------------------------------------------------------------------------------------ */

struct both {
	const char *name;
	const struct graph *g;
	struct plain plain;
	struct engine_net *net;
	float *params, *own, *grads, *stats; /* PyTorch's layouts, but for @own */
	float dout[BATCH * CLASSES];
};

static float noise(uint64_t *state) { return 2 * random_unit(random_next(state)) - 1; }

static float *floats(size_t n)
{
	float *p = aligned_alloc(64, (n * sizeof(float) + 64) / 64 * 64);

	assert_non_null(p);
	return memset(p, 0, n * sizeof(float));
}

static void fill(struct both *b)
{
	uint64_t state = 77;
	float *input = engine->input(b->net);

	for (int i = 0; i < BATCH * b->g->channels * b->g->side * b->g->side; i++)
		b->plain.values[0][i] = (double)(input[i] = noise(&state));
	for (int i = 0; i < BATCH * CLASSES; i++)
		b->dout[i] = noise(&state);
	for (int i = 0; i < b->g->n; i++) {
		const struct graph_node *n = &b->g->nodes[i];
		float spread = n->op == GRAPH_CONV ? 1 / sqrtf((float)(n->from * n->k * n->k)) : 1;

		for (size_t k = n->first; k < n->first + n->nparams; k++)
			b->plain.params[k] = (double)(b->params[k] = spread * noise(&state));
		for (size_t k = 0; k < n->nparams && n->op == GRAPH_NORM; k++)
			b->plain.stats[n->stats + k] =
				(double)(b->stats[n->stats + k] = 0.5f + noise(&state) / 4);
	}
	assert_int_equal(engine->convert(b->net, b->params, b->own, false), 0);
}

static struct both *both_new(const char *name, const struct graph *g)
{
	struct both *b = calloc(1, sizeof(*b));
	struct err e = {0};

	assert_non_null(b);
	b->name = name;
	b->g = b->plain.g = g;
	b->net = engine->create(g, BATCH, &e);
	if (!b->net)
		fail_msg("%s: %s", name, e.msg);
	b->params = floats(g->nparams);
	b->own = floats(g->nparams);
	b->grads = floats(g->nparams);
	b->stats = floats(g->nstats);
	b->plain.params = calloc(g->nparams, sizeof(double));
	b->plain.stats = calloc(g->nstats + 1, sizeof(double));
	for (int i = 0; i <= g->n; i++)
		b->plain.values[i] = calloc(WIDEST, sizeof(double));
	fill(b);
	return b;
}

static void both_free(struct both *b)
{
	engine->destroy(b->net);
	for (int i = 0; i <= b->g->n; i++)
		free(b->plain.values[i]);
	free(b->plain.params);
	free(b->plain.stats);
	free(b->params);
	free(b->own);
	free(b->grads);
	free(b->stats);
	free(b);
}

static void check_output(struct both *b, bool is_training)
{
	const float *out = engine->forward(b->net, b->own, b->stats, is_training);
	const double *expected;

	if (engine->failure(b->net))
		fail_msg("%s: %s", b->name, engine->failure(b->net));
	b->plain.is_training = is_training;
	expected = plain_forward(&b->plain);
	for (int i = 0; i < BATCH * CLASSES; i++)
		if (fabs(expected[i] - (double)out[i]) > 2e-5)
			fail_msg("%s: output %d is %g and not %g", b->name, i, (double)out[i],
				 expected[i]);
	for (size_t i = 0; i < b->g->nstats; i++)
		if (fabs(b->plain.stats[i] - (double)b->stats[i]) > 1e-5)
			fail_msg("%s: running statistic %zu is %g and not %g", b->name, i,
				 (double)b->stats[i], b->plain.stats[i]);
}

static double weighed(const struct both *b)
{
	const double *out = plain_forward(&b->plain);
	double all = 0;

	for (int i = 0; i < BATCH * CLASSES; i++)
		all += out[i] * (double)b->dout[i];
	return all;
}

static void check_gradient(const struct both *b, int node, size_t at)
{
	double *p = &b->plain.params[at], was = *p, h = 1e-5, up, numeric;
	double own = (double)b->grads[at];

	*p = was + h;
	up = weighed(b);
	*p = was - h;
	numeric = (up - weighed(b)) / (2 * h);
	*p = was;
	if (!(fabs(numeric - own) <= 1e-4 + 2e-4 * fabs(numeric)))
		fail_msg("%s: node %d parameter %zu: %g, numeric %g", b->name, node,
			 at - b->g->nodes[node].first, own, numeric);
}

static int count_down(void *arg, int node)
{
	int *next = arg;

	assert_int_equal(node, --*next);
	return 0;
}

/* A spread of each node's parameters, the first and the last among them. */
static void check_gradients(struct both *b)
{
	int left = b->g->n;

	assert_int_equal(engine->backward(b->net, b->own, b->dout, b->grads, count_down, &left), 0);
	assert_int_equal(left, 0);
	memcpy(b->own, b->grads, b->g->nparams * sizeof(float));
	assert_int_equal(engine->convert(b->net, b->own, b->grads, true), 0);
	for (int i = 0; i < b->g->n; i++) {
		const struct graph_node *n = &b->g->nodes[i];

		for (size_t k = 0; n->nparams && k < PROBES; k++)
			check_gradient(b, i, n->first + (n->nparams - 1) * k / (PROBES - 1));
	}
}

static void check(const char *name, const struct graph *g)
{
	struct both *b = both_new(name, g);

	check_output(b, false);
	check_output(b, true);
	check_gradients(b);
	both_free(b);
}

/* --- the kinds ------------------------------------------------------------------------------- */

/* @width: what the processor's vectors like, and what they do not. */
static const int widths[] = {16, 3};

static void convolutions(void **state)
{
	static const struct {
		int k, stride, pad;
	} kinds[] = {{3, 1, 1}, {3, 2, 1}, {7, 2, 3}, {1, 1, 0}, {1, 2, 0}, {3, 1, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (size_t w = 0; w < ARRAY_LEN(widths); w++) {
			struct graph first = begin(3, SIDE), second = begin(3, SIDE);
			char name[64];
			int at = conv(&first, 0, widths[w], kinds[i].k, kinds[i].stride,
				      kinds[i].pad);

			(void)snprintf(name, sizeof(name), "%dx%d stride %d pad %d, %d channels",
				       kinds[i].k, kinds[i].k, kinds[i].stride, kinds[i].pad,
				       widths[w]);
			weigh(&first, at);
			check(name, &first); /* of the input no gradient is needed */
			at = conv(&second, 0, widths[w], 3, 1, 1);
			at = conv(&second, at, widths[!w], kinds[i].k, kinds[i].stride,
				  kinds[i].pad);
			weigh(&second, at);
			check(name, &second);
		}
}

/* What is fast for large images is not there for the smallest: others take their place. */
static void convolutions_of_few_pixels(void **state)
{
	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(widths); w++)
		for (int side = 1; side <= 3; side++) {
			struct graph g = begin(3, side);
			char name[40];
			int at;

			(void)snprintf(name, sizeof(name), "%d pixels by %d", side, side);
			at = conv(&g, 0, widths[w], 3, 1, 1);
			at = conv(&g, at, widths[w], 3, 1, 1);
			weigh(&g, at);
			check(name, &g);
		}
}

static void batch_normalization(void **state)
{
	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(widths); w++)
		for (int relu = 0; relu < 2; relu++) {
			struct graph g = begin(3, SIDE);

			weigh(&g, norm(&g, conv(&g, 0, widths[w], 3, 1, 1), relu));
			check(relu ? "normalization, ReLU" : "normalization", &g);
		}
}

static void additions(void **state)
{
	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(widths); w++)
		for (int relu = 0; relu < 2; relu++) {
			struct graph g = begin(3, SIDE);
			int past = conv(&g, 0, widths[w], 3, 1, 1);
			int at = conv(&g, past, widths[w], 3, 1, 1);

			weigh(&g, sum(&g, at, past, relu)); /* @past is used twice */
			check(relu ? "addition, ReLU" : "addition", &g);
		}
}

static void the_largest_of_each_window(void **state)
{
	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(widths); w++) {
		struct graph g = begin(3, SIDE);
		int at = conv(&g, 0, widths[w], 3, 1, 1);

		at = put(&g, (struct graph_node){
				     .op = GRAPH_MAXPOOL, .in = at, .k = 3, .stride = 2, .pad = 1});
		weigh(&g, at);
		check("max pool", &g);
	}
}

static void mean_and_dense(void **state)
{
	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(widths); w++) {
		struct graph g = begin(3, SIDE);
		int at = norm(&g, conv(&g, 0, widths[w], 3, 2, 1), true);

		at = put(&g, (struct graph_node){.op = GRAPH_MEAN, .in = at});
		(void)put(&g,
			  (struct graph_node){.op = GRAPH_DENSE, .in = at, .channels = CLASSES});
		check("average pool and dense", &g);
	}
}

/* As resnet18 puts them together, with a projection past it. */
static void a_residual_block(void **state)
{
	struct graph g = begin(3, SIDE);
	int in = norm(&g, conv(&g, 0, 16, 3, 1, 1), true);
	int at = norm(&g, conv(&g, in, 32, 3, 2, 1), true), past;

	(void)state;
	at = norm(&g, conv(&g, at, 32, 3, 1, 1), false);
	past = norm(&g, conv(&g, in, 32, 1, 2, 0), false);
	at = sum(&g, at, past, true);
	weigh(&g, at);
	check("residual block", &g);
}

int main(void)
{
	static const struct plugin_want want = {.name = "onednn",
						.symbol = "windsock_engine",
						.version = ENGINE_VERSION,
						.package = "libdnnl2",
						.build = "libdnnl-dev"};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolutions),
		cmocka_unit_test(convolutions_of_few_pixels),
		cmocka_unit_test(batch_normalization),
		cmocka_unit_test(additions),
		cmocka_unit_test(the_largest_of_each_window),
		cmocka_unit_test(mean_and_dense),
		cmocka_unit_test(a_residual_block),
	};
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};

	(void)setenv("OMP_NUM_THREADS", "1", true);
	engine = plugin_load(&want, &a, &e);
	if (!engine) {
		(void)puts("1..0 # SKIP onednn.so was not built");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
