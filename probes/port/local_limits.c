/*
 * Limits of this host's kernel that drop connections of healthy ones: the queue of those that wait
 * to be accepted, and the table of connections that a firewall keeps. Nothing on the wire tells
 * them from a firewall that drops.
 */
#include "probes/port/local.h"

#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "lib/report/here.h"
#include "probes/iface/facts.h"

enum { USUAL_QUEUE = 4096, LEAST_QUEUE = 128, LEAST_HALF_OPEN = 128, NEARLY_FULL = 90 };

static int64_t number(const struct local *l, const char *path)
{
	return sysroot_int(l->f->a, -1, "/proc/sys/net/%s", path);
}

/* What comes of a full queue. */
static const char *dropped(bool aborts)
{
	return aborts ? "others are reset (net.ipv4.tcp_abort_on_overflow)"
		      : "others are dropped and ask again seconds later";
}

static void say_queue(struct report *r, cJSON *warnings, const char *setting, const char *means,
		      const char *expected, long fix)
{
	struct finding *f = report_find(r, "local.backlog", setting);

	finding_set(f, ST_WARN, "%s", means);
	finding_expect(f, "%s", expected);
	finding_fix(f, "sudo sysctl -w %s=%ld", setting, fix);
	local_say(r, warnings, f);
}

static void judge_queue(const struct local *l, struct report *r, cJSON *warnings)
{
	int64_t most = number(l, "core/somaxconn"), half = number(l, "ipv4/tcp_max_syn_backlog");
	bool aborts = number(l, "ipv4/tcp_abort_on_overflow") > 0;
	bool cookies = number(l, "ipv4/tcp_syncookies") != 0; /* which need no queue */
	struct arena *a = l->f->a;

	if (most >= 0 && most < LEAST_QUEUE)
		say_queue(r, warnings, "net.core.somaxconn",
			  arena_printf(a,
				       "no more than %d connections may wait to be accepted: where "
				       "all ranks connect at once, %s",
				       (int)most, dropped(aborts)),
			  "4096, as Linux has it", USUAL_QUEUE);
	if (half >= 0 && half < LEAST_HALF_OPEN && !cookies)
		say_queue(r, warnings, "net.ipv4.tcp_max_syn_backlog",
			  arena_printf(a,
				       "no more than %d connections may be half open, and SYN "
				       "cookies are off: where all ranks connect at once, %s",
				       (int)half, dropped(false)),
			  "128 or more, or SYN cookies", USUAL_QUEUE);
	if (aborts && most >= LEAST_QUEUE)
		say_queue(r, warnings, "net.ipv4.tcp_abort_on_overflow",
			  "connections to a program that is late to accept them are reset, where "
			  "they would wait: ranks see \"connection reset by peer\"",
			  "0, as Linux has it", 0);
}

const char *local_queue_is_short(const struct local *l, const char **ret_fix)
{
	int64_t most = number(l, "core/somaxconn");

	if (most < 0 || most >= LEAST_QUEUE)
		return NULL;
	*ret_fix = here_line(l->f->a, arena_printf(l->f->a, "sudo sysctl -w net.core.somaxconn=%d",
						   USUAL_QUEUE));
	return arena_printf(l->f->a,
			    "no more than %d connections may wait there to be accepted "
			    "(net.core.somaxconn), and more of them came",
			    (int)most);
}

/* ---- IPsec ---- */
static const char *default_stops(const struct local *l, const struct xfrm_policy *p,
				 const char **ret_fix)
{
	const char *which = xfrm_describe(p, l->f->a);

	*ret_fix = here_line(
		l->f->a, arena_printf(l->f->a, "sudo ip xfrm policy setdefault %s accept", which));
	return arena_printf(l->f->a,
			    "IPsec lets nothing %s that none of its policies is for (ip xfrm "
			    "policy getdefault: %s: block)",
			    which, which);
}

const char *local_ipsec_stops(const struct local *l, const struct xfrm *x, bool out,
			      const union addr *from, const union addr *to, const char **ret_fix)
{
	const struct iface_addr *mine = inventory_by_addr(&l->f->inv, out ? from : to);
	const struct xfrm_policy *p = xfrm_stops(x, out, mine ? mine->iface->name : NULL, from, to);
	const char *which;

	if (!p)
		return NULL;
	if (p->is_default)
		return default_stops(l, p, ret_fix);
	which = xfrm_describe(p, l->f->a);
	*ret_fix =
		here_line(l->f->a, arena_printf(l->f->a, "sudo ip xfrm policy delete %s", which));
	return p->blocks
		       ? arena_printf(l->f->a, "an IPsec policy blocks it, %s", which)
		       : arena_printf(l->f->a,
				      "an IPsec policy lets it pass encrypted only, and there are "
				      "no keys for that, %s: start what makes them (strongSwan, "
				      "Libreswan), or take the policy away",
				      which);
}

/* ---- the table of connections ---- */
static bool read_table(const struct local *l, int64_t *ret_used, int64_t *ret_most)
{
	*ret_used = number(l, "netfilter/nf_conntrack_count");
	*ret_most = number(l, "netfilter/nf_conntrack_max");
	return *ret_used > 0 && *ret_most > 0;
}

static const char *larger(const struct local *l, int64_t most)
{
	return arena_printf(l->f->a, "sudo sysctl -w net.netfilter.nf_conntrack_max=%lld",
			    (long long)most * 4);
}

const char *local_table_is_full(const struct local *l, const char **ret_fix)
{
	int64_t used, most;

	/* entries come and go while it is looked at */
	if (!read_table(l, &used, &most) || used * 100 < most * 99)
		return NULL;
	*ret_fix = here_line(l->f->a, larger(l, most));
	return arena_printf(
		l->f->a,
		"its table of connections is full, %lld of %lld (nf_conntrack_max), and "
		"new ones are dropped",
		(long long)used, (long long)most);
}

static void judge_table(const struct local *l, struct report *r, cJSON *warnings)
{
	int64_t used, most;
	struct finding *f;

	if (!read_table(l, &used, &most) || used * 100 < most * NEARLY_FULL)
		return;
	f = report_find(r, "local.conntrack", "nf_conntrack");
	finding_set(f, ST_WARN,
		    "%lld of at most %lld connections are in its firewall's table: once that is "
		    "full, new ones are dropped, whatever its rules say",
		    (long long)used, (long long)most);
	finding_expect(f, "less than %d %%", NEARLY_FULL);
	finding_fix(f, "%s   # and look who has so many: sudo conntrack -L", larger(l, most));
	local_say(r, warnings, f);
}

/* Forgotten connections of a job that says nothing for so long, and then: reset, or silence. An
 * hour is what a checkpoint or an evaluation takes; Linux has five days, kube-proxy one. */
static void judge_memory(const struct local *l, struct report *r, cJSON *warnings)
{
	enum { SHORT_S = 3600, USUAL_S = 432000 };
	int64_t used, most, s = number(l, "netfilter/nf_conntrack_tcp_timeout_established");
	struct finding *f;
	struct unit_buf b;

	if (!read_table(l, &used, &most) || s <= 0 || s >= SHORT_S)
		return;
	f = report_find(r, "local.conntrack", "nf_conntrack_tcp_timeout_established");
	finding_set(
		f, ST_WARN,
		"its firewall forgets a connection that is silent for %s: ranks that wait longer "
		"for one, at a checkpoint, find theirs dead (\"broken pipe\", or they hang)",
		format_duration(&b, (uint64_t)s * NS_PER_S));
	finding_expect(f, "an hour or more; Linux has 5 days");
	finding_fix(f, "sudo sysctl -w net.netfilter.nf_conntrack_tcp_timeout_established=%d",
		    USUAL_S);
	local_say(r, warnings, f);
}

void local_judge_limits(const struct local *l, struct report *r, cJSON *warnings)
{
	judge_queue(l, r, warnings);
	judge_table(l, r, warnings);
	judge_memory(l, r, warnings);
}
