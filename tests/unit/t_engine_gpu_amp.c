/*
 * 16 bit types, loss scaling, and training where parameters and gradients stay on the GPU:
 * see t_engine_gpu.c for what is proven by stand-ins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/engine_gpu.h"

#include "bench/comm/types.h"
#include "bench/train/random.h"
#include "bench/train/scaler.h"

#include <sys/mman.h>

enum { BATCH = 4, SIDE = 32, CLASSES = 10 };

struct run { /* parameters, gradients and statistics in the host's memory */
	const struct engine *engine;
	struct engine_net *net;
	struct graph g;
	float *params, *grads, *stats, *out;
};

static bool begin_run(struct run *r, const struct engine *engine, net_build *build, int side)
{
	uint64_t state = 5;
	struct err e = {0};

	*r = (struct run){.engine = engine};
	build(&r->g, side, CLASSES);
	r->net = engine->create(&r->g, BATCH, &e);
	r->params = calloc(r->g.nparams, sizeof(float));
	r->grads = calloc(r->g.nparams, sizeof(float));
	r->stats = calloc(r->g.nstats + 1, sizeof(float));
	r->out = calloc((size_t)BATCH * CLASSES, sizeof(float));
	if (!r->net || !r->params || !r->grads || !r->stats || !r->out)
		return FAILED("%s", e.msg);
	for (int i = 0; i < r->g.n; i++) {
		const struct graph_node *node = &r->g.nodes[i];
		float spread = 1 / sqrtf((float)(node->from * (node->k ? node->k * node->k : 1)));

		for (size_t k = 0; k < node->nparams; k++)
			r->params[node->first + k] =
				spread * (2 * random_unit(random_next(&state)) - 1) +
				(node->op == GRAPH_NORM && k < (size_t)node->channels);
	}
	return true;
}

static void end_run(struct run *r)
{
	r->engine->destroy(r->net);
	free(r->params);
	free(r->grads);
	free(r->stats);
	free(r->out);
}

static int nobody(void *arg, int node)
{
	(void)arg;
	(void)node;
	return 0;
}

static void fill(struct run *r, float dout[BATCH * CLASSES])
{
	int inputs = BATCH * r->g.channels * r->g.side * r->g.side;
	float *in = r->engine->input(r->net);
	uint64_t state = 9;

	for (int i = 0; i < inputs; i++)
		in[i] = 2 * random_unit(random_next(&state)) - 1;
	for (int i = 0; i < BATCH * CLASSES; i++)
		dout[i] = random_unit(random_next(&state)) - 0.5f;
}

static bool pass(struct run *r)
{
	float dout[BATCH * CLASSES];

	fill(r, dout);
	memcpy(r->out, r->engine->forward(r->net, r->params, r->stats, true),
	       sizeof(float) * BATCH * CLASSES);
	(void)r->engine->backward(r->net, r->params, dout, r->grads, nobody, NULL);
	return !r->engine->failure(r->net) || FAILED("%s", r->engine->failure(r->net));
}

/* The first eight layers of resnet18: of more, normalization over few values blows up rounding. */
static void graph_beginning(struct graph *g, int side, int classes)
{
	enum { KEPT = 20 };
	struct graph_node *last = &g->nodes[KEPT - 1], *mean = last + 1, *dense = last + 2;

	graph_resnet18(g, side, classes);
	*mean = (struct graph_node){.op = GRAPH_MEAN,
				    .in = KEPT,
				    .channels = last->channels,
				    .side = 1,
				    .from = last->channels,
				    .from_side = last->side};
	*dense = (struct graph_node){.op = GRAPH_DENSE,
				     .in = KEPT + 1,
				     .channels = classes,
				     .side = 1,
				     .from = last->channels,
				     .from_side = 1,
				     .first = last->first,
				     .nparams = (size_t)(classes * (last->channels + 1))};
	g->n = KEPT + 2;
	g->nstats = last->stats;
	g->nparams = dense->first + dense->nparams;
}

/* --- 16 bit types: what float32 gives, to about their precision ------------------------------ */

static const char *reference; /* a file between two processes: each has one precision */

static bool write_reference(const struct engine *engine, net_build *build, int side)
{
	struct run r;
	FILE *out = fopen(reference, "we");
	bool well = out && begin_run(&r, engine, build, side) && pass(&r) &&
		    fwrite(r.out, sizeof(float), (size_t)BATCH * CLASSES, out) &&
		    fwrite(r.grads, sizeof(float), r.g.nparams, out);

	if (out)
		well = !fclose(out) && well;
	end_run(&r);
	return well;
}
static bool write_resnet(const struct engine *g)
{
	return write_reference(g, graph_beginning, SIDE);
}
static bool write_cnn(const struct engine *g) { return write_reference(g, graph_cnn, 28); }

static bool is_grad_alike(const struct run *r, const float *grads, double least)
{
	for (int i = 0; i < r->g.n; i++) {
		size_t at = r->g.nodes[i].first, n = r->g.nodes[i].nparams;

		if (n && alike(r->grads + at, grads + at, n) < least)
			return FAILED("node %d: gradients are only %g alike", i,
				      alike(r->grads + at, grads + at, n));
	}
	return true;
}

/* @off: how far answers may be; @least: how alike gradients have to be. */
static bool is_like_float(const struct engine *engine, net_build *build, int side, double off,
			  double least)
{
	float out[BATCH * CLASSES], *grads;
	FILE *in = fopen(reference, "re");
	struct run r;
	bool well;

	if (!in || !begin_run(&r, engine, build, side) ||
	    !(grads = calloc(r.g.nparams, sizeof(float))))
		return FAILED("cannot begin");
	well = fread(out, sizeof(out), 1, in) &&
	       fread(grads, sizeof(float), r.g.nparams, in) == r.g.nparams;
	(void)fclose(in);
	engine->device->set_scale(1024);
	well = well && pass(&r);
	if (well && apart(r.out, out, ARRAY_LEN(out)) > off)
		well = FAILED("answers are %g apart", apart(r.out, out, ARRAY_LEN(out)));
	well = well && is_grad_alike(&r, grads, least);
	/* gradients come out as if the scale were 1 */
	for (size_t i = 0; i < r.g.nparams; i++)
		out[0] = fmaxf(i ? out[0] : 0, fabsf(r.grads[i]));
	if (well && !(out[0] < 100))
		well = FAILED("the scale was not taken out again");
	end_run(&r);
	free(grads);
	return well;
}
static bool resnet_bf16(const struct engine *g)
{
	return is_like_float(g, graph_beginning, SIDE, 0.05, 0.96);
}
static bool resnet_fp16(const struct engine *g)
{
	return is_like_float(g, graph_beginning, SIDE, 0.01, 0.99);
}
static bool cnn_bf16(const struct engine *g) { return is_like_float(g, graph_cnn, 28, 0.03, 0.99); }
static bool cnn_fp16(const struct engine *g)
{
	return is_like_float(g, graph_cnn, 28, 0.005, 0.999);
}

static void test_types(void **state)
{
	int fd = memfd_create("reference", 0); /* nothing is left of it, however this ends */
	char path[64];

	(void)state;
	assert_true(fd >= 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reference = path;
	if (gpu_is_built()) {
		assert_true(gpu_case(write_cnn, ENGINE_FLOAT32, false, ""));
		assert_true(gpu_case(cnn_bf16, ENGINE_BF16, false, "lazy"));
		assert_true(gpu_case(cnn_fp16, ENGINE_FP16, false, ""));
		assert_true(gpu_case(write_resnet, ENGINE_FLOAT32, false, ""));
		assert_true(gpu_case(resnet_bf16, ENGINE_BF16, false, ""));
		assert_true(gpu_case(resnet_fp16, ENGINE_FP16, false, "lazy"));
	}
	(void)close(fd);
}

/* --- gradients too large for the type ----------------------------------------------------------
 */

static bool overflows(const struct engine *engine)
{
	const struct engine_device *d = engine->device;
	struct err e = {0};
	bool finite = true;
	struct run r;
	float *there;

	if (!begin_run(&r, engine, graph_cnn, 28) || d->alloc(r.g.nparams, &there, &e))
		return FAILED("%s", e.msg);
	d->set_scale(0x1p30f);
	if (!pass(&r) || d->put(there, r.grads, r.g.nparams, &e) ||
	    d->watch(there, r.g.nparams, &e) || d->is_finite(&finite, &e) || finite)
		return FAILED("nobody saw an overflow");
	d->set_scale(256);
	if (!pass(&r) || d->put(there, r.grads, r.g.nparams, &e) ||
	    d->watch(there, r.g.nparams, &e) || d->is_finite(&finite, &e) || !finite)
		return FAILED("an overflow where there is none");
	d->free(there);
	end_run(&r);
	return true;
}

/* The step that a rank takes, parameters there or here: left out where it has to be. */
static bool leaves_out(const struct engine *engine)
{
	const struct sgd s = {0.1f, 0.9f, 0};
	float *velocity, before, scale;
	bool lost = true;
	struct err e = {0};

	for (int there = 0; there < 2; there++) {
		struct net *n = net_new(model_find("mlp"), kernels_best(), engine, BATCH, &e);

		velocity = n ? calloc(n->nparams, sizeof(*velocity)) : NULL;
		if (!velocity || (there && net_device_new(n, NULL, &e)))
			return FAILED("%s", e.msg);
		net_init(n, 1);
		before = n->params[7];
		scale = n->scaler.scale;
		n->grads[7] = INFINITY;
		if (net_store(n, &e) || net_update(n, velocity, &s, &lost, &e) ||
		    net_fetch(n, &e) || lost ||
		    float_to_bits(n->params[7]) != float_to_bits(before))
			return FAILED("an overflow was no reason to leave a step out: %s", e.msg);
		n->grads[7] = 1;
		if (float_to_bits(n->scaler.scale) != float_to_bits(scale / 2) ||
		    n->scaler.skipped != 1 || net_update(n, velocity, &s, &lost, &e) ||
		    net_fetch(n, &e) || fabsf(n->params[7] - (before - 0.1f)) > 1e-6f)
			return FAILED("the step after it was none: %s", e.msg);
		net_free(n);
		free(velocity);
	}
	return true;
}

static void test_overflow(void **state)
{
	(void)state;
	if (!gpu_is_built())
		skip();
	assert_true(gpu_case(overflows, ENGINE_FP16, false, "lazy"));
	assert_true(gpu_case(leaves_out, ENGINE_FP16, false, "lazy"));
}

static float told;
static void tell(float scale) { told = scale; }
static bool yes(void) { return true; }
static bool no(void) { return false; }

static void test_scaler(void **state)
{
	struct engine_device device = {.is_scaled = yes, .set_scale = tell};
	const struct engine engine = {.device = &device};
	struct scaler s;
	bool lost;

	(void)state;
	scaler_init(&s, &engine);
	assert_true(told == 65536);
	assert_false(scaler_judge(&s, false, &lost));
	assert_false(lost);
	assert_true(told == 32768 && s.skipped == 1);
	for (int i = 0; i < SCALER_PATIENCE; i++) {
		assert_true(told == 32768);
		assert_true(scaler_judge(&s, true, &lost));
	}
	assert_true(told == 65536);
	for (int i = 0; i < 16; i++)
		assert_false(scaler_judge(&s, false, &lost));
	assert_true(told == 1 && !lost);
	assert_false(scaler_judge(&s, false, &lost));
	assert_true(lost); /* not the scale's fault */

	device.is_scaled = no;
	told = 7;
	scaler_init(&s, &engine);
	for (int i = 0; i < 2 * SCALER_PATIENCE; i++)
		assert_true(scaler_judge(&s, true, &lost));
	assert_true(told == 7 && s.scale == 1);
	assert_false(scaler_judge(&s, false, &lost));
	assert_true(lost);
	scaler_init(&s, NULL);
	assert_true(scaler_judge(&s, true, &lost));
}

/* --- on the GPU from step to step, with a communicator's stream beside
 * ---------------------------- */

/* The driver's stand-in has these for whoever plays a communicator. */
typedef int create_stream(void **stream, unsigned flags);
typedef int launch_host(void *stream, void (*f)(void *arg), void *arg);

struct peer { /* another rank, whose gradients are the double of ours: the average is 1.5 times */
	const struct engine_device *device;
	void *stream;
	launch_host *launch;
	float *grads;
	const struct graph *g;
	bool is_hasty; /* does not wait for the gradients */
	struct average {
		float *p;
		size_t n;
	} jobs[GRAPH_NODES_MAX];
};

static void average(void *arg)
{
	struct average *a = arg;

	for (size_t i = 0; i < a->n; i++)
		a->p[i] *= 1.5f;
}

static int reduce(void *arg, int node)
{
	struct peer *p = arg;
	const struct graph_node *at = &p->g->nodes[node];
	struct err e = {0};

	p->jobs[node] = (struct average){p->grads + at->first, at->nparams};
	if (!p->is_hasty && p->device->before(p->stream, &e))
		return -1;
	return p->launch(p->stream, average, &p->jobs[node]);
}

/* One step there; @ret: the parameters after it. */
static bool step_there(struct run *r, bool is_hasty, float *ret)
{
	const struct engine_device *d = r->engine->device;
	create_stream *create = (create_stream *)(uintptr_t)dlsym(RTLD_DEFAULT, "cuStreamCreate");
	struct peer p = {.device = d,
			 .launch =
				 (launch_host *)(uintptr_t)dlsym(RTLD_DEFAULT, "cuLaunchHostFunc"),
			 .g = &r->g,
			 .is_hasty = is_hasty};
	float dout[BATCH * CLASSES], *params, *velocity;
	size_t n = r->g.nparams;
	struct err e = {0};

	if (create(&p.stream, 1) || d->alloc(n, &params, &e) || d->alloc(n, &velocity, &e) ||
	    d->alloc(n, &p.grads, &e) || d->put(params, r->params, n, &e))
		return FAILED("%s", e.msg);
	fill(r, dout);
	(void)r->engine->forward(r->net, params, r->stats, true);
	if (r->engine->backward(r->net, params, dout, p.grads, reduce, &p) ||
	    d->after(p.stream, &e) ||
	    d->sgd(n, params, velocity, p.grads, (struct sgd){0.1f, 0.9f, 0.01f}, &e) ||
	    d->get(ret, params, n, &e) || r->engine->failure(r->net))
		return FAILED("%s %s", e.msg, r->engine->failure(r->net));
	d->free(params);
	d->free(velocity);
	d->free(p.grads);
	return true;
}

static bool stays_there(const struct engine *engine)
{
	struct run r;
	float *there, worst;
	size_t n;

	if (!begin_run(&r, engine, graph_cnn, 28) || !pass(&r))
		return false;
	n = r.g.nparams;
	there = calloc(n, sizeof(float));
	if (!there || !step_there(&r, false, there))
		return false;
	for (size_t i = 0; i < n; i++) {
		float g = 1.5f * r.grads[i] + 0.01f * r.params[i];

		worst = fabsf(there[i] - (r.params[i] - 0.1f * g));
		if (!(worst < 1e-6f))
			return FAILED("parameter %zu is %g off", i, (double)worst);
	}
	/* this test would see a stream that does not wait */
	if (!step_there(&r, true, there))
		return false;
	for (size_t i = 0; i < n; i++)
		r.grads[i] = r.params[i] - 0.1f * (1.5f * r.grads[i] + 0.01f * r.params[i]);
	if (apart(there, r.grads, n) < 1e-4)
		return FAILED("what was not waited for was there all the same");
	free(there);
	end_run(&r);
	return true;
}

/* Gradients of both ways, and of the same again, bit by bit. */
static bool is_the_same_again(const struct engine *engine)
{
	float dout[BATCH * CLASSES], *params, *grads, *other;
	const struct engine_device *d = engine->device;
	struct err e = {0};
	struct run r;
	size_t n;

	if (!begin_run(&r, engine, graph_resnet18, SIDE) || !pass(&r))
		return false;
	n = r.g.nparams;
	other = calloc(n, sizeof(float));
	if (!other || d->alloc(n, &params, &e) || d->alloc(n, &grads, &e) ||
	    d->put(params, r.params, n, &e))
		return FAILED("%s", e.msg);
	for (int times = 0; times < 2; times++) {
		fill(&r, dout);
		(void)engine->forward(r.net, params, r.stats, true);
		if (engine->backward(r.net, params, dout, grads, nobody, NULL) ||
		    d->get(other, grads, n, &e) || memcmp(other, r.grads, n * sizeof(float)))
			return FAILED("other bits: %s", e.msg);
	}
	free(other);
	end_run(&r);
	return true;
}

static void test_there(void **state)
{
	(void)state;
	if (!gpu_is_built())
		skip();
	assert_true(gpu_case(stays_there, ENGINE_FLOAT32, false, "lazy"));
	assert_true(gpu_case(is_the_same_again, ENGINE_FLOAT32, false, "lazy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_scaler),
		cmocka_unit_test(test_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
