/*
 * Two names, one machine: a host listed twice, a line pasted where it was made. Such a pair
 * reaches itself whatever the network is like. Names and addresses tell nothing, so it is the
 * running kernel and its network namespace that are compared: containers with a stack of their
 * own are hosts of their own. (A machine resumed from another's memory shares its boot id, not
 * its address, which counts too.)
 */
#include "probes/port/mesh_self.h"

#include "lib/core/file.h"

#include <sodium.h>

void mesh_machine(const struct mesh_self *s, struct mesh_card *c)
{
	const char *boot = file_line(s->a, "/proc/sys/kernel/random/boot_id");
	char net[64];
	ssize_t n = readlink("/proc/self/ns/net", net, sizeof(net) - 1);
	const char *text;

	if (!boot || n <= 0)
		return;
	net[n] = '\0';
	text = arena_printf(s->a, "%s %s %s", boot, net, c->addr);
	(void)crypto_generichash(c->machine, sizeof(c->machine), (const unsigned char *)text,
				 strlen(text), NULL, 0);
}

static bool are_same(const struct mesh_card *x, const struct mesh_card *y)
{
	static const unsigned char unknown[sizeof(x->machine)];

	return !x->idle && !y->idle && memcmp(x->machine, unknown, sizeof(unknown)) &&
	       !memcmp(x->machine, y->machine, sizeof(x->machine));
}

static size_t first_of(const struct mesh_self *s, size_t rank)
{
	for (size_t i = 0; i < rank; i++)
		if (are_same(&s->cards[i], &s->cards[rank]))
			return i;
	return rank;
}

void mesh_same(struct mesh_self *s)
{
	s->same = s->me;
	for (size_t k = s->n; k-- > 1;) { /* from the end: whom one is the same as is still there */
		size_t first = first_of(s, k);

		if (first == k)
			continue;
		s->addrs[k] = (union addr){0}; /* nobody asks it */
		if (k == s->me)
			s->same = first;
		if (s->relay)
			continue;
		s->cards[k].idle = 1; /* many ranks of a host are what other launchers start */
		s->idle |= k == s->me;
	}
}
