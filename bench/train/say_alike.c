/* Did all ranks come, and were they started alike? */
#include "bench/train/say_run.h"

#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/fix.h"
#include "lib/core/quote.h"

static bool is_by_files(const struct run *x)
{
	return strchr(x->o->data_spec, ':') && starts_with(x->res->odd_what, "data set");
}

/* Is the rank that is unlike on another host than the one that it should be like? */
static bool is_elsewhere(const struct run *x)
{
	const struct odd *odd = &x->res->odd;

	return !streq(x->w->peers[odd->rank].at, x->w->peers[odd->like].at);
}

/* A folder of files that it cannot read. */
static void fix_unread(const struct run *x, struct finding *f)
{
	struct arena *a = report_arena(x->r);
	const char *remedy = x->res->odd_remedy, *folder = strchr(x->o->data_spec, ':') + 1;
	int rank = x->res->odd.rank;

	if (!remedy)
		say_fix_at(x, f, rank, "ls -lL %s", shell_quote_path(a, folder));
	else if (!fix_is_typed(remedy))
		finding_fix(f, "%s", remedy);
	else
		say_fix_at(x, f, rank, "%s", remedy);
}

/* Both may have to be one: of two nobody can tell. */
static void fix_look(const struct run *x, struct finding *f, const char *command)
{
	const struct train_result *res = x->res;
	struct arena *a = report_arena(x->r);
	bool are_known = res->like_path && res->odd_path;

	if (are_known) {
		say_fix_at(x, f, res->odd.like, "%s %s", command, shell_quote(a, res->like_path));
		say_fix_at(x, f, res->odd.rank, "%s %s", command, shell_quote(a, res->odd_path));
	}
	finding_fix(f, "- give all ranks one %s",
		    streq(res->odd_what, TRAIN_PROGRAM) ? TRAIN_PROGRAM : "data set");
}

/* Would rsync and two shells take it as it is? */
static bool is_plain(const char *word, struct arena *a)
{
	return word && !strchr(word, ':') && streq(word, shell_quote(a, word));
}

/* From host to host, as the shell that is typed here reaches both; by what is in them, as both may
 * be as long and as old. */
static void fix_folder(const struct run *x, struct finding *f)
{
	struct arena *a = report_arena(x->r);
	const char *good = x->res->like_path, *there = x->res->odd_path,
		   *way = rsh_typed(report_arena(x->r), NULL);
	const char *from = x->w->peers[x->res->odd.like].at;
	const char *to = x->w->peers[x->res->odd.rank].at;
	const char *by = streq(way, "ssh") ? "" : arena_printf(a, " -e %s", shell_quote(a, way));

	if (is_plain(good, a) && is_plain(there, a) && is_plain(to, a))
		finding_fix(
			f, "%s",
			typed_on(a, way, from,
				 arena_printf(a, "rsync -ac%s %s/ %s:%s/", by, good, to, there)));
	else
		finding_fix(f, "- give %s the files that %s has", to, from);
}

/* Where it is another one, is replaced by the one here: that is rank 0's, or the launcher's. */
static void fix_program(const struct run *x, struct finding *f)
{
	const struct odd *odd = &x->res->odd;
	const char *to = x->w->peers[odd->rank].at;

	if (!odd->rank || streq(to, x->w->peers[0].at))
		finding_fix(f, "- give %s the ddpsmoke that %s has", to, x->w->peers[odd->like].at);
	else
		finding_fix(f, "%s",
			    typed_copy(report_arena(x->r), rsh_typed(report_arena(x->r), NULL), to,
				       "\"$(command -v ddpsmoke)\"",
				       x->res->odd_path ?: "/usr/local/bin/ddpsmoke"));
}

static void fix_unlike(const struct run *x, struct finding *f)
{
	const char *what = x->res->odd_what;
	bool is_program = streq(what, TRAIN_PROGRAM), is_told = x->res->odd.is_told;

	if (streq(what, TRAIN_LAYOUT)) { /* the processor, the library, or this */
		finding_fix(f, "lscpu; ldconfig -p | grep dnnl; env | grep DNNL  # on both hosts");
		finding_fix(f, "ddpsmoke --model cnn  # ranks need not have the same processor");
	} else if (is_by_files(x) && (!is_told || !is_elsewhere(x))) {
		fix_look(x, f, "ls -lL");
	} else if (is_by_files(x)) {
		fix_folder(x, f);
	} else if (!is_program) {
		finding_fix(f, "- start every rank with the same command line");
	} else if (!is_told || !is_elsewhere(x)) {
		fix_look(x, f, "sha256sum");
	} else {
		fix_program(x, f);
	}
}

/* "rank 1 (node1, 10.0.0.2) and 2 more", or that nobody can tell. */
static const char *than_whom(const struct run *x)
{
	const struct odd *odd = &x->res->odd;
	const char *who = say_who(x, odd->like);
	struct arena *a = report_arena(x->r);

	if (!odd->is_told)
		return arena_printf(a, "%s; which of them is right cannot be told", who);
	return arena_printf(a, "%s and %d more", who, odd->more);
}

static void say_unlike(const struct run *x)
{
	const struct train_result *res = x->res;
	struct finding *f = say_find(x, "rank.alike", res->odd.is_told ? res->odd.rank : -1);
	const char *who = say_who(x, res->odd.rank);

	if (res->odd_how)
		finding_set(f, ST_FAIL, "%s cannot read its data: %s", who, res->odd_how);
	else if (streq(res->odd_what, "options"))
		finding_set(f, ST_FAIL, "%s has %s", who, res->odd_option);
	else
		finding_set(f, ST_FAIL, "%s has another %s than %s", who, res->odd_what,
			    than_whom(x));
	if (res->odd_how)
		fix_unread(x, f);
	else
		fix_unlike(x, f);
	finding_expect(f, "the same on all ranks");
	report_add(x->r, f);
}

static void say_alike(const struct run *x)
{
	struct finding *f = say_find(x, "rank.alike", -1);

	finding_set(f, ST_PASS, "all ranks have the same program, options and data");
	finding_expect(f, "the same on all ranks");
	report_add(x->r, f);
}

void say_joined(const struct run *x)
{
	struct finding *f = say_find(x, "rank.joined", -1);

	if (x->w->size == 1)
		finding_set(f, ST_PASS, "the one rank joined");
	else
		finding_set(f, ST_PASS, "all %d ranks joined", x->w->size);
	report_add(x->r, f);
	if (x->res->odd.rank >= 0)
		say_unlike(x);
	else if (x->res->noted[0])
		say_alike(x);
}
