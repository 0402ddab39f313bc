/* From JSON to the model: what both clouds have in common. */
#include "probes/walls/read.h"

#include "lib/core/units.h"
#include "lib/report/json.h"

#include <ctype.h>
#include <strings.h>

const struct wall *wall_find(const struct walls *w, const char *id)
{
	for (size_t i = 0; i < w->all.n; i++)
		if (streq(w->all.v[i].id, id))
			return &w->all.v[i];
	return NULL;
}

bool wall_node_has(const struct wall_node *n, const char *label)
{
	return is_among(label, n->labels.v, n->labels.n);
}

const char *wall_tail(const char *id)
{
	const char *slash = strrchr(id, '/');

	return slash ? slash + 1 : id;
}

const char *wall_label_word(const char *label)
{
	const char *colon = strchr(label, ':');

	return wall_tail(colon ? colon + 1 : label);
}

bool walls_are_of(struct walls *w, enum walls_cloud cloud)
{
	if (w->cloud == WALLS_NONE)
		w->cloud = cloud;
	w->is_mixed |= w->cloud != cloud;
	return w->cloud == cloud;
}

const char *walls_word(struct walls *w, const char *s)
{
	if (!s || !*s || strlen(s) > 512 || *s == '-')
		return NULL;
	for (const char *c = s; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return NULL;
	return arena_strdup(w->a, s);
}

const char *walls_tail(struct walls *w, const char *s)
{
	return walls_word(w, s ? wall_tail(s) : NULL);
}

const char *walls_part(struct walls *w, const char *path, const char *key)
{
	const size_t n = strlen(key);

	for (const char *p = path; p && (p = strchr(p, '/')); p++)
		if (!strncasecmp(p + 1, key, n) && p[1 + n] == '/') {
			p += n + 2;
			return walls_word(w, arena_strndup(w->a, p, strcspn(p, "/")));
		}
	return NULL;
}

const char *walls_id(struct walls *w, const char *s)
{
	char *id = s && *s ? arena_strdup(w->a, s) : NULL;

	for (char *c = id; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return id;
}

int walls_add_ports(struct walls *w, port_spans *l, const char *text)
{
	const char *dash = text ? strchr(text, '-') : NULL;
	uint64_t first, last;

	if (!text || parse_uint(arena_strndup(w->a, text, strcspn(text, "-")), &first))
		return -1;
	last = first;
	if ((dash && parse_uint(dash + 1, &last)) || last > 65535 || first > last)
		return -1;
	*LIST_ADD(w->a, l) = (struct port_span){(uint16_t)first, (uint16_t)last};
	return 0;
}

int walls_protocol(const char *s)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"all", -1}, {"*", -1},	 {"any", -1},	 {"tcp", 6},
		     {"udp", 17}, {"icmp", 1},	 {"icmpv6", 58}, {"esp", 50},
		     {"ah", 51},  {"sctp", 132}, {"ipip", 94}};
	uint64_t n;

	for (size_t i = 0; s && i < ARRAY_LEN(names); i++)
		if (!strcasecmp(s, names[i].name))
			return names[i].number;
	return s && !parse_uint(s, &n) && n <= 255 ? (int)n : -2;
}

bool walls_add_range(struct walls *w, struct wall_whom *who, const char *text)
{
	struct wall_range r;

	if (!text || addr_parse_range(text, &r.net, &r.bits))
		return false;
	*LIST_ADD(w->a, &who->ranges) = r;
	return true;
}

struct wall *walls_make(struct walls *w, const char *id)
{
	struct wall *wall = (struct wall *)wall_find(w, id);

	if (!wall) {
		wall = LIST_ADD(w->a, &w->all);
		wall->id = id;
	}
	return wall;
}

static bool is_before(const struct wall_rule *x, const struct wall_rule *y)
{
	return x->priority != y->priority ? x->priority < y->priority : !x->is_allow && y->is_allow;
}

void walls_add_rule(struct walls *w, struct wall *wall, const struct wall_rule *r)
{
	size_t at = wall->rules.n;

	(void)LIST_ADD(w->a, &wall->rules);
	for (; at && is_before(r, &wall->rules.v[at - 1]); at--)
		wall->rules.v[at] = wall->rules.v[at - 1];
	wall->rules.v[at] = *r;
}

static bool add_one(struct walls *w, const cJSON *o)
{
	return walls_read_gcp(w, o) || walls_read_azure(w, o);
}

void walls_add(struct walls *w, const cJSON *doc, bool *ret_known)
{
	/* The APIs themselves answer with such a list where the commands print one. */
	static const char *const lists[] = {"items", "value", "firewalls"};
	const cJSON *list = cJSON_IsArray(doc) ? doc : NULL, *one;

	for (size_t i = 0; !list && i < ARRAY_LEN(lists); i++)
		if (cJSON_IsArray(json_get(doc, lists[i])))
			list = json_get(doc, lists[i]);
	*ret_known = add_one(w, doc);
	w->is_whole |= list && !cJSON_GetArraySize(list);
	cJSON_ArrayForEach (one, list)
		*ret_known |= add_one(w, one);
}

/* --- which walls stand before whom ---------------------------------------------------------- */

static void stand_before(struct walls *w, struct wall_node *n, const char *id)
{
	if (!is_among(id, n->walls.v, n->walls.n))
		*LIST_ADD(w->a, &n->walls) = id;
}

/* Whoever listed a project's rules has those of all its networks. */
static bool is_listed(const struct walls *w, const struct wall *wall)
{
	if (w->is_whole || wall->rules.n || wall->disabled.n || wall->left_out)
		return true;
	for (size_t i = 0; wall->place && i < w->all.n; i++) {
		const struct wall *other = &w->all.v[i];

		if ((other->rules.n || other->disabled.n) && other->place &&
		    streq(other->place, wall->place))
			return true;
	}
	return false;
}

/* A network without a rule has its wall all the same. */
static void settle_gcp(struct walls *w, struct wall_node *n)
{
	struct wall *wall = walls_make(w, n->network);

	walls_name_gcp(w, wall);
	stand_before(w, n, wall->id);
}

static void settle_azure(struct walls *w, struct wall_node *n)
{
	for (size_t i = 0; n->subnet && i < w->all.n; i++)
		if (is_among(n->subnet, w->all.v[i].subnets.v, w->all.v[i].subnets.n))
			stand_before(w, n, w->all.v[i].id);
	for (size_t i = 0; n->subnet && i < w->subnets.n; i++)
		if (streq(n->subnet, w->subnets.v[i].id) && w->subnets.v[i].group)
			stand_before(w, n, w->subnets.v[i].group);
}

bool walls_knows_subnet(const struct walls *w, const struct wall_node *n)
{
	for (size_t i = 0; n->subnet && i < w->subnets.n; i++)
		if (streq(n->subnet, w->subnets.v[i].id))
			return true;
	for (size_t i = 0; n->subnet && i < w->all.n; i++)
		if (is_among(n->subnet, w->all.v[i].subnets.v, w->all.v[i].subnets.n))
			return true;
	return w->cloud == WALLS_GCP || !n->subnet;
}

/* Private endpoints, bastions and what is attached to nothing, where others are of machines. */
static void leave_out_the_loose(struct walls *w)
{
	size_t kept = 0, of_machines = 0;

	for (size_t i = 0; i < w->nodes.n; i++)
		of_machines += w->nodes.v[i].machine != NULL;
	for (size_t i = 0; i < w->nodes.n; i++)
		if (w->nodes.v[i].machine || !of_machines)
			w->nodes.v[kept++] = w->nodes.v[i];
	w->loose += w->nodes.n - kept;
	w->nodes.n = kept;
}

void walls_settle(struct walls *w)
{
	if (w->cloud == WALLS_AZURE)
		leave_out_the_loose(w);
	for (size_t i = 0; i < w->nodes.n; i++)
		if (w->cloud == WALLS_GCP)
			settle_gcp(w, &w->nodes.v[i]);
		else
			settle_azure(w, &w->nodes.v[i]);
	for (size_t i = 0; w->cloud == WALLS_GCP && i < w->all.n; i++)
		w->all.v[i].is_described = is_listed(w, &w->all.v[i]);
}
