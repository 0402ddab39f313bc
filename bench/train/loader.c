#include "bench/train/loader.h"

#include <pthread.h>

enum { AHEAD = 2 }; /* batches per worker */

struct slot {
	float *pixels;
	int *labels;
	size_t n;
	bool is_full;
};
struct loader {
	struct loader_opts o;
	struct loader_job job;
	size_t inputs, nslots, batches;
	struct slot *slots; /* batch b is read into slot b % nslots */
	size_t taken;	    /* the next batch for a worker */
	size_t given;	    /* the next for the trainer; slot given - 1 is still his */
	unsigned busy, started;
	bool is_over;
	pthread_t *threads;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

static void fill(struct loader *l, size_t batch, struct slot *s)
{
	const struct loader_job *job = &l->job;
	size_t from = batch * l->o.batch, left = job->samples - from;

	s->n = left < l->o.batch ? left : l->o.batch;
	for (size_t i = 0; i < s->n; i++)
		s->labels[i] = data_get(l->o.data, job->part, job->at(job->arg, from + i),
					l->o.channels, l->o.side, s->pixels + i * l->inputs);
}

/* A slot is free again once the trainer has asked for the batch after it. */
static bool can_take(const struct loader *l)
{
	size_t first = l->given ? l->given - 1 : 0;

	return l->taken < l->batches && l->taken < first + l->nslots;
}

static void *work(void *arg)
{
	struct loader *l = arg;

	pthread_mutex_lock(&l->lock);
	while (!l->is_over) {
		if (!can_take(l)) {
			pthread_cond_wait(&l->changed, &l->lock);
			continue;
		}
		size_t batch = l->taken++;
		struct slot *s = &l->slots[batch % l->nslots];

		l->busy++;
		pthread_mutex_unlock(&l->lock);
		fill(l, batch, s);
		pthread_mutex_lock(&l->lock);
		l->busy--;
		s->is_full = true;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static bool allocate(struct loader *l)
{
	l->slots = calloc(l->nslots, sizeof(*l->slots));
	l->threads = calloc(l->o.workers + 1, sizeof(*l->threads));
	for (size_t i = 0; l->slots && i < l->nslots; i++) {
		l->slots[i].pixels = malloc(l->o.batch * l->inputs * sizeof(float));
		l->slots[i].labels = malloc(l->o.batch * sizeof(int));
		if (!l->slots[i].pixels || !l->slots[i].labels)
			return false;
	}
	return l->slots && l->threads;
}

struct loader *loader_new(const struct loader_opts *o, struct err *e)
{
	struct loader *l = calloc(1, sizeof(*l));

	if (!l) {
		err_sys(e, "no memory");
		return NULL;
	}
	l->o = *o;
	l->inputs = (size_t)(o->channels * o->side * o->side);
	l->nslots = 1 + (size_t)o->workers * AHEAD;
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->changed, NULL);
	if (!allocate(l)) {
		err_sys(e, "no memory for %zu batches", l->nslots);
		loader_free(l);
		return NULL;
	}
	for (; l->started < o->workers; l->started++)
		if (pthread_create(&l->threads[l->started], NULL, work, l)) {
			err_sys(e, "cannot start a loader");
			loader_free(l);
			return NULL;
		}
	return l;
}

void loader_start(struct loader *l, const struct loader_job *job)
{
	pthread_mutex_lock(&l->lock);
	l->batches = 0; /* nobody takes one any more */
	while (l->busy)
		pthread_cond_wait(&l->changed, &l->lock);
	l->job = *job;
	l->taken = l->given = 0;
	for (size_t i = 0; i < l->nslots; i++)
		l->slots[i].is_full = false;
	l->batches = (job->samples + l->o.batch - 1) / l->o.batch;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

struct loaded loader_next(struct loader *l)
{
	struct slot *s = &l->slots[l->given % l->nslots];

	if (l->given == l->batches)
		return (struct loaded){0};
	if (!l->o.workers) {
		fill(l, l->given++, s);
		return (struct loaded){s->n, s->pixels, s->labels};
	}
	pthread_mutex_lock(&l->lock);
	if (l->given)
		l->slots[(l->given - 1) % l->nslots].is_full = false;
	l->given++;
	pthread_cond_broadcast(&l->changed);
	while (!s->is_full)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
	return (struct loaded){s->n, s->pixels, s->labels};
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->is_over = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	for (unsigned i = 0; i < l->started; i++)
		(void)pthread_join(l->threads[i], NULL);
	for (size_t i = 0; l->slots && i < l->nslots; i++) {
		free(l->slots[i].pixels);
		free(l->slots[i].labels);
	}
	free(l->slots);
	free(l->threads);
	(void)pthread_mutex_destroy(&l->lock);
	(void)pthread_cond_destroy(&l->changed);
	free(l);
}
