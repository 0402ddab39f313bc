#include "bench/train/say_run.h"

#include "lib/report/json.h"

#include <inttypes.h>
#include <math.h>

static const char *const phases[PHASES] = {"data", "forward", "backward", "exchange", "update"};

static void add_world(cJSON *data, const struct train_opts *t, const struct who *w)
{
	cJSON *world = json_object(data, "world"), *ranks = json_array(world, "ranks");
	bool on_gpus = t->engine && t->engine->device;

	json_str(world, "interface", w->interface);
	json_num(world, "free_port", w->door.port ?: NAN);
	if (w->door.tried)
		json_bool(world, "free_port_reached", w->door.shut < 0);
	json_str(data, "device", on_gpus && t->loaded ? t->loaded->text : NULL);
	json_str(data, "backend", w->backend);
	json_str(data, "transport", w->transport);
	for (int i = 0; i < w->size; i++) {
		const struct who_peer *p = &w->peers[i];
		cJSON *o = json_push_object(ranks);

		json_num(o, "rank", i);
		json_str(o, "host", p->host);
		json_str(o, "address", p->address);
		json_str(o, "interface", p->interface);
		json_str(o, "device",
			 !on_gpus		   ? "cpu" /* also where there are GPUs */
			 : streq(p->device, "cpu") ? "cuda"
						   : p->device);
	}
}

static void add_model(cJSON *data, const struct train_opts *o, const struct train_result *res)
{
	cJSON *m = json_object(data, "model");

	json_str(m, "name", o->model->name);
	json_str(m, "pattern", train_patterns[o->is_sharded]);
	json_num(m, "parameters", res->nparams ? (double)res->nparams : NAN);
	json_str(m, "engine",
		 o->engine	? o->engine->name
		 : res->kernels ? res->kernels->name
				: NULL);
	if (o->engine && o->engine->device)
		json_num(m, "skipped_steps", (double)res->skipped_steps);
	json_num(m, "batch", o->batch);
	json_num(m, "global_batch", o->batch * o->np);
	json_num(m, "seed", (double)o->seed);
	json_str(m, "data", o->data->name);
	json_num(m, "samples", (double)o->data->n[DATA_TRAIN]);
	json_num(m, "validation", (double)o->data->n[DATA_VALIDATION]);
	json_num(m, "padding", (double)res->padding);
	json_num(m, "dropped", (double)res->dropped);
}

static void add_step(cJSON *steps, const struct train_step *s)
{
	cJSON *o = json_push_object(steps);

	json_num(o, "step", (double)s->step);
	json_num(o, "epoch", (double)s->epoch);
	json_num(o, "loss", s->loss);
	json_num(o, "top1", s->top1);
	json_num(o, "top5", s->top5);
	json_num(o, "lr", s->lr);
	json_num(o, "seconds", s->seconds);
}

static void add_epoch(cJSON *epochs, const struct train_epoch *ep)
{
	cJSON *o = json_push_object(epochs);
	char hash[32];

	(void)snprintf(hash, sizeof(hash), "%016" PRIx64, ep->params);
	json_num(o, "epoch", (double)ep->number);
	json_num(o, "step", (double)ep->step); /* its last */
	json_num(o, "loss", ep->loss);
	json_num(o, "top1", ep->top1);
	json_num(o, "validation_loss", ep->val_loss);
	json_num(o, "validation_top1", ep->val_top1);
	json_num(o, "validation_top5", ep->val_top5);
	json_num(o, "seconds", ep->seconds);
	json_str(o, "params_hash", hash);
}

static void add_history(cJSON *data, const struct history *h)
{
	cJSON *steps = json_array(data, "steps"), *epochs = json_array(data, "epochs");

	json_num(data, "steps_every", (double)h->steps_every);
	json_num(data, "epochs_every", (double)h->epochs_every);
	for (size_t i = 0; i < h->steps.n; i++)
		add_step(steps, &h->steps.v[i]);
	if (history_adds_step(h))
		add_step(steps, &h->last_step);
	for (size_t i = 0; i < h->epochs.n; i++)
		add_epoch(epochs, &h->epochs.v[i]);
	if (history_adds_epoch(h))
		add_epoch(epochs, &h->last);
}

static void add_checks(cJSON *data, const struct train_result *res, const struct train_alone *alone)
{
	cJSON *o = json_object(data, "checks");
	const struct history *h = &res->history;

	if (h->nepochs) { /* where ranks are not equal it was the last */
		json_bool(o, "params_equal_across_ranks", h->last.equal);
		json_num(o, "accuracy", h->last.val_top1);
	}
	if (alone) {
		if (res->proven_taken)
			json_bool(o, "equals_single_process",
				  alone->wrong_rank < 0 && !alone->is_far);
		if (alone->control.layers)
			json_bool(o, "gpu_equals_cpu", !alone->control.is_wrong);
		json_num(o, "difference", alone->distance);
		json_num(o, "tolerance", alone->tolerance);
	}
	json_str(o, "unlike_option", res->odd_option);
	if (res->repeated)
		json_bool(o, "repeats_to_the_bit",
			  res->fickle_rank < 0 && res->unlike_rank < 0 && !res->all_unlike);
	if (h->nsteps) {
		json_num(o, "loss_first", h->steps.v[0].loss);
		json_num(o, "loss_last", h->last_step.loss);
	}
}

static void add_throughput(cJSON *data, const struct train_alone *alone, const struct who *w,
			   const struct train_result *res)
{
	cJSON *t = json_object(data, "throughput"), *ranks;
	double total = 0, times;

	if (!res->history.nepochs)
		return;
	ranks = json_array(t, "ranks");
	for (int i = 0; i < w->size; i++) {
		struct say_total s = say_total(res, i);
		cJSON *o = json_push_object(ranks);

		json_num(o, "rank", i);
		json_num(o, "samples_per_s", (double)s.samples / s.wall);
		json_num(o, "compute_samples_per_s", (double)s.samples / s.compute);
		json_num(o, "longest_step", (double)res->totals[i].longest_step);
		json_num(o, "longest_seconds", res->totals[i].longest_s);
		json_num(o, "robbed_seconds", res->totals[i].robbed_s);
		for (int k = 0; k < PHASES; k++)
			json_num(json_get(o, "seconds") ? cJSON_GetObjectItem(o, "seconds")
							: json_object(o, "seconds"),
				 phases[k], s.seconds[k]);
		total += (double)s.samples / s.wall;
	}
	json_num(t, "samples_per_s", total);
	if (alone) {
		json_num(t, "alone_samples_per_s", alone->samples_per_s);
		json_num(t, "efficiency", total / (alone->samples_per_s * w->size));
	}
	if (res->repeated && w->size > 1)
		json_num(t, "exchange_hidden", res->hidden);
	json_num(t, "slowest_rank", say_slowest(res, w->size, &times));
	json_num(t, "slowest_times", times);
}

void say_data(struct report *r, const struct train_opts *o, const struct who *w,
	      const struct train_result *res, const struct train_alone *alone)
{
	const struct run x = {r, o, w, res, alone};
	cJSON *data = report_data(r);

	add_world(data, o, w);
	add_model(data, o, res);
	add_history(data, &res->history);
	add_checks(data, res, alone);
	add_throughput(data, alone, w, res);
	say_data_checkpoint(data, &x);
}
