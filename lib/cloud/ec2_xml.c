/*
 * EC2's XML is elements and text; lists are elements called "item". That much
 * is read here, and nothing else that XML could be (a document type is
 * refused): a general parser would be one more library that every start of
 * portcheck pays for.
 */
#include "lib/cloud/ec2.h"
#include "lib/core/utf8.h"
#include "lib/report/json.h"

enum { DEPTH = 32, NAME_SIZE = 64 };

struct frame {
	char name[NAME_SIZE];
	cJSON *node; /* NULL until it has a child */
};
struct xml {
	const char *at, *end;
	struct frame stack[DEPTH];
	size_t depth;
	struct text text; /* of the innermost element */
	struct arena a;
	cJSON *root;
};

/* As the API's model has it: most names begin with a capital there, these are others. */
static const char *json_name(char *name)
{
	static const struct {
		const char *xml, *json;
	} names[] = {
		{"securityGroupInfo", "SecurityGroups"},
		{"securityGroupRuleSet", "SecurityGroupRules"},
		{"groups", "UserIdGroupPairs"},
		{"reservationSet", "Reservations"},
		{"instancesSet", "Instances"},
		{"groupSet", "Groups"},
		{"networkInterfaceSet", "NetworkInterfaces"},
		{"privateIpAddressesSet", "PrivateIpAddresses"},
		{"ipv6AddressesSet", "Ipv6Addresses"},
		{"networkAclSet", "NetworkAcls"},
		{"entrySet", "Entries"},
		{"associationSet", "Associations"},
		{"ipAddress", "PublicIpAddress"},
		{"instanceState", "State"},
		{"instanceTypeSet", "InstanceTypes"},
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (streq(name, names[i].xml))
			return names[i].json;
	if (*name >= 'a' && *name <= 'z')
		*name = (char)(*name - 'a' + 'A');
	return name;
}

static void attach(struct xml *x, struct frame *f, cJSON *node)
{
	struct frame *above = x->depth > 1 ? f - 1 : NULL;

	if (!above)
		x->root = node;
	else if (cJSON_IsArray(above->node))
		cJSON_AddItemToArray(above->node, node);
	else
		cJSON_AddItemToObject(above->node, json_name(f->name), node);
}

/* The element above gets its kind from its first child. */
static void make_parent(struct xml *x, const char *child)
{
	struct frame *f = &x->stack[x->depth - 1];

	if (f->node)
		return;
	f->node = streq(child, "item") ? cJSON_CreateArray() : cJSON_CreateObject();
	attach(x, f, f->node);
}

static int open_element(struct xml *x, const char *name, size_t n)
{
	struct frame *f = &x->stack[x->depth];

	if (x->depth == DEPTH || !n || n >= NAME_SIZE || (!x->depth && x->root))
		return -1;
	memcpy(f->name, name, n);
	f->name[n] = '\0';
	f->node = NULL;
	if (x->depth)
		make_parent(x, f->name);
	x->depth++;
	x->text.n = 0;
	*x->text.s = '\0';
	return 0;
}

static int close_element(struct xml *x)
{
	struct frame *f = &x->stack[x->depth - 1];

	if (!f->node && x->depth == 1)
		attach(x, f, cJSON_CreateObject());
	else if (!f->node)
		attach(x, f, cJSON_CreateString(x->text.s));
	x->depth--;
	x->text.n = 0;
	*x->text.s = '\0';
	return 0;
}

/* (Its first letter may have become a capital.) */
static bool is_name(const struct xml *x, const char *name, size_t n)
{
	const char *open = x->stack[x->depth - 1].name;

	return strlen(open) == n && !strncasecmp(open, name, n);
}

/* "<name attributes>", "<name/>", "</name>", "<?...?>", "<!--...-->"; x->at is behind the "<". */
static int tag(struct xml *x)
{
	const char *close = memchr(x->at, '>', (size_t)(x->end - x->at)), *name = x->at;
	bool is_end = *name == '/', is_empty;
	size_t n;

	if (!close)
		return -1;
	if (x->end - x->at > 3 && !memcmp(name, "!--", 3)) {
		close = memmem(x->at, (size_t)(x->end - x->at), "-->", 3);
		x->at = close ? close + 3 : x->end;
		return close ? 0 : -1;
	}
	if (*name == '!')
		return -1;
	x->at = close + 1;
	if (*name == '?')
		return x->root || x->depth ? -1 : 0;
	name += is_end;
	for (n = 0; name + n < close && !strchr(" \t\r\n/", name[n]);)
		n++;
	if (is_end)
		return x->depth && is_name(x, name, n) ? close_element(x) : -1;
	is_empty = close[-1] == '/';
	if (open_element(x, name, n))
		return -1;
	return is_empty ? close_element(x) : 0;
}

static void add_code_point(struct text *t, unsigned long c)
{
	char s[4];

	text_addn(t, s, utf8_put(c ? (uint32_t)c : '?', s));
}

/* "&lt;" and its kin; x->at is behind the "&". */
static int entity(struct xml *x)
{
	static const struct {
		const char *name;
		char c;
	} names[] = {{"lt;", '<'}, {"gt;", '>'}, {"amp;", '&'}, {"quot;", '"'}, {"apos;", '\''}};
	size_t left = (size_t)(x->end - x->at);
	unsigned long c;
	char *end;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (left >= strlen(names[i].name) &&
		    !memcmp(x->at, names[i].name, strlen(names[i].name))) {
			text_addn(&x->text, &names[i].c, 1);
			x->at += strlen(names[i].name);
			return 0;
		}
	if (left < 3 || *x->at != '#')
		return -1;
	c = x->at[1] == 'x' ? strtoul(x->at + 2, &end, 16) : strtoul(x->at + 1, &end, 10);
	if (*end != ';' || end - x->at > 9 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return -1;
	add_code_point(&x->text, c);
	x->at = end + 1;
	return 0;
}

static int next(struct xml *x)
{
	size_t n = strcspn(x->at, "<&");

	if (x->depth)
		text_addn(&x->text, x->at, n);
	else if (n != strspn(x->at, " \t\r\n") && n)
		return -1;
	x->at += n;
	if (x->at == x->end)
		return 0;
	return *x->at++ == '<' ? tag(x) : x->depth ? entity(x) : -1;
}

cJSON *ec2_xml_parse(const char *text, size_t n, struct err *e)
{
	struct xml x = {0};
	int rc = 0;

	text_init(&x.text, &x.a);
	x.at = utf8_mend(&x.a, arena_strndup(&x.a, text, n));
	x.end = x.at + strlen(x.at);
	while (!rc && x.at < x.end)
		rc = next(&x);
	arena_done(&x.a);
	if (!rc && !x.depth && x.root)
		return x.root;
	cJSON_Delete(x.root);
	err_set(e, ERR_SYS, "EC2's answer is not the XML that it writes");
	err_hint(e, "does a proxy or AWS_ENDPOINT_URL stand between?");
	return NULL;
}
