/* A rank's lines of JSON, as it writes them; mesh_take.c reads them. */
#include "probes/port/mesh_self.h"

#include "lib/report/json.h"
#include "probes/port/fix.h"

#include <math.h>

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
		json_num(line, "mtu", mine->iface->mtu);
	}
	if (s->o->ports)
		return;
	ports = json_array(line, "ports");
	for (size_t i = 0; i < s->ports[s->me].n; i++)
		cJSON_AddItemToArray(ports, cJSON_CreateNumber(s->ports[s->me].v[i]));
}

/* "STATES CAUSES MS" of the @n results from @v on. */
static const char *row_text(const struct mesh_self *s, const struct reach_result *v, size_t n)
{
	char *line = arena_alloc(s->a, 2 * n + 32);
	float ms = NAN;

	for (size_t k = 0; k < n; k++) {
		line[k] = port_state_letter(v[k].state);
		line[n + 1 + k] = port_cause_letter(v[k].cause);
		if (port_state_is_reached(v[k].state) && !(v[k].ms >= ms))
			ms = v[k].ms;
	}
	line[n] = ' ';
	if (isfinite(ms))
		snprintf(line + 2 * n + 1, 31, " %.3f", (double)ms);
	else
		snprintf(line + 2 * n + 1, 31, " -");
	return line;
}

static void put_row(struct mesh_self *s, cJSON *line)
{
	const char **rows = arena_alloc(s->a, s->n * sizeof(*rows));
	cJSON *list = json_array(line, "row");
	size_t n;

	for (size_t i = 0; i < s->reach.n; i += n) {
		n = s->reach.v[i].target->ports.n;
		rows[s->target_rank[s->reach.v[i].target - s->targets.v]] =
			row_text(s, &s->reach.v[i], n);
	}
	for (size_t i = 0; i < s->n; i++)
		json_push_str(list, rows[i] ?: "");
}

static char talk_letter(enum talk_state t)
{
	return t == TALK_DONE ? '+' : t == TALK_STALLED ? 'x' : t == TALK_UNREACHED ? '-' : '.';
}

static void put_talks(struct mesh_self *s, cJSON *line)
{
	char *text = arena_alloc(s->a, s->n + 1);
	cJSON *mtus = json_array(line, "mtus");

	for (size_t i = 0; i < s->n; i++) {
		bool stalled = s->talks[i].state == TALK_STALLED;
		unsigned mtu = stalled ? s->fits[i] : s->talks[i].path_mtu;

		text[i] = talk_letter(s->talks[i].state);
		cJSON_AddItemToArray(mtus, cJSON_CreateNumber(mtu));
	}
	json_str(line, "talks", text);
}

cJSON *mesh_rate_line(struct mesh_self *s)
{
	cJSON *line = cJSON_CreateObject(), *gbps;

	json_num(line, "rank", (double)s->me);
	gbps = json_array(line, "gbps");
	for (size_t i = 0; i < s->n; i++)
		cJSON_AddItemToArray(gbps, isfinite(s->gbps[i])
						   ? cJSON_CreateNumber((double)s->gbps[i])
						   : cJSON_CreateNull());
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
	put_talks(s, line);
	mesh_part(s, line);
	findings = json_array(line, "findings");
	local_warnings(&s->local, s->report, findings);
	mesh_names(s, findings);
	return line;
}
