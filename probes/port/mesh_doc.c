/* A rank's lines of JSON, as it writes them; mesh_take.c reads them. */
#include "probes/port/mesh_self.h"

#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/port/fix.h"

#include <math.h>

/* 3 and 4 are AccECN's, of Linux 6.18. */
static bool asks_for_ecn(struct mesh_self *s)
{
	const char *v = sysroot_line(s->a, "/proc/sys/net/ipv4/tcp_ecn");

	return v && (streq(v, "1") || streq(v, "3") || streq(v, "4"));
}

/* The kernel's second try, a second later, is without: what stays silent then is not for ECN. */
static bool never_asks_without(struct mesh_self *s)
{
	return s->o->patience_ns < 2 * NS_PER_S ||
	       sysroot_int(s->a, 1, "/proc/sys/net/ipv4/tcp_ecn_fallback") == 0;
}

/* Of the first card that has an address, and none that others may use. */
static void put_lacks(struct mesh_self *s, cJSON *line)
{
	const candidate_list *all = &s->local.s.candidates;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].why && all->v[i].iface->naddrs &&
		    (all->v[i].iface->kind == IFACE_PHYSICAL ||
		     all->v[i].iface->kind == IFACE_VETH || all->v[i].iface->kind == IFACE_VF ||
		     all->v[i].iface->kind == IFACE_BOND)) {
			json_str(
				line, "lacks",
				arena_printf(s->a, "%s: %s", all->v[i].iface->name, all->v[i].why));
			return;
		}
}

static void put_node(struct mesh_self *s, cJSON *line)
{
	const struct iface_addr *mine = s->local.s.addr;
	cJSON *ports;

	json_str(line, "host", s->f->inv.hostname);
	json_str(line, "address", *s->cards[s->me].addr ? s->cards[s->me].addr : NULL);
	json_bool(line, "rdma", s->f->rdma.n > 0);
	if (s->same != s->me)
		json_num(line, "same", (double)s->same);
	if (mine) {
		json_str(line, "iface", mine->iface->name);
		json_str(line, "subnet", fix_subnet(mine, s->a));
		/* no packet passes lo, nor a dummy, whose address is reached by other cards */
		if (mine->iface->kind != IFACE_LOOPBACK && mine->iface->kind != IFACE_DUMMY)
			json_num(line, "mtu", mine->iface->mtu);
		if (!(mine->flags & IFA_F_PERMANENT))
			json_bool(line, "leased", true);
		mesh_put_card(s, line);
	} else {
		put_lacks(s, line);
	}
	if (asks_for_ecn(s)) {
		json_bool(line, "ecn", true);
		json_bool(line, "ecn_always", never_asks_without(s));
	}
	if (mesh_is_gone(s))
		json_bool(line, "gone", true);
	mesh_put_flaps(s, line);
	if (s->o->ports)
		return;
	ports = json_array(line, "ports");
	for (size_t i = 0; i < s->ports[s->me].n; i++)
		cJSON_AddItemToArray(ports, cJSON_CreateNumber(s->ports[s->me].v[i]));
}

/*
 * Of the @n answers from @v on those to a question that was asked again, a second later. All of
 * them are one: what the first met was a neighbour not yet found, or a tunnel not yet dug.
 */
static size_t late_of(const struct reach_result *v, size_t n)
{
	const float prompt_ms = 300;
	size_t late = 0, prompt = 0;

	for (size_t k = 0; k < n; k++) {
		late += port_state_is_reached(v[k].state) && v[k].ms >= PORT_LATE_MS;
		prompt += port_state_is_reached(v[k].state) && v[k].ms < prompt_ms;
	}
	return late + prompt != n ? 0 : late == n ? 1 : late;
}

/* A rank that was late itself has asked nothing again. */
static void put_late(struct mesh_self *s, cJSON *line)
{
	size_t *late = arena_alloc(s->a, s->n * sizeof(*late)), all = 0, n, rank;
	cJSON *list;

	for (size_t i = 0; i < s->reach.n; i += n) {
		n = s->reach.v[i].target->ports.n;
		rank = s->target_rank[s->reach.v[i].target - s->targets.v];
		late[rank] = late_of(&s->reach.v[i], n);
		all += late[rank];
	}
	if (!all || s->resent < all)
		return;
	list = json_array(line, "late");
	for (size_t i = 0; i < s->n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber((double)late[i]));
}

static void put_row(struct mesh_self *s, cJSON *line)
{
	const char **rows = arena_alloc(s->a, s->n * sizeof(*rows));
	cJSON *list = json_array(line, "row");
	size_t n;

	for (size_t i = 0; i < s->reach.n; i += n) {
		n = s->reach.v[i].target->ports.n;
		rows[s->target_rank[s->reach.v[i].target - s->targets.v]] =
			mesh_row_fold(s->a, &s->reach.v[i], n);
	}
	for (size_t i = 0; i < s->n; i++)
		json_push_str(list, rows[i] ?: "");
}

static char talk_letter(const struct talk *t)
{
	switch (t->state) {
	case TALK_PENDING:
		break;
	case TALK_UNREACHED:
		return '-';
	case TALK_STALLED:
		return t->began ? 'y' : 'x';
	case TALK_DONE:
		return '+';
	}
	return '.';
}

static void put_talks(struct mesh_self *s, cJSON *line)
{
	char *text = arena_alloc(s->a, s->n + 1);
	cJSON *mtus = json_array(line, "mtus");

	for (size_t i = 0; i < s->n; i++) {
		bool stalled = s->talks[i].state == TALK_STALLED;
		unsigned mtu = stalled ? s->fits[i] : s->talks[i].path_mtu;

		text[i] = talk_letter(&s->talks[i]);
		cJSON_AddItemToArray(mtus, cJSON_CreateNumber(mtu));
	}
	json_str(line, "talks", text);
}

static void put_crawl(struct mesh_self *s, cJSON *line)
{
	cJSON *list = NULL;

	for (size_t i = 0; i < s->n && !list; i++)
		if (s->crawl_mbps[i] > 0)
			list = json_array(line, "crawl");
	for (size_t i = 0; i < s->n && list; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber((double)s->crawl_mbps[i]));
}

static void put_known(cJSON *line, const char *key, const float *v, size_t n)
{
	cJSON *list = json_array(line, key);

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, isfinite(v[i]) ? cJSON_CreateNumber((double)v[i])
							  : cJSON_CreateNull());
}

cJSON *mesh_rate_line(struct mesh_self *s)
{
	cJSON *line = cJSON_CreateObject();

	json_num(line, "rank", (double)s->me);
	if (mesh_is_gone(s))
		json_bool(line, "gone", true);
	put_known(line, "gbps", s->gbps, s->n);
	put_known(line, "resent", s->again, s->n);
	return line;
}

cJSON *mesh_line(struct mesh_self *s)
{
	cJSON *line = cJSON_CreateObject(), *findings;

	json_num(line, "rank", (double)s->me);
	put_node(s, line);
	if (s->same != s->me) /* it has been spoken for */
		return line;
	put_row(s, line);
	put_late(s, line);
	put_talks(s, line);
	put_crawl(s, line);
	mesh_part(s, line);
	findings = json_array(line, "findings");
	local_warnings(&s->local, s->report, findings);
	mesh_names(s, findings);
	return line;
}
