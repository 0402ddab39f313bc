#include "bench/inspector/book.h"

#include "bench/inspector/map.h"

#include <math.h>

const char *const insp_func_names[INSP_FUNCS] = {
	"all_reduce", "all_gather", "reduce_scatter", "alltoall", "all_gather_v", "broadcast",
	"reduce",     "other",	    "sendrecv",	      "send",	  "recv",
};
static const char *const nccl_names[INSP_FUNCS] = {
	"AllReduce", "AllGather", "ReduceScatter", "All2All", "AllGatherV", "Broadcast",
	"Reduce",    NULL,	  "SendRecv",	   "Send",    "Recv",
};

enum {
	COMMS_MAX = 1 << 16,
	MEMBERS_MAX = 1 << 20,
	GROUPS_MAX = 1 << 18,
	CLASSES = 4 /* of sizes, from one to its double */,
	OUTLIERS_MAX = 1024, /* of a group; of all a quarter of the entries: */
	OUTLIERS_PART = 4    /* of what then remains the fullest group has some to choose from */
};
static const float OUTLIER = 20; /* times the usual */

/* --- who and what a line is of ------------------------------------------------------------- */

static uint64_t hash_text(struct insp_text t) { return insp_hash(t.s, t.n); }

static bool is_text(const char *s, struct insp_text t)
{
	return strlen(s) == t.n && !memcmp(s, t.s, t.n);
}

static bool same_host(const struct insp_book *b, uint32_t i, const void *key)
{
	return is_text(b->hosts.v[i], *(const struct insp_text *)key);
}

static uint32_t find_host(struct insp_book *b, struct insp_text name)
{
	uint32_t next = (uint32_t)b->hosts.n;
	uint32_t i = insp_map_find(&b->host_map, b, hash_text(name), same_host, &name, next);

	if (i == next)
		*LIST_ADD(b->a, &b->hosts) = arena_strndup(b->a, name.s, name.n);
	return i;
}

static bool same_process(const struct insp_book *b, uint32_t i, const void *key)
{
	const struct insp_process *p = key;

	return b->processes.v[i].host == p->host && b->processes.v[i].pid == p->pid;
}

static uint32_t find_process(struct insp_book *b, uint32_t host, double pid)
{
	struct insp_process key = {.host = host, .pid = pid >= 0 ? (uint64_t)pid : 0};
	uint32_t next = (uint32_t)b->processes.n;
	uint32_t i = insp_map_find(&b->process_map, b, insp_mix(key.pid << 20 ^ host), same_process,
				   &key, next);

	if (i == next)
		*LIST_ADD(b->a, &b->processes) = key;
	return i;
}

/* A name may have quotation marks. */
static char *plain(struct insp_book *b, struct insp_text t)
{
	char *s = arena_strndup(b->a, t.s, t.n), *to = s;

	for (const char *at = s; *at; at++)
		if (*at != '\\' || !at[1] || !strchr("\"\\/", at[1]))
			*to++ = *at;
		else
			*to++ = *++at;
	*to = '\0';
	return s;
}

static bool same_comm(const struct insp_book *b, uint32_t i, const void *key)
{
	const struct insp_record *r = key;

	return b->comms.v[i].ranks == (uint32_t)r->ranks && is_text(b->comms.v[i].id, r->comm);
}

static uint32_t find_comm(struct insp_book *b, const struct insp_record *r)
{
	uint32_t next = (uint32_t)b->comms.n, i;
	bool named =
		r->name.s && r->name.n && !(r->name.n == 7 && !memcmp(r->name.s, "unknown", 7));

	i = insp_map_find(&b->comm_map, b, hash_text(r->comm), same_comm, r, next);
	if (i == next)
		*LIST_ADD(b->a, &b->comms) =
			(struct insp_comm){.id = arena_strndup(b->a, r->comm.s, r->comm.n),
					   .name = named ? plain(b, r->name) : NULL,
					   .ranks = (uint32_t)r->ranks,
					   .hosts = (uint32_t)r->hosts};
	return i;
}

static bool same_member(const struct insp_book *b, uint32_t i, const void *key)
{
	const struct insp_member *m = key;

	return b->members.v[i].comm == m->comm && b->members.v[i].rank == m->rank;
}

static uint32_t find_member(struct insp_book *b, uint32_t comm, const struct insp_record *r)
{
	struct insp_member key = {.comm = comm, .rank = (uint32_t)r->rank};
	uint64_t hash = insp_mix((uint64_t)comm << 32 | key.rank);
	uint32_t next = (uint32_t)b->members.n;
	uint32_t i = insp_map_find(&b->member_map, b, hash, same_member, &key, next);

	if (i < next)
		return i;
	key.host = find_host(b, r->host);
	key.process = find_process(b, key.host, r->pid);
	*LIST_ADD(b->a, &b->members) = key;
	b->comms.v[comm].members++;
	return i;
}

static bool same_group(const struct insp_book *b, uint32_t i, const void *key)
{
	const struct insp_group *g = &b->groups.v[i], *k = key;

	return g->comm == k->comm && g->func == k->func && g->size_class == k->size_class;
}

static uint32_t find_group(struct insp_book *b, uint32_t comm, uint32_t func, double bytes)
{
	struct insp_group key = {.comm = comm, .func = func, .every = 1};
	uint32_t next = (uint32_t)b->groups.n, i;

	key.size_class = bytes >= 1 ? (uint32_t)(log2(bytes) * CLASSES) + 1 : 0;
	i = insp_map_find(&b->group_map, b,
			  insp_mix((uint64_t)comm << 32 | func << 8 | key.size_class), same_group,
			  &key, next);
	if (i == next)
		*LIST_ADD(b->a, &b->groups) = key;
	return i;
}

static enum insp_func find_func(struct insp_text name)
{
	for (size_t i = 0; i < INSP_FUNCS; i++)
		if (nccl_names[i] && is_text(nccl_names[i], name))
			return (enum insp_func)i;
	return INSP_OTHER;
}

/* --- the collectives themselves ------------------------------------------------------------ */

static bool same_op(const struct insp_book *b, uint32_t i, const void *key)
{
	const struct insp_op *o = key;

	return b->ops.v[i].sn == o->sn && b->ops.v[i].group == o->group;
}

static uint64_t hash_op(const struct insp_op *o)
{
	return insp_mix(o->sn ^ (uint64_t)o->group << 40);
}

static bool is_chosen(const struct insp_group *g, uint64_t sn)
{
	return g->every == 1 || !(insp_mix(sn) & (g->every - 1));
}

static int by_length(const void *a, const void *b)
{
	const struct insp_op *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->least_us > y->least_us) - (x->least_us < y->least_us);
}

static int by_number(const void *a, const void *b)
{
	const struct insp_op *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->sn > y->sn) - (x->sn < y->sn);
}

static void cut_groups(struct insp_book *b)
{
	for (size_t i = 0; i < b->groups.n; i++)
		b->groups.v[i].from = b->groups.v[i].to = 0;
	for (size_t i = 0; i < b->ops.n; i++) {
		struct insp_group *g = &b->groups.v[b->ops.v[i].group];

		g->from = g->to ? g->from : i;
		g->to = i + 1;
	}
}

/* Of the groups that have most, every second entry goes. */
static void choose_fewer(struct insp_book *b)
{
	size_t most = 0;

	for (size_t i = 0; i < b->groups.n; i++)
		most = b->groups.v[i].entries > most ? b->groups.v[i].entries : most;
	for (size_t i = 0; i < b->groups.n; i++) {
		struct insp_group *g = &b->groups.v[i];

		if (g->entries * 2 < most || g->entries < 2)
			continue;
		g->every *= 2;
		g->typical_us = b->ops.v[g->from + (g->to - g->from) / 2].least_us;
	}
}

static size_t max_of(const struct insp_book *b) { return b->max ? b->max : INSP_MAX; }

static bool is_outlier(const struct insp_book *b, const struct insp_group *g, float us)
{
	return g->typical_us > 0 && us >= OUTLIER * g->typical_us && g->outliers < OUTLIERS_MAX &&
	       b->outliers < max_of(b) / OUTLIERS_PART;
}

static void count_in(struct insp_book *b, struct insp_group *g, const struct insp_op *o)
{
	g->entries += !o->outlier;
	g->outliers += o->outlier;
	b->outliers += o->outlier;
}

static void thin(struct insp_book *b)
{
	size_t kept = 0;

	qsort(b->ops.v, b->ops.n, sizeof(*b->ops.v), by_length);
	cut_groups(b);
	choose_fewer(b);
	insp_map_clear(&b->op_map);
	for (size_t i = 0; i < b->groups.n; i++)
		b->groups.v[i].entries = b->groups.v[i].outliers = 0;
	b->outliers = 0;
	for (size_t i = 0; i < b->ops.n; i++) {
		struct insp_op *o = &b->ops.v[i];
		struct insp_group *g = &b->groups.v[o->group];

		o->outlier = !is_chosen(g, o->sn);
		if (o->outlier && !is_outlier(b, g, o->most_us))
			continue;
		count_in(b, g, o);
		b->ops.v[kept] = *o;
		(void)insp_map_find(&b->op_map, b, hash_op(o), same_op, o, (uint32_t)kept++);
	}
	b->ops.n = kept;
}

/* NULL: it is none of those that are kept. */
static struct insp_op *find_op(struct insp_book *b, uint32_t group, uint64_t sn, float us)
{
	struct insp_op key = {.sn = sn, .group = group};
	struct insp_group *g = &b->groups.v[group];
	uint32_t next, i;

	if (b->ops.n >= max_of(b) && (is_chosen(g, sn) || is_outlier(b, g, us)))
		thin(b);
	key.outlier = !is_chosen(g, sn);
	if (b->ops.n >= max_of(b) || (key.outlier && !is_outlier(b, g, us)))
		return NULL;
	next = (uint32_t)b->ops.n;
	i = insp_map_find(&b->op_map, b, hash_op(&key), same_op, &key, next);
	if (i < next)
		return &b->ops.v[i];
	*LIST_ADD(b->a, &b->ops) = key;
	count_in(b, g, &key);
	return &b->ops.v[i];
}

static void see(const struct insp_book *b, struct insp_op *o, uint32_t member,
		const struct insp_record *r)
{
	float us = (float)r->us;
	bool is_first = !o->seen++, elsewhere;

	elsewhere = !is_first && b->members.v[member].host != b->members.v[o->last].host;
	o->sum_us += us;
	o->most_us = is_first || us > o->most_us ? us : o->most_us;
	o->at_us = is_first || r->at_us < o->at_us ? r->at_us : o->at_us;
	if (is_first || us < o->least_us) {
		o->elsewhere_us = is_first ? INFINITY : elsewhere ? o->least_us : o->elsewhere_us;
		o->second_us = is_first ? INFINITY : o->least_us;
		o->least_us = us;
		o->last = member;
		o->busbw = r->busbw >= 0 ? (float)r->busbw : 0;
		return;
	}
	o->second_us = us < o->second_us ? us : o->second_us;
	if (elsewhere && us < o->elsewhere_us)
		o->elsewhere_us = us;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void note_time(struct insp_book *b, struct insp_member *m, const struct insp_record *r,
		      enum insp_func func)
{
	struct insp_process *p = &b->processes.v[m->process];
	uint64_t number = (uint64_t)r->sn + 1;

	m->lines++;
	if (func < INSP_COLLS && number > m->last[func])
		m->last[func] = number;
	if (!(r->at_us > 0))
		return;
	p->first_us = !(p->first_us > 0) || r->at_us < p->first_us ? r->at_us : p->first_us;
	p->last_us = r->at_us > p->last_us ? r->at_us : p->last_us;
	if (m->last_us > 0 && r->at_us - m->last_us > m->gap_us)
		m->gap_us = r->at_us - m->last_us;
	m->last_us = r->at_us > m->last_us ? r->at_us : m->last_us;
	m->first_us = !(m->first_us > 0) || r->at_us < m->first_us ? r->at_us : m->first_us;
	b->first_us = !(b->first_us > 0) || r->at_us < b->first_us ? r->at_us : b->first_us;
	b->last_us = r->at_us > b->last_us ? r->at_us : b->last_us;
}

/* As nccl-tests counts it: of all ranks' parts together. */
static double size_of(const struct insp_record *r, enum insp_func func)
{
	bool is_part = func == INSP_ALL_GATHER || func == INSP_REDUCE_SCATTER;

	return isnan(r->bytes) ? 0 : r->bytes * (is_part ? r->ranks : 1);
}

static bool is_by_cpu(const struct insp_record *r)
{
	return r->timing.s && is_text("collective_cpu", r->timing);
}

bool insp_book_add(struct insp_book *b, const struct insp_record *r)
{
	enum insp_func func = find_func(r->coll);
	double bytes = size_of(r, func);
	uint32_t member, group;
	struct insp_op *o;

	if (b->comms.n >= COMMS_MAX || b->members.n >= MEMBERS_MAX || b->groups.n >= GROUPS_MAX) {
		b->left_out++;
		return false;
	}
	b->lines++;
	member = find_member(b, find_comm(b, r), r);
	note_time(b, &b->members.v[member], r, func);
	group = find_group(b, b->members.v[member].comm, func, bytes);
	b->groups.v[group].n++;
	b->groups.v[group].sum_us += r->us > 0 ? r->us : 0;
	b->groups.v[group].sum_bytes += bytes;
	b->by_cpu += is_by_cpu(r);
	if (is_by_cpu(r) || !(r->us > 0))
		return true;
	/* sends and receives are numbered by each rank for itself */
	o = find_op(b, group, (uint64_t)r->sn ^ (func >= INSP_COLLS ? (uint64_t)member << 43 : 0),
		    (float)r->us);
	if (o)
		see(b, o, member, r);
	return true;
}

void insp_book_close(struct insp_book *b)
{
	if (b->ops.n)
		qsort(b->ops.v, b->ops.n, sizeof(*b->ops.v), by_number);
	insp_map_clear(&b->op_map);
	cut_groups(b);
}

bool insp_is_whole(const struct insp_book *b, const struct insp_op *o)
{
	return o->seen >= b->comms.v[b->groups.v[o->group].comm].members;
}
