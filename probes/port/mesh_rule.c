/* What this host's own rules say to a packet between two others, or of its own. */
#include "lib/report/json.h"
#include "probes/port/mesh.h"

/* "FROM>TO:PORT"; false when malformed. */
static bool parse_query(const char *text, struct arena *a, union addr *ret_from, union addr *ret_to)
{
	const char *gt = strchr(text, '>'), *host;
	uint16_t port;

	if (!gt || addr_parse(arena_strndup(a, text, (size_t)(gt - text)), ret_from) ||
	    addr_split(gt + 1, a, &host, &port) || addr_parse(host, ret_to))
		return false;
	addr_set_port(ret_to, port);
	return true;
}

bool mesh_rule(const struct local *l, bool input, const union addr *from, const union addr *to,
	       cJSON *o)
{
	struct nft_answer x = local_rule(l, input, false, from, to);
	const union addr *peer = input ? from : to;
	struct addr_text at;

	if (x.verdict == NFT_ACCEPT)
		return false;
	json_str(o, "hook", input ? "input" : "output");
	json_str(o, "rule", nft_describe(&x, l->f->a));
	json_bool(o, "perhaps", x.perhaps);
	json_str(o, "peer", addr_print(peer, &at));
	json_str(o, "fix", firewall_fix(&l->fw, &x, at.s, l->f->a));
	return true;
}

static void answer(const struct local *l, size_t query, bool input, const union addr *from,
		   const union addr *to, cJSON *list)
{
	cJSON *o = cJSON_CreateObject();

	json_num(o, "query", (double)query);
	if (mesh_rule(l, input, from, to, o))
		cJSON_AddItemToArray(list, o);
	else
		cJSON_Delete(o);
}

void mesh_why(const struct local *l, const char *queries, struct report *report)
{
	cJSON *list = json_array(report_data(report), "why");
	struct arena *a = l->f->a;
	size_t query = 0;
	struct finding *f;

	for (const char *p = queries;; p++, query++) {
		size_t n = strcspn(p, ";");
		union addr from, to;

		if (parse_query(arena_strndup(a, p, n), a, &from, &to) && l->fw.known) {
			if (inventory_by_addr(&l->f->inv, &to))
				answer(l, query, true, &from, &to, list);
			if (inventory_by_addr(&l->f->inv, &from))
				answer(l, query, false, &from, &to, list);
		}
		p += n;
		if (!*p)
			break;
	}
	f = report_find(report, "mesh.why", NULL);
	finding_set(f, ST_INFO, "%s", l->fw.known ? "looked at its rules" : l->fw.trouble);
	report_add(report, f);
}
