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

void hosts_at(const char *const *names, const char *const *addresses, size_t n, struct arena *a,
	      struct hosts *ret, const char **ret_at)
{
	const char **keys = arena_alloc(a, (n + 1) * sizeof(*keys));

	for (size_t i = 0; i < n; i++)
		keys[i] = hosts_key(a, names[i], addresses[i]);
	hosts_of(keys, n, a, ret);
	for (size_t i = 0; i < n; i++) {
		ret_at[i] = names[i];
		for (size_t k = 0; k < n; k++)
			if (ret->of[k] != ret->of[i] && streq(names[k], names[i]))
				ret_at[i] = addresses[i];
	}
}
