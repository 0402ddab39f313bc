#include "bench/ranks/hosts.h"

const char *hosts_key(struct arena *a, const char *name, const char *machine)
{
	return machine && *machine ? arena_printf(a, "%s\n%s", name, machine) : name;
}

void hosts_of(const char *const *keys, size_t n, struct arena *a, struct hosts *ret)
{
	size_t *of = arena_alloc(a, (n + 1) * sizeof(*of));
	LIST(size_t) first = {0}, count = {0};

	*ret = (struct hosts){.of = of};
	for (size_t i = 0; i < n; i++) {
		size_t h = i && streq(keys[i], keys[i - 1]) ? of[i - 1] : 0;

		while (h < first.n && !streq(keys[first.v[h]], keys[i]))
			h++;
		if (h == first.n) {
			*LIST_ADD(a, &first) = i;
			*LIST_ADD(a, &count) = 0;
		}
		of[i] = h;
		count.v[h]++;
	}
	ret->n = first.n;
	for (size_t h = 0; h < count.n; h++) {
		ret->least = h && ret->least < count.v[h] ? ret->least : count.v[h];
		ret->most = count.v[h] > ret->most ? count.v[h] : ret->most;
	}
}
