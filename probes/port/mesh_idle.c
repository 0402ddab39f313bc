/* What the ranks say of silent connections, none of it trusted, and what comes of it for a pair. */
#include "probes/port/mesh_idle.h"

#include "lib/core/units.h"
#include "lib/report/json.h"

/* ---- taken ---- */
static struct mesh_idle *idle_at(const struct mesh *m, size_t from, size_t to)
{
	struct mesh_cell *c = mesh_edit(m, from, to);

	if (!c->idle)
		c->idle = arena_alloc(m->a, sizeof(*c->idle));
	return c->idle;
}

/* Ranks tell more with each line. */
static void take_letters(char to[QUIET_TIMES + 1], const char *letters)
{
	if (strlen(letters) > QUIET_TIMES || strspn(letters, quiet_letters) != strlen(letters))
		return;
	for (size_t i = 0; letters[i]; i++)
		if (!to[i] || letters[i] != quiet_letters[QUIET_UNKNOWN])
			to[i] = letters[i];
}

static void take_peer(struct mesh *m, const cJSON *o, size_t me, size_t peer)
{
	const char *again = json_text(o, "again");

	take_letters(idle_at(m, me, peer)->opener, json_text(o, "opened"));
	take_letters(idle_at(m, peer, me)->called, json_text(o, "called"));
	if (*again && strchr(quiet_letters + QUIET_ALIVE, *again))
		idle_at(m, me, peer)->again = *again;
}

void mesh_take_idle(struct mesh *m, const cJSON *line, size_t me)
{
	const cJSON *idle = json_get(line, "idle"), *peers = json_get(idle, "peers");
	double forgets_s = json_get_num(idle, "forgets_s", 0);

	if (forgets_s > 0 && forgets_s < 1e9)
		m->nodes[me].forgets_s = (unsigned)forgets_s;
	m->nodes[me].ec2 |= cJSON_IsTrue(json_get(idle, "ec2"));
	for (const cJSON *i = peers ? peers->child : NULL; i; i = i->next) {
		size_t peer = mesh_node_of(m, json_get(i, "rank"));

		if (peer != MESH_NO_NODE && peer != me)
			take_peer(m, i, me, peer);
	}
}

/* ---- what comes of it ---- */
static size_t first_dead(const char *letters)
{
	for (size_t i = 0; letters[i]; i++)
		if (quiet_is_dead(letters[i]))
			return i + 1;
	return 0;
}

/* The longest below @limit. */
static size_t last_alive(const char *letters, size_t limit)
{
	size_t last = 0;

	for (size_t i = 0; i < limit && letters[i]; i++)
		if (letters[i] == quiet_letters[QUIET_ALIVE])
			last = i + 1;
	return last;
}

static size_t later(size_t x, size_t y) { return x > y ? x : y; }

/* Of the two that died after one time: who is reset, or told of an end, knows more. */
static char how(const char *letters, size_t dead, char other)
{
	return letters[dead - 1] != quiet_letters[QUIET_SILENT] ? letters[dead - 1] : other;
}

static void judge_dead(const struct mesh_idle *x, size_t mine, size_t theirs,
		       struct idle_verdict *ret)
{
	ret->dead = mine && (!theirs || mine < theirs) ? mine : theirs;
	ret->how = quiet_letters[QUIET_SILENT];
	if (mine == ret->dead)
		ret->how = how(x->opener, mine, ret->how);
	if (theirs == ret->dead)
		ret->how = how(x->called, theirs, ret->how);
	ret->first = mine && theirs ? IDLE_EITHER : mine ? IDLE_OPENER : IDLE_CALLED;
	ret->cut = quiet_is_dead(x->again);
	ret->odd = (mine && last_alive(x->opener, QUIET_TIMES) > mine) ||
		   (theirs && last_alive(x->called, QUIET_TIMES) > theirs);
}

bool mesh_idle_of(const struct mesh *m, size_t from, size_t to, struct idle_verdict *ret)
{
	const struct mesh_idle *x = mesh_at(m, from, to)->idle;
	size_t mine, theirs, limit;

	*ret = (struct idle_verdict){0};
	if (!x)
		return false;
	mine = first_dead(x->opener);
	theirs = first_dead(x->called);
	if (mine || theirs)
		judge_dead(x, mine, theirs, ret);
	limit = ret->dead ? ret->dead - 1 : QUIET_TIMES;
	ret->alive = later(last_alive(x->opener, limit), last_alive(x->called, limit));
	return ret->dead || ret->alive;
}

uint64_t mesh_idle_ns(const struct mesh *m, size_t time)
{
	uint64_t times[QUIET_TIMES];
	size_t n = quiet_times(m->o->idle_ns, times);

	return time && time <= n ? times[time - 1] : 0;
}

bool mesh_idle_is_own(const struct mesh *m, size_t at, const struct idle_verdict *v)
{
	const uint64_t forgets_ns = m->nodes[at].forgets_s * NS_PER_S;

	return forgets_ns && forgets_ns >= mesh_idle_ns(m, v->alive) &&
	       forgets_ns <= mesh_idle_ns(m, v->dead);
}

const char *mesh_idle_text(const struct mesh *m, size_t time)
{
	struct unit_buf b;

	return arena_strdup(m->a, format_duration(&b, mesh_idle_ns(m, time)));
}
