#include "lib/cluster/child.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <poll.h>

/* Stderr is read, too, so that nobody waits for room in it, and dropped. */
static void drain(struct child *c, uint64_t deadline_ns, size_t max, struct text *out)
{
	uint64_t until = now_ns() + deadline_ns;
	char buf[16384];

	while (!interrupt_pending() && now_ns() < until && out->n < max) {
		struct pollfd p[] = {{.fd = c->out, .events = POLLIN},
				     {.fd = c->err, .events = POLLIN}};
		ssize_t n;

		if (poll(p, 2, 100) <= 0)
			continue;
		if (p[1].revents && read(c->err, buf, sizeof(buf)) == 0) {
			(void)close(c->err);
			c->err = -1;
		}
		if (!p[0].revents)
			continue;
		n = read(c->out, buf, sizeof(buf));
		if (n == 0)
			return;
		if (n > 0)
			text_addn(out, buf, (size_t)n);
	}
}

void child_answer(char *const *argv, uint64_t deadline_ns, size_t max, struct text *out)
{
	struct err ignored = {0};
	struct child c;

	if (child_start(&c, argv, &ignored))
		return;
	drain(&c, deadline_ns, max, out);
	child_done(&c);
}
