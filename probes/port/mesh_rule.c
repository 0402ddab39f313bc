/* What this host's own rules say to a packet between two others, or of its own. */
#include "lib/report/here.h"
#include "lib/report/json.h"
#include "probes/port/mesh_judge.h"

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

const char *const mesh_hooks[] = {[MESH_IN] = "input",
				  [MESH_OUT] = "output",
				  [MESH_ANSWER_IN] = "answer in",
				  [MESH_ANSWER_OUT] = "answer out",
				  [MESH_FOUND] = "neighbours in",
				  [MESH_FINDS] = "neighbours out"};

static cJSON *rule_doc(const struct local *l, enum mesh_hook hook, const struct nft_answer *x,
		       const union addr *peer)
{
	cJSON *o = cJSON_CreateObject();
	struct addr_text at;
	const char *fix = firewall_fix(&l->fw, x, addr_print(peer, &at), l->f->a);

	json_str(o, "hook", mesh_hooks[hook]);
	json_str(o, "rule",
		 arena_printf(l->f->a, "%s%s", x->perhaps ? "perhaps " : "",
			      nft_describe(x, l->f->a)));
	json_bool(o, "perhaps", x->perhaps);
	json_bool(o, "seldom", x->seldom);
	if (x->alike)
		json_bool(o, "alike", true);
	json_bool(o, "rejects", x->verdict == NFT_REJECT);
	json_str(o, "peer", strstr(fix, at.s) ? at.s : "");
	json_str(o, "fix", here_line(l->f->a, fix));
	return o;
}

size_t mesh_rules(const struct local *l, enum mesh_hook hook, const union addr *from,
		  const union addr *to, cJSON **ret)
{
	bool input = hook == MESH_IN || hook == MESH_ANSWER_IN;
	struct nft_answer v[MESH_MOST_RULES];
	size_t n = local_rules(l, input, hook >= MESH_ANSWER_IN, from, to, v, MESH_MOST_RULES);

	for (size_t i = 0; i < n; i++)
		ret[i] = rule_doc(l, hook, &v[i], input ? from : to);
	return n;
}

/* What mends it is the same, whoever asks. */
static cJSON *plain_doc(enum mesh_hook hook, const char *rule, const char *fix)
{
	cJSON *o = cJSON_CreateObject();

	json_str(o, "hook", mesh_hooks[hook]);
	json_str(o, "rule", rule);
	json_str(o, "peer", "");
	json_str(o, "fix", fix);
	return o;
}

cJSON *mesh_marked_rule(const struct local *l, enum mesh_hook hook, const union addr *from,
			const union addr *to)
{
	const char *fix, *rule = local_throws_away(l, hook == MESH_ANSWER_OUT, from, to, &fix);

	return rule ? plain_doc(hook, rule, fix) : NULL;
}

cJSON *mesh_full_table(const struct local *l, enum mesh_hook hook)
{
	const char *fix, *rule = local_table_is_full(l, &fix);

	return rule ? plain_doc(hook, rule, fix) : NULL;
}

cJSON *mesh_full_queue(const struct local *l, uint64_t overflows)
{
	const char *fix, *rule = overflows ? local_queue_is_short(l, &fix) : NULL;
	cJSON *o = rule ? plain_doc(MESH_IN, rule, fix) : NULL;

	if (o)
		json_num(o, "most", 1);
	return o;
}

cJSON *mesh_ipsec_rule(const struct local *l, const struct xfrm *x, enum mesh_hook hook,
		       const union addr *from, const union addr *to)
{
	const char *fix, *rule = local_ipsec_stops(
				 l, x, hook == MESH_OUT || hook == MESH_ANSWER_OUT, from, to, &fix);

	return rule ? plain_doc(hook, rule, fix) : NULL;
}

cJSON *mesh_neighbour_rule(const struct local *l, enum mesh_hook hook, const struct nft_answer *x)
{
	return plain_doc(hook, nft_describe(x, l->f->a),
			 here_line(l->f->a, firewall_fix_neighbours(&l->fw, x, l->f->a)));
}

/* What decides, of all that there may be. */
static void answer(const struct local *l, size_t query, enum mesh_hook hook, const union addr *from,
		   const union addr *to, cJSON *list)
{
	bool input = hook == MESH_IN;
	struct nft_answer x = local_rule(l, input, false, from, to);
	cJSON *o;

	if (x.verdict == NFT_ACCEPT)
		return;
	o = rule_doc(l, hook, &x, input ? from : to);
	json_num(o, "query", (double)query);
	cJSON_AddItemToArray(list, o);
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
				answer(l, query, MESH_IN, &from, &to, list);
			if (inventory_by_addr(&l->f->inv, &from))
				answer(l, query, MESH_OUT, &from, &to, list);
		}
		p += n;
		if (!*p)
			break;
	}
	f = report_find(report, "mesh.why", NULL);
	finding_set(f, ST_INFO, "%s", l->fw.known ? "looked at its rules" : l->fw.trouble);
	report_add(report, f);
}

void mesh_look_at_rules(const struct mesh *m, const index_list *hosts, const char *why,
			struct finding *f)
{
	const char *typed = m->nodes[hosts->v[0]].as_root;
	const str_list list = {.v = (const char *[]){FIREWALL_LIST}, .n = 1};

	if (typed)
		finding_fix(f, "%s   # on %s: %s", typed, mesh_names_of(m, hosts), why);
	else
		mesh_type(m, hosts, &list, NULL, f);
}
