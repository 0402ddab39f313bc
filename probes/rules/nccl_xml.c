#include "probes/rules/nccl_xml.h"

enum {
	WORD_MAX = 253,	   /* MAX_STR_LEN of xml.h, less what ends it */
	NODES_MAX = 65536, /* NCCL_GRAPH_XML_MAX_NODES; older ones have less room */
};
enum kind { REFUSED = -1, END, OPEN, SINGLE, CLOSE };

struct reading {
	struct arena *a;
	const char *at, *end;
	struct nccl_xml *x;
};

static enum kind refuse(struct reading *r, const char *why)
{
	if (!r->x->why)
		r->x->why = why;
	return REFUSED;
}

static bool take(struct reading *r, char *ret)
{
	if (r->at == r->end) {
		(void)refuse(r, "it ends in the middle of an element");
		return false;
	}
	*ret = *r->at++;
	r->x->line += *ret == '\n';
	return true;
}

static bool is_one_of(char c, const char *set) { return c && strchr(set, c); }

/* Up to one of @ends, which is taken, too. */
static bool take_until(struct reading *r, const char *ends, const char **ret, char *ret_end)
{
	const char *from = r->at;

	do {
		if (!take(r, ret_end))
			return false;
		if (r->at - from > WORD_MAX + 1) {
			(void)refuse(r, "a name or a value has more than 253 characters");
			return false;
		}
	} while (!is_one_of(*ret_end, ends));
	*ret = arena_strndup(r->a, from, (size_t)(r->at - from) - 1);
	return true;
}

static bool value(struct reading *r, const char **ret, char *ret_end)
{
	char quote;

	if (!take(r, &quote))
		return false;
	if (quote != '"' && quote != '\'') {
		(void)refuse(r, "a value stands without quotes");
		return false;
	}
	return take_until(r, (const char[]){quote, '\0'}, ret, ret_end) && take(r, ret_end);
}

/* A name, and the value behind its '=' where one may be (@ret_value). */
static bool token(struct reading *r, const char **ret_name, const char **ret_value, char *ret_end)
{
	if (!take_until(r, "= >/\n\r", ret_name, ret_end))
		return false;
	if (*ret_end != '=')
		return true;
	if (ret_value)
		return value(r, ret_value, ret_end);
	(void)refuse(r, "a value stands where none may be");
	return false;
}

/* What begins after "<!--", of which @name is the first word. */
static bool skip_comment(struct reading *r, const char *from)
{
	const char *end = memmem(from, (size_t)(r->end - from), "-->", 3);

	if (!end) {
		(void)refuse(r, "a comment does not end");
		return false;
	}
	for (end += 3; r->at < end; r->at++)
		r->x->line += *r->at == '\n';
	return true;
}

/* To what follows the next '<'; false: there is none. */
static bool find_element(struct reading *r, enum kind *ret)
{
	char c = ' ';

	while (is_one_of(c, " \n\r")) {
		if (r->at == r->end) {
			*ret = END;
			return false;
		}
		(void)take(r, &c);
	}
	if (c == '<')
		return true;
	*ret = refuse(r, c == '\t' ? "a tab stands between two elements: only blanks may"
				   : "text stands where an element must begin");
	return false;
}

static bool attributes(struct reading *r, struct nccl_xml_node *n, char *end)
{
	while (*end == ' ') {
		const char *key, *v = "";

		if (!token(r, &key, &v, end))
			return false;
		if (n->nattrs == NCCL_XML_ATTRS)
			continue;
		n->attrs[n->nattrs].key = key;
		n->attrs[n->nattrs++].value = v;
	}
	return true;
}

/* What begins with "<NAME" and @end, up to its '>'. */
static enum kind rest_of(struct reading *r, struct nccl_xml_node *n, char end)
{
	enum kind kind = OPEN;
	const char *ignored;

	if (!*n->name && end == '/')
		return !token(r, &n->name, NULL, &end) ? REFUSED
		       : end == '>'		       ? CLOSE
						       : refuse(r, "a closing tag goes on");
	if (!attributes(r, n, &end))
		return REFUSED;
	if (end == '/') {
		kind = SINGLE;
		if (!token(r, &ignored, NULL, &end))
			return REFUSED;
	}
	if (end == '>')
		return kind;
	return refuse(r, *n->name == '?' ? "it begins with <?xml, which NCCL's parser cannot read"
			 : end == '\n'	 ? "an element goes on in the next line"
					 : "an element does not end where it should");
}

static enum kind next(struct reading *r, struct nccl_xml_node *n)
{
	for (;;) {
		enum kind kind;
		const char *from;
		char end;

		*n = (struct nccl_xml_node){0};
		if (!find_element(r, &kind))
			return kind;
		from = r->at;
		if (!token(r, &n->name, NULL, &end))
			return REFUSED;
		if (!starts_with(n->name, "!--"))
			return rest_of(r, n, end);
		if (!skip_comment(r, from + 3))
			return REFUSED;
	}
}

/* What NCCL knows, and in what. Of the rest it only looks for as many ends as there are beginnings,
 * whatever they are called. */
static bool is_known(const char *in, const char *name)
{
	static const char *const known[][2] = {
		{"", "system"},	     {"system", "cpu"},	   {"cpu", "pci"},     {"cpu", "nic"},
		{"pci", "pci"},	     {"pci", "gpu"},	   {"pci", "nic"},     {"pci", "pcilink"},
		{"gpu", "nvlink"},   {"gpu", "c2c"},	   {"nic", "net"},     {"", "graphs"},
		{"graphs", "graph"}, {"graph", "channel"}, {"channel", "net"}, {"channel", "gpu"},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (streq(known[i][0], in) && streq(known[i][1], name))
			return true;
	return false;
}

struct place {
	size_t head;	/* the known one that we are in, or NCCL_XML_TOP */
	size_t unknown; /* how many others, in there */
};

static const char *name_at(const struct reading *r, const struct place *at)
{
	return at->head == NCCL_XML_TOP ? "" : r->x->nodes.v[at->head].name;
}

static bool close_one(struct reading *r, struct place *at, const char *name)
{
	if (at->unknown) {
		at->unknown--;
	} else if (at->head == NCCL_XML_TOP || !streq(name_at(r, at), name)) {
		(void)refuse(r, arena_printf(r->a, "</%s> closes nothing", name));
		return false;
	} else {
		at->head = r->x->nodes.v[at->head].parent;
	}
	return true;
}

/* False: there are too many. */
static bool add(struct reading *r, struct place *at, struct nccl_xml_node *n, enum kind kind)
{
	if (at->unknown || !is_known(name_at(r, at), n->name)) {
		at->unknown += kind == OPEN;
		return true;
	}
	if (r->x->nodes.n == NODES_MAX) {
		(void)refuse(r, "it has more than 65536 elements");
		return false;
	}
	n->parent = at->head;
	*LIST_ADD(r->a, &r->x->nodes) = *n;
	at->head = kind == OPEN ? r->x->nodes.n - 1 : at->head;
	return true;
}

int nccl_xml_read(struct arena *a, const char *text, size_t n, struct nccl_xml *ret)
{
	struct reading r = {a, text, text + n, ret};
	struct place at = {.head = NCCL_XML_TOP};
	struct nccl_xml_node node;
	enum kind kind;

	*ret = (struct nccl_xml){.line = 1};
	while ((kind = next(&r, &node)) > END)
		if (kind == CLOSE ? !close_one(&r, &at, node.name) : !add(&r, &at, &node, kind))
			return -1;
	if (kind == END && (at.unknown || at.head != NCCL_XML_TOP))
		kind = refuse(&r, "an element is not closed");
	return kind == REFUSED ? -1 : 0;
}

const char *nccl_xml_attr(const struct nccl_xml_node *n, const char *key)
{
	for (size_t i = 0; i < n->nattrs; i++)
		if (streq(n->attrs[i].key, key))
			return n->attrs[i].value;
	return NULL;
}
