#include "bench/train/random.h"
#include "bench/train/train.h"

#include <math.h>

const char *const train_patterns[] = {"ddp", "fsdp", NULL};

struct sampler train_sampler(const struct train_opts *o)
{
	return (struct sampler){.seed = o->seed,
				.samples = o->data->n[DATA_TRAIN],
				.ranks = o->np,
				.shuffle = true,
				.drop_last = o->drop_last};
}

uint64_t train_steps_per_epoch(const struct train_opts *o)
{
	struct sampler s = train_sampler(o);

	return (sampler_per_rank(&s) + (size_t)o->batch - 1) / (size_t)o->batch;
}

uint64_t train_epochs(const struct train_opts *o)
{
	enum { USUAL = 2 };
	uint64_t each = train_steps_per_epoch(o);
	uint64_t needed = o->max_steps / each + (o->max_steps % each != 0);

	return o->epochs ?: needed > USUAL ? needed : USUAL;
}

double train_lr(const struct train_opts *o, uint64_t epoch)
{
	return o->lr * pow(o->lr_gamma, (double)(epoch / o->lr_every));
}

struct sgd train_sgd(const struct train_opts *o, uint64_t epoch)
{
	return (struct sgd){(float)train_lr(o, epoch), (float)o->momentum, (float)o->decay};
}

int train_load(struct net *n, const struct train_opts *o, const struct sampler *s, int rank,
	       uint64_t at, struct err *e)
{
	size_t from = at * (size_t)o->batch, left = sampler_per_rank(s) - from;
	size_t samples = left < (size_t)o->batch ? left : (size_t)o->batch;
	size_t side = (size_t)n->model->side;
	AUTO_FREE float *pixels = /* more than a small stack holds */
		malloc((size_t)n->model->channels * side * side * sizeof(*pixels));

	if (!pixels)
		return err_sys(e, "no memory for a sample");
	if (net_begin(n, (int)samples, e))
		return -1;
	for (size_t i = 0; i < samples; i++) {
		int label = data_get(o->data, DATA_TRAIN, sampler_at(s, rank, from + i),
				     n->model->channels, n->model->side, pixels);

		net_put(n, (int)i, pixels, label);
	}
	return 0;
}

double train_farthest(const float *a, const float *b, size_t n, size_t *ret_where)
{
	double most = 0;
	size_t where = 0;

	for (size_t i = 0; i < n && isfinite(most); i++) {
		double d = fabs((double)a[i] - (double)b[i]);

		if (!(d <= most)) {
			where = i;
			most = isnan(d) ? INFINITY : d;
		}
	}
	if (ret_where)
		*ret_where = where;
	return most;
}

uint64_t train_hash_layer(uint64_t hash, const struct net *n, int layer)
{
	size_t from = n->first[layer];

	return random_mix(hash ^ hash_words(n->grads + from, n->first[layer + 1] - from));
}

int train_owner(const struct net *n, int ranks, size_t param)
{
	size_t layer = 0, size;

	while (n->first[layer + 1] <= param)
		layer++;
	size = n->first[layer + 1] - n->first[layer];
	return (int)((param - n->first[layer]) / ((size + (size_t)ranks - 1) / (size_t)ranks));
}
