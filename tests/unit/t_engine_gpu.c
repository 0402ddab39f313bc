/*
 * The engine for GPUs against those for the CPU: the same network, the same samples, the
 * same steps. Its own kernels run here as they are, convolutions and products are the
 * stand-ins': what is proven is the order of things, every gradient, and what travels
 * when; not the vendor's libraries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/engine_gpu.h"

#include "bench/train/digits.h"
#include "bench/train/random.h"

enum { BATCH = 5, REST = 3, STEPS = 3 };

/* --- mlp and cnn: against the built-in loops ------------------------------------------------ */

static bool put_digits(struct net *n, int samples, uint64_t from)
{
	float pixels[NET_INPUTS];
	struct err e = {0};

	if (net_begin(n, samples, &e))
		return FAILED("%s", e.msg);
	for (int i = 0; i < samples; i++) {
		int label = digit_make(7, from + (uint64_t)i, pixels);

		net_put(n, i, pixels, label);
	}
	return true;
}

static bool is_step_alike(struct net *ours, struct net *theirs, int samples, uint64_t from,
			  float *velocity)
{
	static const struct sgd step = {.lr = 0.1f, .momentum = 0.9f, .decay = 1e-4f};
	struct net_score a, b;
	size_t n = ours->nparams;

	if (!put_digits(ours, samples, from) || !put_digits(theirs, samples, from))
		return false;
	a = net_forward(ours);
	b = net_forward(theirs);
	if (!(fabs(a.loss - b.loss) < 1e-5) || a.top1 != b.top1 || a.top5 != b.top5)
		return FAILED("loss %g, not %g", a.loss, b.loss);
	if (net_backward(ours, NULL, NULL) || net_backward(theirs, NULL, NULL) || net_failure(ours))
		return FAILED("backward: %s", net_failure(ours));
	if (apart(ours->grads, theirs->grads, n) > 1e-5)
		return FAILED("gradients are %g apart", apart(ours->grads, theirs->grads, n));
	ours->k->sgd(n, ours->params, velocity, ours->grads, step);
	theirs->k->sgd(n, theirs->params, velocity + n, theirs->grads, step);
	return apart(ours->params, theirs->params, n) < 1e-5 || FAILED("parameters differ");
}

static bool trains_like_the_loops(const struct engine *engine, const char *name)
{
	const struct model *m = model_find(name);
	struct err e = {0};
	struct net *ours = net_new(m, kernels_best(), engine, BATCH, &e);
	struct net *theirs = net_new(m, kernels_best(), NULL, BATCH, &e);
	float *velocity = theirs ? calloc(2 * theirs->nparams, sizeof(*velocity)) : NULL;
	bool well = ours && velocity && ours->nparams == theirs->nparams;

	if (!well)
		return FAILED("%s", e.msg);
	net_init(ours, 3);
	net_init(theirs, 3);
	if (memcmp(ours->params, theirs->params, ours->nparams * sizeof(float)))
		return FAILED("they begin differently");
	for (int step = 0; step < STEPS && well; step++)
		well = is_step_alike(ours, theirs, step == 1 ? REST : BATCH,
				     (uint64_t)(step * BATCH), velocity);
	net_free(ours);
	net_free(theirs);
	free(velocity);
	return well;
}
static bool trains_cnn(const struct engine *g) { return trains_like_the_loops(g, "cnn"); }
static bool trains_mlp(const struct engine *g) { return trains_like_the_loops(g, "mlp"); }

static void test_small(void **state)
{
	(void)state;
	if (!gpu_is_built())
		skip();
	assert_true(gpu_case(trains_cnn, ENGINE_FLOAT32, false, ""));
	assert_true(gpu_case(trains_cnn, ENGINE_FLOAT32, true, "lazy"));
	assert_true(gpu_case(trains_mlp, ENGINE_FLOAT32, false, "lazy"));
}

/* --- resnet18: against oneDNN ---------------------------------------------------------------- */

enum { SIDE = 32, CLASSES = 10 };

struct run { /* of one engine; parameters in PyTorch's order */
	const struct engine *engine;
	struct engine_net *net;
	float *params, *plain, *grads, *stats;
	const float *out;
};

static const struct engine *cpu_engine(void)
{
	const struct plugin_want want = {"onednn", "windsock_engine", ENGINE_VERSION, "", ""};
	static struct arena arena;
	struct err e;

	return plugin_load(&want, &arena, &e);
}

static bool begin_run(struct run *r, const struct engine *engine, const struct graph *g)
{
	uint64_t state = 5;
	struct err e = {0};

	*r = (struct run){.engine = engine, .net = engine->create(g, REST, &e)};
	r->params = calloc(g->nparams, sizeof(float));
	r->plain = calloc(g->nparams, sizeof(float));
	r->grads = calloc(g->nparams, sizeof(float));
	r->stats = calloc(g->nstats, sizeof(float));
	if (!r->net || !r->params || !r->plain || !r->grads || !r->stats)
		return FAILED("%s", e.msg);
	for (int i = 0; i < g->n; i++) {
		const struct graph_node *node = &g->nodes[i];
		float spread = node->op == GRAPH_NORM ? 0.5f : 0.1f;

		for (size_t k = 0; k < node->nparams; k++)
			r->plain[node->first + k] =
				spread * (random_unit(random_next(&state)) - 0.5f) +
				(node->op == GRAPH_NORM && k < (size_t)node->channels);
	}
	for (size_t i = 0; i < g->nstats; i++)
		r->stats[i] = 0.5f + random_unit(random_next(&state));
	return !engine->convert(r->net, r->plain, r->params, false);
}

static void end_run(struct run *r)
{
	r->engine->destroy(r->net);
	free(r->params);
	free(r->plain);
	free(r->grads);
	free(r->stats);
}

static int last_of(void *arg, int node)
{
	int *last = arg;

	return *last == node + 1 ? ((*last)--, 0) : 1; /* in order, none left out */
}

/* Forward and backward; gradients to @grads in PyTorch's order. */
static bool pass(struct run *r, const struct graph *g, float *grads)
{
	float dout[REST * CLASSES], *in = r->engine->input(r->net);
	uint64_t state = 9;
	int last = g->n;

	for (int i = 0; i < REST * 3 * SIDE * SIDE; i++)
		in[i] = 2 * random_unit(random_next(&state)) - 1;
	for (int i = 0; i < REST * CLASSES; i++)
		dout[i] = random_unit(random_next(&state)) - 0.5f;
	r->out = r->engine->forward(r->net, r->params, r->stats, true);
	if (r->engine->backward(r->net, r->params, dout, r->grads, last_of, &last) || last)
		return FAILED("done() was not called for each");
	return (!r->engine->convert(r->net, r->grads, grads, true) &&
		!r->engine->failure(r->net)) ||
	       FAILED("%s", r->engine->failure(r->net));
}

static bool is_like_onednn(const struct engine *engine)
{
	const struct engine *cpu = cpu_engine();
	static struct graph g;
	struct run a = {.engine = engine}, b = {.engine = cpu};
	float *ga, *gb;
	bool well;

	graph_resnet18(&g, SIDE, CLASSES);
	if (!cpu)
		return true; /* no oneDNN to compare with */
	ga = calloc(2 * g.nparams, sizeof(*ga));
	gb = ga + g.nparams;
	if (!ga || !begin_run(&a, engine, &g) || !begin_run(&b, cpu, &g))
		return false;
	well = pass(&a, &g, ga) && pass(&b, &g, gb);
	if (well && apart(a.out, b.out, (size_t)REST * CLASSES) > 1e-4)
		well = FAILED("answers are %g apart", apart(a.out, b.out, (size_t)REST * CLASSES));
	if (well && apart(a.stats, b.stats, g.nstats) > 1e-4)
		well = FAILED("statistics are %g apart", apart(a.stats, b.stats, g.nstats));
	for (int i = 0; i < g.n && well; i++) {
		size_t at = g.nodes[i].first, n = g.nodes[i].nparams;

		if (n && apart(ga + at, gb + at, n) > 1e-2)
			well = FAILED("node %d: gradients are %g apart", i,
				      apart(ga + at, gb + at, n));
	}
	a.out = engine->forward(a.net, a.params, a.stats, false);
	b.out = cpu->forward(b.net, b.params, b.stats, false);
	if (well && apart(a.out, b.out, (size_t)REST * CLASSES) > 1e-4)
		well = FAILED("by running statistics: answers are %g apart",
			      apart(a.out, b.out, (size_t)REST * CLASSES));
	end_run(&a);
	end_run(&b);
	free(ga);
	return well;
}

static void test_resnet18(void **state)
{
	(void)state;
	if (!gpu_is_built())
		skip();
	assert_true(gpu_case(is_like_onednn, ENGINE_FLOAT32, false, "lazy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_resnet18),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
