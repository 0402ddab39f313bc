/*
 * What tests/diff/diff-train compares with PyTorch, as raw numbers on stdout.
 *
 *	train_dump net MODEL KERNELS BATCH STEPS   int32 parameters; float parameters; then
 *	                                  of each step: pixels, int32 labels, float loss,
 *	                                  gradients, parameters after it; in the end the
 *	                                  running statistics
 *	train_dump sampler SAMPLES RANKS DROP SHUFFLE EPOCH   one line of indices per rank
 */
#include "bench/train/data.h"
#include "bench/train/net.h"
#include "bench/train/random.h"
#include "bench/train/sampler.h"
#include "lib/core/plugin.h"
#include "lib/core/units.h"

static const float LR = 0.05f, GRAPH_LR = 0.001f, MOMENTUM = 0.9f,
		   DECAY = 0.01f; /* as in diff-train */

static float *plain; /* room for parameters in PyTorch's layouts */

static void put(const void *p, size_t n) { (void)!fwrite(p, 1, n, stdout); }

static void put_params(struct net *n, const float *p)
{
	if (n->graph && !n->engine->convert(n->whole, p, plain, true))
		p = plain;
	put(p, n->nparams * sizeof(float));
}

/* Of parameters and samples. */
static uint64_t seed(void)
{
	const char *given = getenv("SEED");
	uint64_t n = 0;

	return given && !parse_uint(given, &n) ? n : 0;
}

/* Neighbours that are alike would be a draw for the pooling, which rounding decides. */
static int noise(const struct model *m, uint64_t sample, float *pixels)
{
	uint64_t state = random_mix(sample + (seed() << 32));

	for (int i = 0; i < m->channels * m->side * m->side; i++)
		pixels[i] = 4 * random_unit(random_next(&state)) - 2;
	return (int)(random_next(&state) % NET_CLASSES);
}

static int step(struct net *n, float *velocity, int step)
{
	const struct data made = {.is_made = true, .seed = 3 + seed()};
	static float pixels[NET_PIXELS_MAX];
	const struct sgd descent = {n->graph ? GRAPH_LR : LR, MOMENTUM, DECAY};
	int channels = n->model->channels, side = n->model->side;
	struct err e;
	float loss;

	if (net_begin(n, n->batch, &e))
		return 3;
	for (int i = 0; i < n->batch; i++) {
		net_put(n, i, pixels,
			n->graph ? noise(n->model, (uint64_t)(step * n->batch + i), pixels)
				 : data_get(&made, DATA_TRAIN, (size_t)(step * n->batch + i),
					    channels, side, pixels));
		put(pixels, (size_t)(channels * side * side) * sizeof(float));
	}
	put(n->labels, (size_t)n->batch * sizeof(*n->labels));
	loss = (float)net_forward(n).loss;
	(void)net_backward(n, NULL, NULL);
	put(&loss, sizeof(loss));
	put_params(n, n->grads);
	n->k->sgd(n->nparams, n->params, velocity, n->grads, descent);
	put_params(n, n->params);
	return net_failure(n) ? 3 : 0;
}

static const struct engine *load_engine(struct arena *a)
{
	static const struct plugin_want want = {"onednn", "windsock_engine", ENGINE_VERSION, "",
						""};
	struct err e;

	return plugin_load(&want, a, &e);
}

/* What this machine lacks, as diff-train knows it. */
enum { NO_SUCH_KERNELS = 4, NO_ENGINE = 5 };

static int dump_net(const char *name, uint64_t set, uint64_t batch, uint64_t steps)
{
	const struct model *m = model_find(name);
	const struct kernels *k = kernels_of((enum kernel_set)set);
	AUTO(arena_done) struct arena a = {0};
	const struct engine *engine = m && m->graph ? load_engine(&a) : NULL;
	bool can = m && k && (engine || !m->graph);
	struct err e;
	struct net *n = can ? net_new(m, k, engine, (int)batch, &e) : NULL;
	float *velocity = n ? calloc(n->nparams, sizeof(*velocity)) : NULL;
	int32_t nparams;

	plain = n ? calloc(n->nparams, sizeof(*plain)) : NULL;
	if (m && !k)
		return NO_SUCH_KERNELS;
	if (m && m->graph && !engine)
		return NO_ENGINE;
	if (!velocity || !plain)
		return 3;
	net_init(n, 11 + seed());
	nparams = (int32_t)n->nparams;
	put(&nparams, sizeof(nparams));
	put_params(n, n->params);
	for (uint64_t i = 0; i < steps; i++)
		if (step(n, velocity, (int)i))
			return 3;
	put(n->stats, n->nstats * sizeof(float));
	free(velocity);
	free(plain);
	net_free(n);
	return 0;
}

static int dump_sampler(const uint64_t *v)
{
	struct sampler s = {
		.seed = 5, .samples = v[0], .ranks = (int)v[1], .drop_last = v[2], .shuffle = v[3]};
	struct err e;

	if (sampler_begin(&s, v[4], &e))
		return 3;
	for (int r = 0; r < s.ranks; r++) {
		for (size_t i = 0; i < sampler_per_rank(&s); i++)
			printf("%s%zu", i ? " " : "", sampler_at(&s, r, i));
		printf("\n");
	}
	sampler_done(&s);
	return 0;
}

int main(int argc, char **argv)
{
	bool is_net = argc == 6 && streq(argv[1], "net");
	uint64_t v[5] = {0};

	if (!is_net && (argc != 7 || !streq(argv[1], "sampler")))
		return 2;
	for (int i = is_net ? 3 : 2; i < argc; i++)
		if (parse_uint(argv[i], &v[i - (is_net ? 3 : 2)]))
			return 2;
	return is_net ? dump_net(argv[2], v[0], v[1], v[2]) : dump_sampler(v);
}
