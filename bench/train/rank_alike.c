/* Whether all ranks are started alike, before the first step. */
#include "bench/ranks/hosts.h"
#include "bench/train/options.h"
#include "bench/train/random.h"
#include "bench/train/rank.h"
#include "lib/core/self.h"
#include "lib/core/version.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

/* The file itself: two builds of one version differ in the last bits of their results. */
static uint64_t own_program(void)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t hash = 1, words[1024];
	ssize_t n;

	if (fd < 0)
		fd = open(self_path(&a) ?: "", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, words, sizeof(words))) > 0)
		for (ssize_t i = 0; i < n / (ssize_t)sizeof(*words); i++)
			hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
	for (const char *s = WINDSOCK_VERSION; *s; s++)
		hash = random_mix(hash ^ (unsigned char)*s);
	return hash;
}

static struct train_pass own_pass(const struct rank *r)
{
	const struct train_opts *o = r->o;
	AUTO(arena_done) struct arena a = {0};
	struct train_pass p = {.program = own_program(), .data = {1}};
	float pixels[NET_INPUTS];

	p.program += fault_is(&o->fault, FAULT_BUILD, r->comm->rank);
	p.seed = o->seed + fault_is(&o->fault, FAULT_SEED, r->comm->rank);
	options_take(o, p.options);
	if (o->trouble) {
		const char *remedy = err_fix(&o->trouble->why, &a) ?: "";

		(void)snprintf(p.trouble, sizeof(p.trouble), "%.255s", o->trouble->why.msg);
		if (strlen(remedy) < sizeof(p.remedy)) /* half of a line does something else */
			(void)snprintf(p.remedy, sizeof(p.remedy), "%s", remedy);
		return p;
	}
	for (uint64_t i = 0; i < 16 && o->data->is_made; i++) {
		p.data[0] ^= (uint64_t)data_get(o->data, DATA_TRAIN, i, 1, 28, pixels);
		p.data[0] = random_mix(p.data[0] ^ hash_words(pixels, NET_INPUTS));
	}
	for (int i = 0; i < o->data->nfiles; i++)
		p.data[i] = o->data->files[i].hash;
	return p;
}

static const char *odd_data(const struct rank *r, const struct train_pass *a,
			    const struct train_pass *b)
{
	const struct data *d = r->o->data;

	for (int i = 0; i < d->nfiles; i++)
		if (a->data[i] != b->data[i])
			return arena_printf(r->result->a, "data set (%s differs)",
					    d->files[i].name);
	return "data set";
}

static void note_trouble(struct rank *r, int rank, const struct train_pass *pass)
{
	struct arena *a = r->result->a;

	r->result->odd = (struct odd){.rank = rank, .is_told = true};
	r->result->odd_what = "data set";
	r->result->odd_how = arena_strndup(a, pass->trouble, sizeof(pass->trouble) - 1);
	if (*pass->remedy)
		r->result->odd_remedy = arena_strndup(a, pass->remedy, sizeof(pass->remedy) - 1);
}

static void note_odd(struct rank *r, const struct odd *odd, const struct train_pass *all)
{
	const struct train_pass *a = &all[odd->rank], *b = &all[odd->like];
	struct arena *arena = r->result->a;
	int option = options_odd(a->options, b->options);

	r->result->odd = *odd;
	if (option >= 0)
		r->result->odd_option =
			arena_printf(arena, "%s, rank %d has %s",
				     options_text(option, a->options[option], arena), odd->like,
				     options_text(option, b->options[option], arena));
	r->result->odd_what = a->program != b->program ? TRAIN_PROGRAM
			      : option >= 0	       ? "options"
			      : a->seed != b->seed     ? "seed"
						       : odd_data(r, a, b);
}

static void note(struct rank *r, const struct odd *odd, const struct train_pass *all)
{
	if (*all[odd->rank].trouble)
		note_trouble(r, odd->rank, &all[odd->rank]);
	else
		note_odd(r, odd, all);
}

/* What is to be replaced, or to be put there: the program, or the folder of the data; "" where it
 * cannot be told, or is made. */
static void find_path(const struct rank *r, bool is_program, char ret[PATH_MAX])
{
	AUTO(arena_done) struct arena a = {0};
	const char *own = is_program ? self_path(&a) : strchr(r->o->data_spec, ':');

	if (!is_program && (!own || !realpath(own + 1, ret)))
		*ret = '\0';
	if (is_program && own && strlen(own) < PATH_MAX)
		(void)snprintf(ret, PATH_MAX, "%s", own);
}

/* One rank's, to all others. */
static int tell_path(struct rank *r, int rank, bool is_program, const char **ret)
{
	char path[PATH_MAX] = "";
	const struct comm_request q = {.kind = COLL_BROADCAST,
				       .send = path,
				       .recv = path,
				       .count = sizeof(path),
				       .type = DT_UINT8,
				       .root = rank};

	if (r->comm->rank == rank)
		find_path(r, is_program, path);
	if (comm_run(r->comm, &q, r->e))
		return -1;
	if (r->result && *path == '/')
		*ret = arena_printf(r->result->a, "%.*s", PATH_MAX - 1, path);
	return 0;
}

static int tell_paths(struct rank *r, const struct odd *odd, const struct train_pass *all)
{
	bool is_program = all[odd->rank].program != all[odd->like].program;
	const char *there = NULL, *good = NULL;

	if (tell_path(r, odd->rank, is_program, &there) ||
	    tell_path(r, odd->like, is_program, &good))
		return -1;
	if (r->result) {
		r->result->odd_path = there;
		r->result->like_path = good;
	}
	return 0;
}

/* Everybody comes to the same. */
static struct odd find_odd(const struct rank *r, const void *all, size_t each)
{
	size_t n = (size_t)r->comm->size;
	AUTO(arena_done) struct arena a = {0};
	const char **names = arena_alloc(&a, n * sizeof(*names)),
		   **addresses = arena_alloc(&a, n * sizeof(*addresses)),
		   **at = arena_alloc(&a, n * sizeof(*at));
	struct hosts h;

	for (size_t i = 0; i < n; i++) {
		names[i] = comm_peer(r->comm, (int)i)->host;
		addresses[i] = comm_peer(r->comm, (int)i)->address;
	}
	hosts_at(names, addresses, n, &a, &h, at);
	return odd_find(all, each, (int)n, h.of);
}

/* None can read its data, which is no rank's fault: nothing is noted then. */
static bool are_all_troubled(const struct train_pass *all, int n)
{
	int i = 0;

	while (i < n && *all[i].trouble)
		i++;
	return i == n;
}

static struct odd first_troubled(const struct train_pass *all, int n)
{
	int i = 0;

	while (i < n && !*all[i].trouble)
		i++;
	return (struct odd){.rank = i < n ? i : -1, .is_told = true};
}

int rank_compare(struct rank *r, int *ret_odd)
{
	struct train_pass mine = own_pass(r);
	AUTO_FREE struct train_pass *all = calloc((size_t)r->comm->size, sizeof(*all));
	struct odd odd;

	if (!all)
		return err_sys(r->e, "no memory");
	if (rank_gather(r, &mine, sizeof(mine), all))
		return -1;
	odd = first_troubled(all, r->comm->size);
	if (odd.rank < 0)
		odd = find_odd(r, all, sizeof(*all));
	*ret_odd = odd.rank;
	if (are_all_troubled(all, r->comm->size)) {
		r->o->trouble->is_common = true;
		return 0;
	}
	if (r->result && odd.rank >= 0)
		note(r, &odd, all);
	return odd.rank >= 0 && !*all[odd.rank].trouble ? tell_paths(r, &odd, all) : 0;
}

/* Each parameter tells where the engine keeps it. */
static uint64_t own_layout(const struct rank *r)
{
	struct net *n = r->net;
	uint64_t hash = 0;

	for (size_t i = 0; i < n->nparams; i++)
		n->grads[i] = (float)(i & 0xffffff);
	n->grads[0] += fault_is(&r->o->fault, FAULT_LAYOUT, r->comm->rank);
	if (!n->engine->convert(n->whole, n->grads, n->params, false))
		hash = hash_words(n->params, n->nparams);
	memset(n->grads, 0, n->nparams * sizeof(*n->grads));
	memset(n->params, 0, n->nparams * sizeof(*n->params));
	return hash;
}

int rank_compare_layouts(struct rank *r, int *ret_odd)
{
	uint64_t mine = r->net->graph ? own_layout(r) : 0;
	AUTO_FREE uint64_t *all = calloc((size_t)r->comm->size, sizeof(*all));
	struct odd odd;

	if (!all)
		return err_sys(r->e, "no memory");
	if (rank_gather(r, &mine, sizeof(mine), all))
		return -1;
	odd = find_odd(r, all, sizeof(*all));
	*ret_odd = odd.rank;
	if (r->result && odd.rank >= 0) {
		r->result->odd = odd;
		r->result->odd_what = TRAIN_LAYOUT;
	}
	return 0;
}
