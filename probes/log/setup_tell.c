/* "What NCCL set up": for people, and as data.setup. */
#include "lib/report/report.h"
#include "probes/log/explain.h"

enum { SHOWN = 4 /* cards, interfaces */, SETTINGS_SHOWN = 10 };

/* "ens5, eth0, ib0, ib1 and 4 more" */
static const char *joined(struct arena *a, const str_list *v, size_t more)
{
	struct text t;
	size_t shown = v->n < SHOWN ? v->n : SHOWN;

	text_init(&t, a);
	for (size_t i = 0; i < shown; i++)
		text_addf(&t, "%s%s", i ? ", " : "", v->v[i]);
	text_more(&t, "", v->n + more, shown);
	return t.s;
}

/* --- the lines ----------------------------------------------------------------------------- */

/* "NCCL 2.28.9 (CUDA 12.4)", with the second version that the log has. */
static const char *library(const struct why *w, struct arena *a)
{
	bool rccl = false;
	const char *name, *cuda = "";

	for (size_t i = 0; i < w->actors.v.n; i++)
		rccl |= w->actors.v.v[i].is_rccl;
	name = rccl ? "RCCL" : "NCCL";
	if (w->cuda_of_nccl)
		cuda = arena_printf(a, " (CUDA %ld.%ld)", w->cuda_of_nccl / 1000,
				    w->cuda_of_nccl % 1000 / 10);
	if (!*w->nccl_said[0])
		return name;
	return arena_printf(a, "%s %s%s%s%s", name, w->nccl_said[0],
			    *w->nccl_said[1] ? " and " : "", w->nccl_said[1], cuda);
}

/* "on 16 ranks of 2 hosts" */
static const char *world(const struct why *w, struct arena *a)
{
	enum { HOSTS_COUNTED = 64 };
	size_t hosts = setup_hosts(w);
	int n = setup_ranks(w);
	const char *more = hosts == HOSTS_COUNTED && !w->setup.nodes ? " or more" : "";

	if (!n && !hosts)
		return "";
	if (!n)
		return arena_printf(a, " on %zu%s host%s", hosts, more, hosts == 1 ? "" : "s");
	if (!hosts)
		return arena_printf(a, " on %d rank%s", n, n == 1 ? "" : "s");
	return arena_printf(a, " on %d rank%s of %zu%s host%s", n, n == 1 ? "" : "s", hosts, more,
			    hosts == 1 ? "" : "s");
}

static const char *plugins(const struct setup *s, struct arena *a)
{
	const char *net = *s->plugin ? s->plugin : s->no_plugin ? "none" : NULL;

	if (!net && !*s->tuner)
		return "";
	return arena_printf(a, "%s%s%s%s", net ? "; network plug-in: " : "", net ? net : "",
			    *s->tuner ? "; tuner: " : "", s->tuner);
}

/* "; data over InfiniBand/RoCE mlx5_0:1/IB, mlx5_1:1/IB" */
static const char *data_way(const struct why *w, struct arena *a)
{
	str_list nets = setup_networks(w, a), of;
	const char *names, *first = nets.n ? nets.v[0] : "";

	if (!nets.n)
		return NULL;
	if (nets.n > 1)
		return arena_printf(a, "networks %s", joined(a, &nets, 0));
	if (starts_with(first, "IB")) {
		of = setup_cards(w, a);
		names = joined(a, &of, w->setup.more_cards);
		return arena_printf(a, "network %s%s%s", first, *names ? ": " : "", names);
	}
	if (streq(first, "Socket")) {
		of = setup_sockets(w, a);
		names = joined(a, &of, 0);
		return arena_printf(a, "network sockets (TCP)%s%s%s", *names ? " over " : "", names,
				    w->setup.no_ib ? "; NCCL found no InfiniBand" : "");
	}
	return arena_printf(a, "network %s%s%s", first, *w->setup.provider ? ", provider " : "",
			    w->setup.provider);
}

static void tell_networks(const struct why *w, struct report *r)
{
	struct arena *a = report_arena(r);
	str_list boot = setup_meeting(w, a);
	const char *met = joined(a, &boot, 0), *data = data_way(w, a);

	if (*met && data)
		report_remark(r, "Ranks meet over %s; %s", met, data);
	else if (*met)
		report_remark(r, "Ranks meet over %s", met);
	else if (data)
		report_remark(r, "Ranks use the %s", data);
}

/* " with GPUDirect", " without GPUDirect", " with GPUDirect but for 2 (rank 3 -> 8 on node1)" */
static const char *directness(const struct why *w, const struct setup_way *y, struct arena *a)
{
	uint64_t all = setup_count(y), with = setup_direct(y);

	if (!setup_may_direct(y))
		return "";
	if (!with)
		return " without GPUDirect";
	if (with >= all)
		return " with GPUDirect";
	return arena_printf(a, " with GPUDirect but for %llu of them (%s)",
			    (unsigned long long)(all - with), setup_example(w, &y->bounced, a));
}

/* NVLink that leads beyond the host is no way within it. */
static bool is_far(const struct setup_way *y)
{
	return y->way == NCCL_WAY_NET || streq(y->name, "P2P/MNNVL");
}

/* "24 channels NET/IB with GPUDirect, 8 channels SHM (rank 0 -> 1 on node0)": of shared memory an
 * example, where others have better. */
static const char *ways(const struct why *w, bool far, struct arena *a)
{
	const struct setup *s = &w->setup;
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < s->nways; i++) {
		const struct setup_way *y = &s->ways[i];
		unsigned long long n = setup_count(y);

		if (is_far(y) != far)
			continue;
		text_addf(&t, "%s%llu channel%s %s%s", *t.s ? ", " : "", n, n == 1 ? "" : "s",
			  y->name, directness(w, y, a));
		if (y->way == NCCL_WAY_SHM && s->nways > 1)
			text_addf(&t, " (%s)", setup_example(w, &y->first, a));
	}
	return t.s;
}

static void tell_ways(const struct why *w, struct report *r)
{
	struct arena *a = report_arena(r);
	const char *far = ways(w, true, a), *near = ways(w, false, a);
	const char *cut = w->setup.channels >= SETUP_CHANNELS_ENOUGH ? ", in the first lines" : "";

	/* one host's log may say nothing of the others, to which a network leads */
	if (*far)
		report_remark(r, "%s: %s%s%s",
			      setup_hosts(w) > 1 ? "Between hosts" : "Over the network", far,
			      w->setup.has_collnet ? ", and SHARP" : "", cut);
	if (*near)
		report_remark(r, "Within a host: %s%s", near, cut);
}

static void tell_channels(const struct why *w, struct report *r)
{
	const struct setup *s = &w->setup;
	struct arena *a = report_arena(r);
	struct text t;

	text_init(&t, a);
	if (s->coll)
		text_addf(&t, "%ld channel%s", s->coll, s->coll == 1 ? "" : "s");
	if (s->has_nvls || s->lacks_nvls || s->nvls > 0)
		text_addf(&t, "%sNVLS %s", *t.s ? ", " : "",
			  s->nvls > 0	 ? arena_printf(a, "on %ld of its own", s->nvls)
			  : s->nvls == 0 ? "not used"
			  : s->has_nvls	 ? "available"
					 : "not available");
	if (s->rings || s->trees)
		text_addf(&t, "%s%s%s%s connected", *t.s ? ", " : "", s->rings ? "rings" : "",
			  s->rings && s->trees ? " and " : "", s->trees ? "trees" : "");
	if (*t.s)
		report_remark(r, "%s", t.s);
}

static void tell_init(const struct why *w, struct report *r)
{
	static const double SHOWN_S = 0.005; /* the least that is not written as 0.00 */
	const struct setup_init *t = &w->setup.init;
	struct arena *a = report_arena(r);
	struct text parts;

	if (!t->n)
		return;
	text_init(&parts, a);
	for (size_t i = 0; i < INIT_PARTS; i++)
		if (t->parts_s[i] >= SHOWN_S)
			text_addf(&parts, "%s%s %.2f", *parts.s ? ", " : "", init_parts[i],
				  t->parts_s[i]);
	report_remark(r, "Init took %.2f s (slowest %s: %.2f s%s%s)", t->sum_s / (double)t->n,
		      who_text(a, &t->slowest), t->longest_s, *parts.s ? ": " : "", parts.s);
}

static void tell_settings(const struct setup *s, struct report *r)
{
	struct text t;
	size_t shown = s->nsettings < SETTINGS_SHOWN ? s->nsettings : SETTINGS_SHOWN;

	if (!s->nsettings)
		return;
	text_init(&t, report_arena(r));
	for (size_t i = 0; i < shown; i++)
		text_addf(&t, "%s%s=%s%s%s", i ? ", " : "", s->settings[i].name,
			  s->settings[i].value, s->settings[i].other ? " or " : "",
			  s->settings[i].other ? s->settings[i].other : "");
	text_more(&t, "", s->nsettings, shown);
	report_remark(r, "Settings it read: %s", t.s);
}

/* --- all of it ----------------------------------------------------------------------------- */

/* One line, where nothing else of it is shown. */
static void tell_briefly_of(const struct why *w, struct report *r)
{
	struct arena *a = report_arena(r);
	struct finding *f = report_find(r, "log.setup", "NCCL");
	str_list nets = setup_networks(w, a);
	const char *net = joined(a, &nets, 0), *far = ways(w, true, a), *near = ways(w, false, a);
	struct text t;

	text_init(&t, a);
	text_addf(&t, "%s%s", library(w, a), world(w, a));
	if (*far)
		text_addf(&t, ", %s", far);
	else if (*net)
		text_addf(&t, ", network %s", net);
	if (*near)
		text_addf(&t, ", %s", near);
	finding_set(f, ST_INFO, "%s", t.s);
	report_add(r, f);
}

bool setup_is_known(const struct why *w)
{
	bool any = w->setup.nways || w->setup.init.n || w->setup.coll;

	for (size_t i = 0; !any && i < w->actors.v.n; i++)
		any = *w->actors.v.v[i].network ||
		      (w->actors.v.v[i].ready && w->actors.v.v[i].nranks);
	return any;
}

void setup_tell(const struct why *w, const struct explanation *x, struct report *r)
{
	struct arena *a = report_arena(r);

	if (!setup_is_known(w))
		return;
	if (report_wants_data(r))
		setup_data(w, report_data(r), a);
	tell_briefly_of(w, r);
	setup_judge(w, x, r);
	report_heading(r, "What NCCL set up");
	report_remark(r, "%s%s%s", library(w, a), world(w, a), plugins(&w->setup, a));
	tell_networks(w, r);
	tell_ways(w, r);
	tell_channels(w, r);
	tell_init(w, r);
	tell_settings(&w->setup, r);
}
