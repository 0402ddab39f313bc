#include "bench/train/net.h"

#include "bench/train/random.h"

#include <math.h>

#define CONV(i, o, s)                                                                              \
	{                                                                                          \
		.is_conv = true, .conv = {.in = i, .out = o, .side = s }                           \
	}
#define DENSE(i, o, r)                                                                             \
	{                                                                                          \
		.dense = {.in = i, .out = o, .relu = r }                                           \
	}

static const struct model models[] = {
	{"cnn",
	 "two convolutions",
	 1,
	 28,
	 NULL,
	 graph_cnn,
	 {CONV(1, 10, 28), CONV(10, 20, 12), DENSE(320, 50, true), DENSE(50, NET_CLASSES, false)},
	 4},
	{"mlp",
	 "two dense layers",
	 1,
	 28,
	 NULL,
	 graph_mlp,
	 {DENSE(NET_INPUTS, 100, true), DENSE(100, NET_CLASSES, false)},
	 2},
	{.name = "resnet18",
	 .help = "torchvision's, by oneDNN or cuDNN",
	 .channels = 3,
	 .side = 96,
	 .graph = graph_resnet18},
};
const char *const model_names[] = {"cnn", "mlp", "resnet18", NULL};

const struct model *model_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(models); i++)
		if (streq(models[i].name, name))
			return &models[i];
	return NULL;
}

/* --- sizes ------------------------------------------------------------------- */

static int conv_rows(const struct layer *l) { return l->conv.side - CONV_K + 1; }

static size_t outputs(const struct layer *l)
{
	int half = conv_rows(l) / 2;

	return l->is_conv ? (size_t)(l->conv.out * half * half) : (size_t)l->dense.out;
}

static size_t biases(const struct layer *l)
{
	return (size_t)(l->is_conv ? l->conv.out : l->dense.out);
}

static size_t fan_in(const struct layer *l)
{
	return (size_t)(l->is_conv ? l->conv.in * CONV_TAPS : l->dense.in);
}

static size_t weights(const struct layer *l) { return biases(l) * fan_in(l); }

static size_t blocks(const struct net *n, int samples)
{
	return ((size_t)samples + (size_t)n->k->lanes - 1) / (size_t)n->k->lanes;
}

/* --- life -------------------------------------------------------------------- */

static void *floats(size_t n, bool *failed)
{
	size_t bytes = (n * sizeof(float) + 63) / 64 * 64;
	void *p = aligned_alloc(64, bytes);

	if (p)
		memset(p, 0, bytes);
	*failed |= !p;
	return p;
}

static size_t max(size_t a, size_t b) { return a > b ? a : b; }

static bool allocate(struct net *n)
{
	size_t lanes = (size_t)n->k->lanes, width = lanes * blocks(n, n->batch);
	size_t da = 0, sums = 0, most = 1, in = NET_INPUTS;
	bool failed = false;

	for (int i = 0; i < n->model->nlayers; i++) {
		const struct layer *l = &n->model->layers[i];

		n->first[i + 1] = n->first[i] + weights(l) + biases(l);
		n->out[i + 1] = floats(outputs(l) * width, &failed);
		n->back[i + 1] = floats(outputs(l) * width, &failed);
		if (l->is_conv) {
			n->sel[i] = floats(outputs(l) * width, &failed);
			da = max(da, outputs(l) * 4);
			sums = max(sums, weights(l));
		}
		most = max(most, max(in, outputs(l)));
		in = outputs(l);
	}
	n->nparts = n->model->nlayers;
	n->nparams = n->first[n->nparts];
	n->params = floats(n->nparams, &failed);
	n->grads = floats(n->nparams + NET_EXTRA, &failed);
	n->out[0] = floats(NET_INPUTS * width, &failed);
	n->da = floats(da * lanes, &failed);
	n->sums = floats(sums * lanes, &failed);
	n->bias = floats(most * lanes, &failed);
	n->rows_in = floats(most * width, &failed);
	n->rows_out = floats(most * width, &failed);
	n->labels = floats(width, &failed);
	return !failed;
}

struct net *net_new(const struct model *m, const struct kernels *k, const struct engine *engine,
		    int batch, struct err *e)
{
	struct net *n = calloc(1, sizeof(*n));

	if (n)
		*n = (struct net){.model = m, .k = k, .engine = engine, .batch = batch};
	if (n && net_builder(m, engine)) {
		if (!net_graph_new(n, e))
			return n;
		net_free(n);
		return NULL;
	}
	if (n && allocate(n))
		return n;
	net_free(n);
	err_sys(e, "no memory for a batch of %d", batch);
	return NULL;
}

void net_free(struct net *n)
{
	if (!n)
		return;
	net_graph_free(n);
	for (int i = 0; i <= NET_LAYERS_MAX; i++) {
		free(n->out[i]);
		free(n->back[i]);
		free(i < NET_LAYERS_MAX ? n->sel[i] : NULL);
	}
	free(n->params);
	free(n->grads);
	free(n->da);
	free(n->sums);
	free(n->bias);
	free(n->rows_in);
	free(n->rows_out);
	free(n->labels);
	free(n);
}

void net_init(struct net *n, uint64_t seed)
{
	uint64_t state = random_mix(seed);

	if (n->graph) {
		net_graph_init(n, seed);
		return;
	}
	for (int i = 0; i < n->model->nlayers; i++) {
		float bound = 1 / sqrtf((float)fan_in(&n->model->layers[i]));

		for (size_t p = n->first[i]; p < n->first[i + 1]; p++)
			n->params[p] = (2 * random_unit(random_next(&state)) - 1) * bound;
	}
}

/* --- forward ----------------------------------------------------------------- */

int net_begin(struct net *n, int samples, struct err *e)
{
	size_t lanes = (size_t)n->k->lanes;

	if (n->graph)
		return net_graph_begin(n, samples, e);

	n->samples = samples;
	if ((size_t)samples % lanes) /* the last block has lanes that nobody fills */
		memset(n->out[0] + (blocks(n, samples) - 1) * lanes * NET_INPUTS, 0,
		       lanes * NET_INPUTS * sizeof(float));
	return 0;
}

void net_put(struct net *n, int i, const float *pixels, int label)
{
	int lanes = n->k->lanes;
	float *to;

	if (n->graph) {
		net_graph_put(n, i, pixels, label);
		return;
	}
	to = n->out[0] + (size_t)(i / lanes) * NET_INPUTS * (size_t)lanes + i % lanes;

	for (int p = 0; p < NET_INPUTS; p++)
		to[p * lanes] = pixels[p];
	n->labels[i] = label;
}

void net_score(const float *z, float *dz, int lanes, int label, int samples, struct net_score *s)
{
	float most = z[0], sum = 0, of_label = z[label * lanes], p[NET_CLASSES];
	int above = 0;

	for (int c = 1; c < NET_CLASSES; c++)
		most = z[c * lanes] > most ? z[c * lanes] : most;
	for (int c = 0; c < NET_CLASSES; c++) {
		sum += p[c] = expf(z[c * lanes] - most);
		/* what is not a number is not right */
		above += c != label && !(z[c * lanes] < of_label);
	}
	for (int c = 0; c < NET_CLASSES; c++)
		dz[c * lanes] = (p[c] / sum - (float)(c == label)) / (float)samples;
	s->loss += (double)(logf(sum) + most - of_label) / samples;
	s->top1 += above < 1;
	s->top5 += above < 5;
}

struct net_score net_forward(struct net *n)
{
	size_t lanes = (size_t)n->k->lanes, in = NET_INPUTS;
	int last = n->model->nlayers, width = n->k->lanes;
	struct net_score s = {0};

	if (n->graph)
		return net_graph_forward(n);
	for (int i = 0; i < last; in = outputs(&n->model->layers[i++])) {
		const struct layer *l = &n->model->layers[i];
		const float *w = n->params + n->first[i], *b = w + weights(l);

		if (net_before(n, i))
			return (struct net_score){.loss = NAN};
		for (size_t at = 0; at < blocks(n, n->samples); at++) {
			size_t to = at * outputs(l) * lanes;
			const float *x = n->out[i] + at * in * lanes;

			if (l->is_conv)
				n->k->conv(&l->conv, x, w, b, n->out[i + 1] + to, n->sel[i] + to);
			else
				n->k->dense(&l->dense, x, w, b, n->out[i + 1] + to);
		}
	}
	memset(n->back[last], 0, blocks(n, n->samples) * lanes * NET_CLASSES * sizeof(float));
	for (int i = 0; i < n->samples; i++) {
		size_t at = (size_t)(i / width) * NET_CLASSES * lanes + (size_t)(i % width);

		net_score(n->out[last] + at, n->back[last] + at, width, n->labels[i], n->samples,
			  &s);
	}
	return s;
}

/* --- backward ---------------------------------------------------------------- */

struct pass {
	struct net *n;
	int (*done)(void *arg, int layer);
	void *arg;
};

static int breathe(const struct pass *p, int layer) { return p->done ? p->done(p->arg, layer) : 0; }

/* [block][feature][lane] becomes [sample][feature]. */
static void to_rows(const struct net *n, const float *from, size_t features, float *to)
{
	size_t lanes = (size_t)n->k->lanes;

	for (size_t at = 0; at < blocks(n, n->samples); at++, to += lanes * features)
		for (size_t f = 0; f < features; f++, from += lanes)
			for (size_t i = 0; i < lanes; i++)
				to[i * features + f] = from[i];
}

static int dense_back(const struct pass *p, int i)
{
	struct net *n = p->n;
	const struct dense *d = &n->model->layers[i].dense;
	const float *w = n->params + n->first[i];
	size_t lanes = (size_t)n->k->lanes, nblocks = blocks(n, n->samples);
	float *gw = n->grads + n->first[i];

	for (size_t at = 0; at < nblocks; at++) {
		size_t to = at * (size_t)d->out * lanes;
		const float *dout = n->back[i + 1] + to;

		if (d->relu)
			n->k->relu_back(n->out[i + 1] + to, n->back[i + 1] + to, d->out);
		if (i)
			n->k->dense_dx(d, dout, w, n->back[i] + at * (size_t)d->in * lanes);
	}
	to_rows(n, n->back[i + 1], (size_t)d->out, n->rows_out);
	to_rows(n, n->out[i], (size_t)d->in, n->rows_in);
	n->k->dense_dw(d, (int)(nblocks * lanes), n->rows_out, n->rows_in, gw,
		       gw + weights(&n->model->layers[i]));
	return breathe(p, i);
}

static int conv_back(const struct pass *p, int i)
{
	struct net *n = p->n;
	const struct layer *l = &n->model->layers[i];
	size_t lanes = (size_t)n->k->lanes;
	size_t in = (size_t)(l->conv.in * l->conv.side * l->conv.side);
	float *gw = n->grads + n->first[i];

	memset(n->sums, 0, weights(l) * lanes * sizeof(float));
	memset(n->bias, 0, biases(l) * lanes * sizeof(float));
	for (size_t at = 0; at < blocks(n, n->samples); at++) {
		size_t to = at * outputs(l) * lanes;

		n->k->conv_unpool(&l->conv, n->back[i + 1] + to, n->sel[i] + to, n->da, n->bias);
		n->k->conv_dw(&l->conv, n->out[i] + at * in * lanes, n->da, n->sums);
		if (i)
			n->k->conv_dx(&l->conv, n->da, n->params + n->first[i],
				      n->back[i] + at * in * lanes);
		if (breathe(p, -1))
			return -1;
	}
	n->k->conv_dw_end(&l->conv, n->sums, n->bias, gw, gw + weights(l));
	return breathe(p, i);
}

int net_backward(struct net *n, int (*done)(void *arg, int layer), void *arg)
{
	const struct pass p = {n, done, arg};

	if (n->graph)
		return net_graph_backward(n, done, arg);
	for (int i = n->model->nlayers - 1; i >= 0; i--)
		if (net_before(n, i) ||
		    (n->model->layers[i].is_conv ? conv_back(&p, i) : dense_back(&p, i)))
			return -1;
	return 0;
}

int net_before(const struct net *n, int part)
{
	return n->before ? n->before(n->before_arg, part) : 0;
}

const char *net_failure(const struct net *n)
{
	if (n->there && n->there->failure.kind)
		return n->there->failure.msg;
	return n->now ? n->engine->failure(n->now) : NULL;
}
