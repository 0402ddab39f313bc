/* What an agent or a launcher hears: the first byte says which, the rest is what it heard. */
#include "lib/cluster/agent.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct arena a;
static bool ended;

static int take(struct link *l, uint16_t type, struct wire_in *in)
{
	struct agent_orders o;

	if (type == ORDER_START)
		return orders_unpack(in, &a, &o);
	if (type == ORDER_END)
		link_close(l); /* an owner may, at any message */
	(void)wire_u32(in);
	(void)wire_str(in, &a);
	return in->bad ? -1 : 0;
}

static void closed(struct link *l, const char *why)
{
	(void)l;
	(void)why;
	ended = true;
}

static void asked(struct link *l) { link_send_raw(l, "copy", 4); }

static void hear(const uint8_t *data, size_t n, bool greeting, bool asking)
{
	struct link l = {.on_message = take, .on_closed = closed, .on_asked = asked};
	struct loop loop;
	struct err e;
	int in[2], out[2];

	if (loop_init(&loop, &e) < 0 || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		abort();
	ended = false;
	l.asks = asking ? "\nask\n" : NULL;
	if (link_open(&l, &loop, in[0], out[1], greeting, &e) < 0 ||
	    write(in[1], data, n) != (ssize_t)n)
		abort();
	(void)close(in[1]);
	link_drain(&l);
	if (!ended && !l.closed)
		abort(); /* the pipe is at its end: it has to know */
	link_close(&l);
	(void)close(out[0]);
	loop_done(&loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct agent_orders o;
	struct wire_in in;

	if (n < 1 || n > 60000)
		return 0;
	in = (struct wire_in){data + 1, n - 1, false};
	if (data[0] & 1)
		(void)!orders_unpack(&in, &a, &o);
	else
		hear(data + 1, n - 1, data[0] & 2, data[0] & 4);
	arena_done(&a);
	return 0;
}
