/* PyTorch's init_method URLs. */
#include "lib/cluster/world_env.h"
#include "lib/core/units.h"
#include "lib/net/addr.h"

struct init {
	const char *url;
	int rank, size;
	struct arena *a;
	struct world *w;
	struct err *e;
};

static int bad_url(const struct init *i, const char *why)
{
	err_set(i->e, ERR_USAGE, "--init '%.100s': %s", i->url, why);
	return err_hint(i->e, "write tcp://HOST:PORT, file:///PATH or env://");
}

static int query_number(const struct init *i, const char *s, int *ret)
{
	uint64_t n;

	if (s[strspn(s, "0123456789")] || parse_uint(s, &n) < 0 || n > WORLD_MAX)
		return bad_url(i, "rank and world_size are whole numbers");
	if (*ret < 0) /* --rank and --world-size win */
		*ret = (int)n;
	return 0;
}

/* "rank=1&world_size=4"; what else PyTorch takes there is nothing to us. */
static int read_query(struct init *i, char *query)
{
	char *rest = query, *one;

	while ((one = strsep(&rest, "&"))) {
		if (starts_with(one, "rank=") && query_number(i, one + 5, &i->rank) < 0)
			return -1;
		if (starts_with(one, "world_size=") && query_number(i, one + 11, &i->size) < 0)
			return -1;
	}
	return 0;
}

static int check_rank(const struct init *i)
{
	if (i->rank < 0 || i->size < 0) {
		err_set(i->e, ERR_USAGE, "--init %.100s needs %s", i->url,
			i->rank < 0 ? "--rank" : "--world-size");
		return err_hint(i->e, "add --rank R --world-size N, R from 0 to N-1");
	}
	if (i->size < 1 || i->size > WORLD_MAX || i->rank >= i->size) {
		err_set(i->e, ERR_USAGE, "rank %d is not in a world of %d", i->rank, i->size);
		return err_hint(i->e, "ranks run from 0 to the world size less one");
	}
	return 0;
}

static int init_tcp(struct init *i, const char *rest)
{
	if (addr_split(rest, i->a, &i->w->master_addr, &i->w->master_port) < 0 ||
	    !*i->w->master_addr)
		return bad_url(i, "that is no host and port");
	if (!i->w->master_port)
		return bad_url(i, "the port is missing");
	return 0;
}

static int init_file(struct init *i, const char *path)
{
	if (*path != '/' || !path[1])
		return bad_url(i, "a file is named with three slashes and a whole path");
	i->w->init_file = path;
	return 0;
}

/* With both numbers given, only the master is asked of the environment, as in PyTorch. */
static int init_env(struct init *i, world_getenv *get, void *arg)
{
	struct world *w = i->w;
	struct env v = {get, arg, i->a, w};

	if (i->rank >= 0 && i->size >= 0) {
		world_clear(w);
		w->launcher = LAUNCHER_ENV;
		env_master(&v, "MASTER_ADDR", "MASTER_PORT");
		if (!w->master_addr)
			env_trouble(&v, "MASTER_ADDR is not set: set it to rank 0's host");
	} else {
		world_from_env(get, arg, i->a, w);
		i->rank = i->rank >= 0 ? i->rank : w->rank;
		i->size = i->size >= 0 ? i->size : w->size;
	}
	if (w->trouble) {
		err_set(i->e, ERR_USAGE, "--init env://: %s", w->trouble);
		return err_hint(i->e, "start it under a launcher that sets RANK and WORLD_SIZE");
	}
	return check_rank(i);
}

static int init_by_scheme(struct init *i, world_getenv *get, void *arg)
{
	char *rest = arena_strdup(i->a, i->url), *query = strchr(rest, '?');
	bool file = starts_with(rest, "file://"), tcp = starts_with(rest, "tcp://");

	if (query) {
		*query++ = 0;
		if (read_query(i, query) < 0)
			return -1;
	}
	if (streq(rest, "env://"))
		return init_env(i, get, arg);
	if (!file && !tcp)
		return bad_url(i, "an unknown kind of URL");
	world_clear(i->w);
	i->w->launcher = LAUNCHER_INIT;
	i->w->from = "--init";
	if ((file ? init_file(i, rest + 7) : init_tcp(i, rest + 6)) < 0)
		return -1;
	return check_rank(i);
}

int world_from_init(const struct world_init *said, world_getenv *get, void *arg, struct arena *a,
		    struct world *ret, struct err *e)
{
	struct world w;
	struct init i = {said->url, said->rank, said->size, a, &w, e};

	if (init_by_scheme(&i, get, arg) < 0)
		return -1;
	w.rank = i.rank;
	w.size = i.size;
	*ret = w;
	return 0;
}
