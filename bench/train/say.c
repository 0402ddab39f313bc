#include "bench/train/say_checkpoint.h"

#include "bench/comm/backend.h"
#include "bench/ranks/hosts.h"
#include "bench/ranks/reason.h"
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/units.h"
#include "lib/net/own_addr.h"
#include "lib/net/tcp_state.h"

#include <stdarg.h>

/* --- measures --------------------------------------------------------------------- */

static const char *interface_of(const char *address, struct arena *a)
{
	union addr at;

	return addr_parse(address, &at) ? NULL : own_addr_interface(&at, a);
}

/* Machines that were made of one image have one name, and addresses of their own. */
void say_tell_apart(struct say_world *w, struct arena *a)
{
	size_t n = (size_t)w->size;
	const char **names = arena_alloc(a, n * sizeof(*names)),
		   **addresses = arena_alloc(a, n * sizeof(*addresses)),
		   **at = arena_alloc(a, n * sizeof(*at));
	struct hosts h;

	for (size_t i = 0; i < n; i++) {
		names[i] = w->peers[i].host;
		addresses[i] = w->peers[i].address;
	}
	hosts_at(names, addresses, n, a, &h, at);
	for (size_t i = 0; i < n; i++)
		w->peers[i].at = at[i];
	w->hosts = (int)h.n;
}

struct say_world say_world(const struct comm *c, struct arena *a)
{
	struct say_world w = {.size = c ? c->size : 0};

	if (!c)
		return w;
	w.backend = comm_caps(c)->backend;
	w.carrier = backend_word(w.backend);
	w.scatters = comm_caps(c)->kinds >> COLL_REDUCE_SCATTER & 1;
	w.transport = arena_strdup(a, comm_transport(c));
	w.peers = arena_alloc(a, (size_t)w.size * sizeof(*w.peers));
	for (int i = 0; i < w.size; i++) {
		const struct comm_peer *p = comm_peer(c, i);

		w.peers[i] = (struct say_peer){.host = arena_strdup(a, p->host),
					       .address = arena_strdup(a, p->address),
					       .device = streq(w.backend, "nccl") && p->device
								 ? arena_strdup(a, p->device)
								 : "cpu"};
	}
	say_tell_apart(&w, a);
	w.interface = interface_of(w.peers[0].address, a);
	return w;
}

struct say_total say_total(const struct train_result *res, int rank)
{
	enum { MANY = 4 };
	const struct train_total *all = &res->totals[rank];
	struct say_total t = {0};

	for (int k = 0; k < PHASES; k++) {
		t.seconds[k] = all->seconds[k];
		t.wall += all->seconds[k];
		t.compute += k == PHASE_EXCHANGE ? 0 : all->seconds[k];
	}
	t.steady = t.compute - (all->steps >= MANY ? all->longest_s : 0);
	t.steady_data = all->seconds[PHASE_DATA] - (all->steps >= MANY ? all->longest_data_s : 0);
	t.samples = all->samples;
	return t;
}

/* --- for all findings ---------------------------------------------------------------- */

const char *say_who(const struct run *x, int rank)
{
	const struct say_peer *p = &x->w->peers[rank];

	return arena_printf(report_arena(x->r), "rank %d (%s, %s%s%s)", rank, p->host, p->address,
			    p->gpu ? ", " : "", p->gpu ? p->gpu : "");
}

struct finding *say_find(const struct run *x, const char *check, int rank)
{
	const char *at = rank < 0 ? NULL : x->w->peers[rank].at;
	struct finding *f = report_find(x->r, check,
					at ? arena_printf(report_arena(x->r), "rank %d", rank)
					   : x->o->model->name);

	f->rank = rank;
	f->host = at && !streq(at, x->w->peers[0].host) ? at : NULL;
	return f;
}

const char *say_gpu(const struct run *x, int rank)
{
	const char *gpu = x->w->peers[rank].gpu;

	return gpu ? gpu + strcspn(gpu, "0123456789") : NULL;
}

struct lines say_lines(const struct run *x)
{
	return (struct lines){x->o, x->w, report_arena(x->r)};
}

void say_fix_at(const struct run *x, struct finding *f, int rank, const char *fmt, ...)
{
	struct arena *a = report_arena(x->r);
	const char *command;
	va_list ap;

	va_start(ap, fmt);
	command = arena_vprintf(a, fmt, ap);
	va_end(ap);
	if (x->w->hosts <= 1)
		finding_fix(f, "%s", command);
	else
		finding_fix(f, "%s",
			    typed_on(a, rsh_typed(a, NULL), x->w->peers[rank].at, command));
}

int say_bad_rank(const struct run *x)
{
	const struct train_word *w = x->res->history.last.words;
	int bad = -1;

	for (int i = 0; i < x->w->size; i++)
		if (w[i].bad_step != NO_STEP && (bad < 0 || w[i].bad_step < w[bad].bad_step))
			bad = i;
	return bad;
}

int say_hole_rank(const struct run *x)
{
	const struct train_word *w = x->res->history.last.words;
	int bad = say_bad_rank(x), first = -1, n = 0;

	for (int i = 0; i < x->w->size; i++)
		if (w[i].hole_step != NO_STEP && (first < 0 || w[i].hole_step < w[first].hole_step))
			first = i;
	if (first < 0 || (bad >= 0 && w[bad].bad_step <= w[first].hole_step))
		return -1;
	for (int i = 0; i < x->w->size; i++)
		n += w[i].hole_step == w[first].hole_step;
	return n < x->w->size ? first : -1;
}

int say_lost_ranks(const struct run *x, int *ret_first)
{
	const struct train_word *w = x->res->history.last.words;
	int lost = 0;

	*ret_first = -1;
	for (int i = 0; i < x->w->size; i++) {
		if (w[i].is_lost && !lost++)
			*ret_first = i;
	}
	return lost;
}

void say_fix_lost(struct finding *f, const char *sentence, const char *host)
{
	bool no_memory = strstr(sentence, "out of memory"), no_page = strstr(sentence, "SIGBUS");
	const char *look = no_memory ? "free -m; cat /proc/self/cgroup"
			   : no_page ? "dmesg -T | grep -iE 'i/o error|nfs|memory failure' | tail; "
				       "df -h /dev/shm"
			   : strstr(sentence, "signal") || strstr(sentence, "exit code") ||
					   strstr(sentence, "connection lost")
				   ? "dmesg -T | grep -iE 'killed process|segfault|xid' | tail"
				   : "ps -eo pid,stat,wchan:24,args | grep '[d]dpsmoke'";

	if (no_memory)
		finding_fix(f,
			    "- srun --mem=..., docker run --memory ..., resources.limits.memory   "
			    "# more of it there; or a smaller --batch here");
	if (no_page)
		finding_fix(
			f,
			"- a file became shorter, or could not be read any more, while it was in "
			"use: one of --data, one in /dev/shm, or the program itself");
	if (host)
		finding_fix(f, "%s", typed_on(f->a, rsh_typed(f->a, NULL), host, look));
	else
		finding_fix(f, "%s", look);
}

int say_rank_in(const char *sentence)
{
	char digits[8] = "";
	uint64_t rank;

	if (sentence && starts_with(sentence, "rank "))
		(void)snprintf(digits, sizeof(digits), "%.*s",
			       (int)strspn(sentence + 5, "0123456789"), sentence + 5);
	return parse_uint(digits, &rank) ? -1 : (int)rank;
}

/* Of another rank's finding: what its host knows is typed there. */
static const char *fix_heard(const struct say_lost *l, struct arena *a)
{
	const char *fix = reason_fix(l->check, l->sentence) ?: "ddpsmoke --backend tcp";

	return l->host && streq(l->check, DEV_SICK) ? typed_on(a, rsh_typed(a, NULL), l->host, fix)
						    : fix;
}

void say_lost(struct report *r, const struct say_lost *l)
{
	struct arena *a = report_arena(r);
	struct finding *f =
		report_find(r, l->check ? l->check : "rank.alive",
			    l->rank < 0 ? "ranks" : arena_printf(a, "rank %d", l->rank));

	finding_set(f, ST_FAIL, "%s (%s)", l->sentence, l->doing);
	f->rank = l->rank;
	f->host = l->host;
	if (l->check) {
		finding_expect(f, starts_with(l->check, "gpu.")
					  ? "a GPU does the work that it is given"
					  : "one library that carries data between all ranks");
		finding_fix(f, "%s", l->fix ?: fix_heard(l, a));
		report_add(r, f);
		return;
	}
	finding_expect(f, "every rank answers until the end");
	if (l->connecting && l->host)
		finding_fix(f, "portcheck %s", l->address); /* its name may be its own alone */
	else
		say_fix_lost(f, l->sentence, l->host);
	report_add(r, f);
}

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
	const struct say_peer *first = &x->w->peers[0], *other;
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

void say_all(struct report *r, const struct train_opts *o, const struct say_world *w,
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
