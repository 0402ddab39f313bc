#include "bench/train/say_checkpoint.h"

#include "lib/cluster/typed_way.h"
#include "lib/net/tcp_state.h"

static void say_covers(const struct run *x)
{
	int ranks = x->w->size, hosts = x->w->hosts;
	bool on_gpus = x->o->engine && x->o->engine->device;

	if (ranks == 1)
		report_covers(x->r, "1 local rank on the %s; no exchange%s was tested",
			      on_gpus ? "GPU" : "CPU",
			      on_gpus ? " and no network" : ", no GPU and no network");
	else if (hosts <= 1)
		report_covers(x->r, "%d local ranks on the %s, gradients over %s; %s was tested",
			      ranks, on_gpus ? "GPU" : "CPU", x->w->carrier,
			      on_gpus ? "no network" : "neither a GPU nor a network");
	else
		report_covers(x->r, "%d ranks on %d hosts, on the %s, gradients over %s%s", ranks,
			      hosts, on_gpus ? "GPU" : "CPU", x->w->carrier,
			      on_gpus ? "" : "; no GPU was tested");
}

/* Why there are GPUs that did not train. */
static void say_device(const struct run *x)
{
	const struct engine_loaded *l = x->o->loaded;
	struct finding *f;

	if (!l || !l->note)
		return;
	f = report_find(x->r, "train.device", "cpu");
	finding_set(f, l->is_wrong ? ST_WARN : ST_INFO, "%s", l->note);
	if (l->is_wrong)
		finding_expect(f, "a rank on every GPU");
	if (l->fix)
		finding_fix(f, "%s", l->fix);
	report_add(x->r, f);
}

/* The built-in one goes without saying. */
static void say_carrier(const struct run *x)
{
	struct finding *f;

	if (x->w->note) {
		f = report_find(x->r, "train.backend", x->w->backend);
		finding_set(f, ST_WARN, "TCP carried the gradients of GPUs, not NCCL: %s",
			    x->w->note);
		if (x->w->fix)
			finding_fix(f, "%s", x->w->fix);
		report_add(x->r, f);
	}
	if (streq(x->w->backend, "tcp"))
		return;
	f = report_find(x->r, "train.backend", x->w->backend);
	finding_set(f, ST_INFO, "%s carried the gradients: %s%s", x->w->carrier, x->w->transport,
		    x->o->is_sharded && !x->w->scatters
			    ? "; it has no reduce_scatter, so all_reduce was used and each rank "
			      "kept its part"
			    : "");
	report_add(x->r, f);
}

/* All else has passed through other ports, which the kernel gave out. */
static void say_door(const struct run *x)
{
	const struct door *d = &x->w->door;
	const struct who_peer *first = &x->w->peers[0], *other;
	struct finding *f;

	if (!d->tried || d->shut < 0)
		return;
	f = report_find(x->r, "emit.port", arena_printf(report_arena(x->r), "%u", d->port));
	finding_expect(f, "every host reaches the port where a job's ranks meet");
	other = &x->w->peers[d->shut];
	finding_set(f, x->o->emits ? ST_FAIL : ST_WARN,
		    "MASTER_PORT %u of %s (%s) is not reached from %s: %s; a job that meets there "
		    "would wait for ever",
		    d->port, first->host, first->address, other->host,
		    d->state == TCP_FILTERED ? "no answer at all" : "refused on the way");
	finding_fix(f, "%s --ports %u   # which rule",
		    typed_for(f->a, "portcheck", NULL,
			      arena_printf(f->a, "%s,%s", first->at, other->at)),
		    d->port);
	report_add(x->r, f);
}

void say_all(struct report *r, const struct train_opts *o, const struct who *w,
	     const struct train_result *res, const struct train_alone *alone)
{
	const struct run x = {r, o, w, res, alone};

	if (res->noted[0] || res->odd.rank >= 0)
		say_joined(&x);
	say_device(&x);
	say_carrier(&x);
	if (res->history.nepochs) {
		say_samples(&x);
		say_finite(&x);
		say_params(&x);
		say_compute(&x);
		say_reference(&x);
		say_repeat(&x);
		say_loss(&x);
		say_accuracy(&x);
		say_pace(&x);
	}
	say_checkpoint(&x);
	say_door(&x);
	say_covers(&x);
	say_data(r, o, w, res, alone);
}
