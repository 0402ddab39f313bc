/* An agent's orders as one message. */
#include "lib/cluster/agent.h"

static void put_strings(struct wire_out *w, const str_list *l)
{
	wire_put_u32(w, (uint32_t)l->n);
	for (size_t i = 0; i < l->n; i++)
		wire_put_bytes(w, l->v[i], strlen(l->v[i]));
}

unsigned char *orders_pack(const struct agent_orders *o, size_t *ret_n)
{
	struct wire_out w = {malloc(SECURE_MAX_MESSAGE), 0, SECURE_MAX_MESSAGE, false};
	const int numbers[] = {o->first, o->count, o->size, o->node, o->nodes, o->port};

	if (!w.p)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		wire_put_u32(&w, (uint32_t)numbers[i]);
	wire_put_bytes(&w, o->token.bytes, sizeof(o->token.bytes));
	wire_put_str(&w, o->command);
	wire_put_str(&w, o->data_addr);
	wire_put_str(&w, o->peer);
	wire_put_str(&w, o->run);
	put_strings(&w, &o->args);
	put_strings(&w, &o->env);
	*ret_n = w.n;
	if (!w.full)
		return w.p;
	free(w.p);
	return NULL;
}

/* As many as the message has. Not wire_str(): an argument is passed on as it was, tabs and all. */
static void take_strings(struct wire_in *in, struct arena *a, str_list *ret)
{
	uint32_t n = wire_u32(in);

	for (uint32_t i = 0; i < n && !in->bad; i++) {
		size_t len;
		const char *s = wire_bytes(in, &len);

		in->bad |= !in->bad && memchr(s, 0, len) != NULL;
		if (!in->bad)
			*LIST_ADD(a, ret) = arena_strndup(a, s, len);
	}
}

int orders_unpack(struct wire_in *in, struct arena *a, struct agent_orders *ret)
{
	uint32_t first = wire_u32(in), count = wire_u32(in), size = wire_u32(in);
	uint32_t node = wire_u32(in), nodes = wire_u32(in), port = wire_u32(in);
	struct agent_orders o = {0};
	const void *token;
	size_t n;

	token = wire_bytes(in, &n);
	if (!token || n != sizeof(o.token.bytes) || size > WORLD_MAX || count > AGENT_RANKS_MAX ||
	    first > size || count > size - first || node >= nodes || nodes > WORLD_MAX ||
	    port > UINT16_MAX)
		return -1;
	memcpy(o.token.bytes, token, n);
	o.first = (int)first;
	o.count = (int)count;
	o.size = (int)size;
	o.node = (int)node;
	o.nodes = (int)nodes;
	o.port = (uint16_t)port;
	o.command = wire_str(in, a);
	o.data_addr = wire_str(in, a);
	o.peer = wire_str(in, a);
	o.run = wire_str(in, a);
	take_strings(in, a, &o.args);
	take_strings(in, a, &o.env);
	if (!wire_end(in) || !*o.command || strchr(o.command, '/'))
		return -1;
	*ret = o;
	return 0;
}
