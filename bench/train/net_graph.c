/* A network that a plug-in runs: the same faces as the built-in one. */
#include "bench/train/net.h"
#include "bench/train/random.h"

#include <math.h>

static float *zeroed(size_t n)
{
	size_t bytes = (n * sizeof(float) + 63) / 64 * 64;
	float *p = aligned_alloc(64, bytes);

	return p ? memset(p, 0, bytes) : NULL;
}

net_build *net_builder(const struct model *m, const struct engine *engine)
{
	return m->graph ? m->graph : engine && engine->device ? m->device_graph : NULL;
}

int net_graph_new(struct net *n, struct err *e)
{
	n->graph = calloc(1, sizeof(*n->graph));
	if (!n->graph)
		return err_sys(e, "no memory for a network");
	net_builder(n->model, n->engine)(n->graph, n->model->side, NET_CLASSES);
	n->nparts = n->graph->n;
	n->nparams = n->graph->nparams;
	n->nstats = n->graph->nstats;
	for (int i = 0; i < n->nparts; i++)
		n->first[i] = n->graph->nodes[i].first;
	n->first[n->nparts] = n->nparams;
	n->params = zeroed(n->nparams);
	n->grads = zeroed(n->nparams + NET_EXTRA);
	n->stats = zeroed(n->nstats);
	n->dout = zeroed((size_t)n->batch * NET_CLASSES);
	n->labels = calloc((size_t)n->batch, sizeof(*n->labels));
	if (!n->params || !n->grads || !n->stats || !n->dout || !n->labels)
		return err_sys(e, "no memory for %zu parameters", n->nparams);
	scaler_init(&n->scaler, n->engine);
	n->whole = n->engine->create(n->graph, n->batch, e);
	return n->whole ? 0 : -1;
}

void net_graph_free(struct net *n)
{
	net_device_free(n);
	if (n->engine) {
		n->engine->destroy(n->whole);
		n->engine->destroy(n->rest);
	}
	free(n->graph);
	free(n->stats);
	free(n->dout);
}

/* Normal, by Box and Muller. */
static float normal(uint64_t *state)
{
	float u = random_unit(random_next(state)) + 0x1p-25f;

	return sqrtf(-2 * logf(u)) * cosf(6.2831853f * random_unit(random_next(state)));
}

static float fan_in(const struct graph_node *node)
{
	int k = node->op == GRAPH_CONV ? node->k : node->from_side;

	return (float)(node->from * k * k);
}

/*
 * As torchvision does: convolutions by He and others (fan-out), PyTorch's default for the
 * rest, and for all with a bias: as the built-in loops begin.
 */
void net_graph_init(struct net *n, uint64_t seed)
{
	uint64_t state = random_mix(seed);
	float *params = n->grads; /* nothing is in there yet */

	for (int i = 0; i < n->graph->n; i++) {
		const struct graph_node *node = &n->graph->nodes[i];
		float *p = params + node->first, bound = 1 / sqrtf(fan_in(node));
		float spread = sqrtf(2.0f / (float)(node->channels * node->k * node->k + !node->k));

		for (size_t k = 0; k < node->nparams; k++)
			p[k] = node->op == GRAPH_CONV && !node->bias ? spread * normal(&state)
			       : node->op == GRAPH_NORM
				       ? (float)(k < (size_t)node->channels)
				       : (2 * random_unit(random_next(&state)) - 1) * bound;
		for (int c = 0; c < node->channels && node->op == GRAPH_NORM; c++) {
			n->stats[node->stats + (size_t)c] = 0;
			n->stats[node->stats + (size_t)(node->channels + c)] = 1;
		}
	}
	(void)n->engine->convert(n->whole, params, n->params, false);
}

/* A smaller batch is another network to train, but only fewer answers to look at. */
int net_graph_begin(struct net *n, int samples, struct err *e)
{
	n->samples = samples;
	n->now = n->whole;
	if (samples == n->batch || n->is_validating)
		return 0;
	if (!n->rest || n->rest_samples != samples) {
		n->engine->destroy(n->rest);
		n->rest = n->engine->create(n->graph, samples, e);
		n->rest_samples = samples;
	}
	n->now = n->rest;
	return n->now ? 0 : -1;
}

void net_graph_put(struct net *n, int i, const float *pixels, int label)
{
	size_t inputs = (size_t)(n->graph->channels * n->graph->side * n->graph->side);

	memcpy(n->engine->input(n->now) + (size_t)i * inputs, pixels, inputs * sizeof(float));
	n->labels[i] = label;
}

struct net_score net_graph_forward(struct net *n)
{
	const float *out;
	struct net_score s = {0};

	for (int i = 0; i < n->nparts; i++)
		if (net_before(n, i))
			return (struct net_score){.loss = NAN};
	out = n->engine->forward(n->now, n->there ? n->there->params : n->params, n->stats,
				 !n->is_validating);
	for (int i = 0; i < n->samples; i++)
		net_score(out + i * NET_CLASSES, n->dout + i * NET_CLASSES, 1, n->labels[i],
			  n->samples, &s);
	return s;
}

static int nobody(void *arg UNUSED, int part UNUSED) { return 0; }

int net_graph_backward(struct net *n, int (*done)(void *arg, int part), void *arg)
{
	struct net_device *t = n->there;
	bool keeps = t && t->keeps_grads;

	return n->engine->backward(n->now, t ? t->params : n->params, n->dout,
				   keeps ? t->grads : n->grads, done ? done : nobody, arg);
}
