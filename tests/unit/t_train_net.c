/*
 * Every kernel of every instruction set against a plain network in double
 * precision: loss, hits, and the gradients by numeric differentiation; and
 * optimiser steps against the formula.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/digits.h"
#include "bench/train/net.h"
#include "bench/train/random.h"

#include <math.h>

enum { WIDEST = 28 * 28 * 10, SAMPLES_MAX = 37 };

struct plain { /* one sample at a time */
	const struct model *m;
	const size_t *first;
	double *params;
	float pixels[SAMPLES_MAX][NET_INPUTS];
	int labels[SAMPLES_MAX], samples;
};

static void plain_conv(const struct conv *c, const double *w, const double *in, double *out)
{
	const double *b = w + c->out * c->in * CONV_TAPS;
	int rows = c->side - CONV_K + 1, half = rows / 2;

	for (int o = 0; o < c->out; o++)
		for (int y = 0; y < half; y++)
			for (int x = 0; x < half; x++) {
				double best = 0; /* the ReLU */

				for (int k = 0; k < 4; k++) {
					int top = 2 * y + k / 2, left = 2 * x + k % 2;
					double sum = b[o];

					for (int i = 0; i < c->in * CONV_TAPS; i++)
						sum += w[o * c->in * CONV_TAPS + i] *
						       in[(i / CONV_TAPS * c->side + top +
							   i % CONV_TAPS / CONV_K) *
								  c->side +
							  left + i % CONV_K];
					best = fmax(best, sum);
				}
				out[(o * half + y) * half + x] = best;
			}
}

static void plain_dense(const struct dense *d, const double *w, const double *in, double *out)
{
	for (int o = 0; o < d->out; o++) {
		out[o] = w[d->in * d->out + o];
		for (int i = 0; i < d->in; i++)
			out[o] += w[o * d->in + i] * in[i];
		out[o] = d->relu ? fmax(0, out[o]) : out[o];
	}
}

static double plain_sample(const struct plain *p, int sample)
{
	static double a[WIDEST], b[WIDEST];
	double *in = a, *out = b, sum = 0;

	for (int i = 0; i < NET_INPUTS; i++)
		in[i] = (double)p->pixels[sample][i];
	for (int i = 0; i < p->m->nlayers; i++) {
		const struct layer *l = &p->m->layers[i];
		double *swap = in;

		if (l->is_conv)
			plain_conv(&l->conv, p->params + p->first[i], in, out);
		else
			plain_dense(&l->dense, p->params + p->first[i], in, out);
		in = out;
		out = swap;
	}
	for (int i = 0; i < NET_CLASSES; i++)
		sum += exp(in[i]);
	return log(sum) - in[p->labels[sample]];
}

static double plain_loss(const struct plain *p)
{
	double loss = 0;

	for (int i = 0; i < p->samples; i++)
		loss += plain_sample(p, i) / p->samples;
	return loss;
}

static struct plain *plain_new(const struct net *n, int samples)
{
	struct plain *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->m = n->model;
	p->first = n->first;
	p->samples = samples;
	p->params = calloc(n->nparams, sizeof(*p->params));
	for (size_t i = 0; i < n->nparams; i++)
		p->params[i] = (double)n->params[i];
	for (int i = 0; i < samples; i++)
		p->labels[i] = digit_make(7, (uint64_t)i, p->pixels[i]);
	return p;
}

static void plain_free(struct plain *p)
{
	free(p->params);
	free(p);
}

static struct net *net_with(const struct plain *p, struct net *n)
{
	assert_int_equal(net_begin(n, p->samples, NULL), 0);
	for (int i = 0; i < p->samples; i++)
		net_put(n, i, p->pixels[i], p->labels[i]);
	return n;
}

/* Numeric and own gradient of a spread of each layer's parameters, all of its biases among them. */
static void check_gradients(const struct net *n, struct plain *p)
{
	for (int l = 0; l < n->model->nlayers; l++) {
		size_t from = n->first[l], to = n->first[l + 1], stride = (to - from) / 23 + 1;

		for (size_t i = from; i < to; i += i + 10 < to ? stride : 1) {
			double was = p->params[i], up, h = 1e-6, numeric;

			p->params[i] = was + h;
			up = plain_loss(p);
			p->params[i] = was - h;
			numeric = (up - plain_loss(p)) / (2 * h);
			p->params[i] = was;
			if (fabs(numeric - (double)n->grads[i]) > 2e-6 + 1e-4 * fabs(numeric))
				fail_msg("%s %s layer %d parameter %zu: %g, numeric %g", n->k->name,
					 n->model->name, l, i - from, (double)n->grads[i], numeric);
			if (i + 10 < to && i + stride >= to)
				i = to - 10 - stride;
		}
	}
}

static void check_model(const char *model, const struct kernels *k, int samples)
{
	struct err e;
	struct net *n = net_new(model_find(model), k, NULL, SAMPLES_MAX, &e);
	struct net_score s;
	struct plain *p;

	assert_non_null(n);
	net_init(n, 3);
	p = plain_new(n, samples);
	s = net_forward(net_with(p, n));
	assert_true(fabs(s.loss - plain_loss(p)) < 1e-5);
	assert_int_equal(net_backward(n, NULL, NULL), 0);
	check_gradients(n, p);
	plain_free(p);
	net_free(n);
}

static void gradients_are_numeric_ones(void **state)
{
	(void)state;
	for (int set = 0; set < KERNEL_SETS; set++) {
		const struct kernels *k = kernels_of((enum kernel_set)set);

		if (!k)
			continue;
		for (int m = 0; model_names[m]; m++) {
			if (model_find(model_names[m])->graph)
				continue;
			check_model(model_names[m], k, 3); /* lanes without a sample */
			check_model(model_names[m], k, 1);
		}
		check_model("mlp", k, SAMPLES_MAX); /* several blocks */
	}
}

/* Several blocks with unused lanes: what a batch gives is the mean of its samples' gradients. */
static void a_batch_is_the_mean_of_its_samples(void **state)
{
	const struct kernels *k = kernels_best();
	struct err e;
	struct net *n = net_new(model_find("cnn"), k, NULL, SAMPLES_MAX, &e);
	struct plain *p;
	double *sum;

	(void)state;
	net_init(n, 3);
	p = plain_new(n, SAMPLES_MAX);
	sum = calloc(n->nparams, sizeof(*sum));
	for (int i = 0; i < SAMPLES_MAX; i++) {
		assert_int_equal(net_begin(n, 1, NULL), 0);
		net_put(n, 0, p->pixels[i], p->labels[i]);
		(void)net_forward(n);
		assert_int_equal(net_backward(n, NULL, NULL), 0);
		for (size_t j = 0; j < n->nparams; j++)
			sum[j] += (double)n->grads[j] / SAMPLES_MAX;
	}
	(void)net_forward(net_with(p, n));
	assert_int_equal(net_backward(n, NULL, NULL), 0);
	for (size_t j = 0; j < n->nparams; j++)
		assert_true(fabs(sum[j] - (double)n->grads[j]) < 1e-6);
	free(sum);
	plain_free(p);
	net_free(n);
}

static int count_layers(void *arg, int layer)
{
	int *next = arg;

	if (layer >= 0) {
		assert_int_equal(layer, *next);
		--*next;
	}
	return layer == 1; /* ends it */
}

static void layers_come_last_first_and_can_stop(void **state)
{
	struct err e;
	struct net *n = net_new(model_find("cnn"), kernels_best(), NULL, 4, &e);
	struct plain *p;
	int next = 3;

	(void)state;
	net_init(n, 3);
	p = plain_new(n, 4);
	(void)net_forward(net_with(p, n));
	assert_int_equal(net_backward(n, count_layers, &next), -1);
	assert_int_equal(next, 0);
	plain_free(p);
	net_free(n);
}

static void hits_are_counted(void **state)
{
	struct err e;
	struct net *n = net_new(model_find("mlp"), kernels_best(), NULL, 10, &e);
	float pixels[NET_INPUTS] = {0};
	struct net_score s;

	(void)state;
	/* the logits are the last layer's biases: 0, 1, ... 9 */
	for (int i = 0; i < NET_CLASSES; i++)
		n->params[n->nparams - NET_CLASSES + (size_t)i] = (float)i;
	assert_int_equal(net_begin(n, 10, NULL), 0);
	for (int i = 0; i < 10; i++)
		net_put(n, i, pixels, i);
	s = net_forward(n);
	assert_int_equal(s.top1, 1);
	assert_int_equal(s.top5, 5);
	n->params[n->nparams - 1] = NAN;
	s = net_forward(n);
	assert_true(isnan(s.loss));
	assert_int_equal(s.top1, 0);
	net_free(n);
}

/* v = m v + g + d p, p -= lr v: three steps, and odd lengths. */
static void sgd_is_the_formula(void **state)
{
	enum { N = 37 };
	float p[N], v[N] = {0}, g[N];
	double q[N], u[N] = {0};

	(void)state;
	for (int set = 0; set < KERNEL_SETS; set++) {
		const struct kernels *k = kernels_of((enum kernel_set)set);

		memset(v, 0, sizeof(v));
		memset(u, 0, sizeof(u));
		for (int i = 0; i < N; i++)
			q[i] = p[i] = (float)(i - 18) / 8;
		for (int step = 0; k && step < 3; step++) {
			for (int i = 0; i < N; i++) {
				g[i] = random_unit(random_mix((uint64_t)(step * N + i))) - 0.5f;
				u[i] = 0.9 * u[i] + (double)g[i] + 0.01 * q[i];
				q[i] -= 0.1 * u[i];
			}
			k->sgd(N, p, v, g, (struct sgd){0.1f, 0.9f, 0.01f});
			for (int i = 0; i < N; i++)
				assert_true(fabs(q[i] - (double)p[i]) < 1e-6);
		}
	}
}

enum { IN = 12, ROWS = IN - CONV_K + 1, HALF = ROWS / 2, OUT = 10 };
static _Alignas(64) float image[LANES_MAX * IN * IN], made[LANES_MAX * OUT * HALF * HALF],
	back[LANES_MAX * OUT * ROWS * ROWS];
static _Alignas(64) int32_t taken[LANES_MAX * OUT * HALF * HALF];

/* In each of the four places of a window the largest is the one that is not a number. */
static void nan_is_the_largest(const struct kernels *k)
{
	const struct conv c = {1, OUT, IN};
	_Alignas(64) float w[OUT * CONV_TAPS] = {1}, b[OUT] = {0}, sum[LANES_MAX * OUT] = {0};

	for (int at = 0; at < 4; at++) {
		for (int i = 0; i < IN * IN * k->lanes; i++)
			image[i] = 1;
		image[(at / 2 * IN + at % 2) * k->lanes] = NAN;
		k->conv(&c, image, w, b, made, taken);
		assert_true(isnan(made[0]) && taken[0] == at);
		assert_true(k->lanes < 2 || made[1] == 1);
		k->conv_unpool(&c, made, taken, back, sum);
		assert_true(isnan(back[(at / 2 * ROWS + at % 2) * k->lanes]));
	}
}

/* A parameter that is none makes a loss that is none, whichever layer it is of. */
static void what_is_not_a_number_is_seen(void **state)
{
	const struct model *models[] = {model_find("cnn"), model_find("mlp")};

	(void)state;
	for (int i = 0; i < 2 * KERNEL_SETS; i++) {
		const struct kernels *k = kernels_of((enum kernel_set)(i / 2));
		float pixels[NET_INPUTS];
		struct err e = {0};
		struct net *n;

		if (!k)
			continue;
		nan_is_the_largest(k);
		for (int part = 0; part < models[i % 2]->nlayers; part++) {
			n = net_new(models[i % 2], k, NULL, 1, &e);
			assert_non_null(n);
			net_init(n, 1);
			n->params[n->first[part]] = NAN;
			assert_int_equal(net_begin(n, 1, &e), 0);
			for (int p = 0; p < NET_INPUTS; p++)
				pixels[p] = 1;
			net_put(n, 0, pixels, 3);
			assert_true(isnan(net_forward(n).loss));
			assert_int_equal(net_backward(n, NULL, NULL), 0);
			assert_false(net_is_finite(n->grads, n->first[part + 1]));
			net_free(n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gradients_are_numeric_ones),
		cmocka_unit_test(a_batch_is_the_mean_of_its_samples),
		cmocka_unit_test(layers_come_last_first_and_can_stop),
		cmocka_unit_test(hits_are_counted),
		cmocka_unit_test(sgd_is_the_formula),
		cmocka_unit_test(what_is_not_a_number_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
