/* What AWS tells beyond addresses: groups and subnet per interface, place, and the role's keys. */
#include "lib/host/cloud_service.h"

enum { MAX_LINES = 256 };

static int get_word(struct aws *s, const char *path, const char **ret, struct err *e)
{
	const char *text;

	if (aws_get(s, path, &text, e))
		return -1;
	*ret = text ? metadata_word(s->m->a, text, strlen(text)) : NULL;
	return 0;
}

static int get_words(struct aws *s, const char *path, str_list *ret, struct err *e)
{
	const char *text, *line, *word;

	if (aws_get(s, path, &text, e))
		return -1;
	while (text && ret->n < MAX_LINES && metadata_line(s->m->a, &text, &line)) {
		word = metadata_word(s->m->a, line, strlen(line));
		if (word)
			*LIST_ADD(s->m->a, ret) = word;
	}
	return 0;
}

int aws_read_card(struct aws *s, const char *mac, struct err *e)
{
	struct arena *a = s->m->a;
	struct cloud_card c = {.mac = mac};
	const struct {
		const char *key;
		const char **to;
	} words[] = {{"interface-id", &c.id}, {"subnet-id", &c.subnet}, {"vpc-id", &c.vpc}};
	const char *dir = arena_printf(a, AWS_META "network/interfaces/macs/%s/", mac);
	str_list addrs = {0};
	union addr at;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (get_word(s, arena_printf(a, "%s%s", dir, words[i].key), words[i].to, e))
			return -1;
	if (get_words(s, arena_printf(a, "%ssecurity-group-ids", dir), &c.groups, e) ||
	    get_words(s, arena_printf(a, "%slocal-ipv4s", dir), &addrs, e))
		return -1;
	for (size_t i = 0; i < addrs.n; i++)
		if (!addr_parse(addrs.v[i], &at))
			*LIST_ADD(a, &c.addrs) = at;
	*LIST_ADD(a, &s->m->cloud->cards) = c;
	return 0;
}

int aws_read_place(struct aws *s, struct err *e)
{
	struct cloud *c = s->m->cloud;

	return get_word(s, AWS_META "instance-id", &c->instance_id, e) ||
			       get_word(s, AWS_META "placement/availability-zone", &c->zone, e) ||
			       get_word(s, AWS_META "placement/region", &c->region, e)
		       ? -1
		       : 0;
}

/* Some services list the role with a slash behind it. */
int aws_read_role(struct aws *s, struct err *e)
{
	static const char dir[] = AWS_META "iam/security-credentials/";
	str_list roles = {0};
	const char *json;
	size_t n;

	if (get_words(s, dir, &roles, e))
		return -1;
	if (!roles.n)
		return 0;
	n = strcspn(roles.v[0], "/?#%");
	if (aws_get(s, arena_printf(s->m->a, "%s%.*s", dir, (int)n, roles.v[0]), &json, e))
		return -1;
	s->m->role = json ? arena_strdup(s->m->a, json) : NULL;
	return 0;
}
