/* Can a job save here and go on from it: one folder for all hosts, whole files, the same bits. */
#include "bench/train/say_checkpoint.h"

#include "bench/train/ask.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"

#include <errno.h>

static bool is_host_of(const struct run *x, int a, int b)
{
	return streq(x->w->peers[a].at, x->w->peers[b].at);
}

/* "nfs4 of nas:/export, mounted at /mnt" */
static const char *place(const struct run *x, const struct checkpoint_place *p)
{
	if (!*p->kind)
		return "an unknown file system";
	return arena_printf(report_arena(x->r), "%s of %s, mounted at %s", p->kind, p->source,
			    p->point);
}

static struct finding *find(const struct run *x, const char *check, int rank)
{
	return rank < 0 ? report_find(x->r, check, x->res->saved.folder) : say_find(x, check, rank);
}

/* --- writing -------------------------------------------------------------------------------- */

/* To whom root means nobody is told so; else what the system's reason asks for. */
static void fix_write(const struct run *x, struct finding *f, int rank,
		      const struct checkpoint_deed *deed)
{
	const struct saved_word *w = &x->res->saved.words[rank];
	bool is_refused = deed->why == EACCES || deed->why == EPERM;
	const char *dir = shell_quote(f->a, x->res->saved.folder);

	if (is_refused && !w->uid && *w->place.kind && !mount_is_local(w->place.kind))
		finding_fix(f, "- its server makes nobody of root (root_squash): run as the user "
			       "who owns the folder, or export it with no_root_squash");
	else if (is_refused)
		say_fix_at(x, f, rank, "ls -ld %s; id   # who may write there, and who you are",
			   dir);
	if (*deed->hint && !is_refused && fix_is_typed(deed->hint))
		say_fix_at(x, f, rank, "%s", deed->hint);
	else if (*deed->hint && !is_refused)
		finding_fix(f, "%s", deed->hint);
}

static void say_unwritten(const struct run *x, int rank, const struct checkpoint_deed *deed,
			  enum status st)
{
	struct finding *f = find(x, "checkpoint.write", rank);
	const struct checkpoint_place *p = &x->res->saved.words[rank].place;

	finding_set(f, st, "%s cannot save in %s%s: %s%s", say_who(x, rank), x->res->saved.folder,
		    *p->kind ? arena_printf(f->a, " (%s)", place(x, p)) : "", deed->said,
		    st == ST_WARN ? "; with ddp rank 0 saves alone, what saves on each rank fails"
				  : "");
	finding_expect(f, "every rank can write there");
	fix_write(x, f, rank, deed);
	report_add(x->r, f);
}

/* The first of each host, and not those to whom the folder is another one. */
static bool is_first_unwritten(const struct run *x, int rank)
{
	const struct saved_word *w = x->res->saved.words;

	if (w[rank].put.state != CHECKPOINT_FAILED || w[rank].put.is_unseen)
		return false;
	for (int i = 0; i < rank; i++)
		if (is_host_of(x, i, rank) && w[i].put.state == CHECKPOINT_FAILED &&
		    !w[i].put.is_unseen)
			return false;
	return true;
}

static void say_write(const struct run *x)
{
	const struct saved_result *s = &x->res->saved;
	bool is_sharded = x->o->is_sharded;
	uint64_t bytes = say_checkpoint_sum(x, false, NULL);
	int failed = 0, unseen = 0;
	struct unit_buf size, asked;
	struct finding *f;

	if (s->words[0].made.state != CHECKPOINT_DONE) {
		say_unwritten(x, 0, &s->words[0].made, ST_FAIL);
		return;
	}
	for (int i = 0; i < x->w->size; i++) {
		unseen += s->words[i].put.is_unseen;
		if (!is_first_unwritten(x, i))
			continue;
		failed++;
		say_unwritten(x, i, &s->words[i].put, i && !is_sharded ? ST_WARN : ST_FAIL);
	}
	if (failed || unseen)
		return;
	f = find(x, "checkpoint.write", -1);
	finding_set(f, ST_PASS, "%s saved %s after epoch %zu (%s)%s",
		    is_sharded ? arena_printf(f->a, "%d ranks", x->w->size) : "rank 0",
		    format_size(&size, bytes), (size_t)s->epochs, place(x, &s->words[0].place),
		    bytes < s->bytes ? arena_printf(f->a, " (not %s: there is no room for it)",
						    format_size(&asked, s->bytes))
				     : "");
	report_add(x->r, f);
}

/* --- seeing --------------------------------------------------------------------------------- */

static void fix_unshared(const struct run *x, struct finding *f, int rank, bool is_late)
{
	const char *dir = shell_quote(f->a, x->res->saved.folder);

	if (is_late) {
		finding_fix(f,
			    "- its cache of names is old: mount it with lookupcache=positive "
			    "and a small acdirmax there, or wait for the file before it is read");
		return;
	}
	say_fix_at(x, f, rank, "df -hT %s   # the same file system as on rank 0's host?", dir);
	finding_fix(f, "- mount one file system there on every host, or name a folder that is on "
		       "one");
}

static bool is_one_mount(const struct checkpoint_place *a, const struct checkpoint_place *b)
{
	return *a->kind && streq(a->kind, b->kind) && streq(a->source, b->source) &&
	       streq(a->point, b->point);
}

static void say_unseen(const struct run *x, int rank, int of)
{
	const struct saved_word *w = x->res->saved.words;
	const struct checkpoint_place *p = &w[rank].place;
	struct finding *f = find(x, "checkpoint.shared", rank);
	bool is_late = *p->kind && !mount_is_local(p->kind) && streq(p->kind, w[of].place.kind) &&
		       streq(p->source, w[of].place.source);

	if (is_host_of(x, rank, of) && is_one_mount(p, &w[of].place))
		finding_set(f, ST_FAIL, "what %s wrote in %s is not there any more, for %s (%s)",
			    say_who(x, of), x->res->saved.folder, say_who(x, rank), place(x, p));
	else if (!*p->kind)
		finding_set(f, ST_FAIL, "%s has no folder %s, where %s has %s", say_who(x, rank),
			    x->res->saved.folder, say_who(x, of), place(x, &w[of].place));
	else if (is_late)
		finding_set(f, ST_FAIL,
			    "%s does not see what %s wrote in %s, although both have %s",
			    say_who(x, rank), say_who(x, of), x->res->saved.folder, place(x, p));
	else
		finding_set(f, ST_FAIL,
			    "%s does not see what %s wrote in %s: that is a folder of its own "
			    "there (%s; %s has %s)",
			    say_who(x, rank), say_who(x, of), x->res->saved.folder, place(x, p),
			    say_who(x, of), place(x, &w[of].place));
	finding_expect(f, "one folder for the ranks of all hosts");
	fix_unshared(x, f, rank, is_late);
	report_add(x->r, f);
}

/* Whose file rank @rank did not see, or the folder that rank 0 made; -1: it saw all. */
static int unseen(const struct run *x, int rank)
{
	const struct saved_word *w = &x->res->saved.words[rank];

	if (w->put.is_unseen)
		return 0;
	if (w->look.is_unseen || w->peer.is_unseen)
		return w->of;
	return w->load.is_unseen ? (x->o->is_sharded ? rank : 0) : -1;
}

static bool is_first_unseen(const struct run *x, int rank)
{
	for (int i = 0; i < rank; i++)
		if (is_host_of(x, i, rank) && unseen(x, i) >= 0)
			return false;
	return unseen(x, rank) >= 0;
}

/* Who saw another host's file last, and how late. */
static int latest(const struct run *x)
{
	const struct saved_word *w = x->res->saved.words;
	int last = 0;

	for (int i = 1; i < x->w->size; i++)
		if (w[i].look.seen_s + w[i].put.seen_s > w[last].look.seen_s + w[last].put.seen_s)
			last = i;
	return last;
}

static void say_shared(const struct run *x)
{
	static const double LATE_S = 1;
	const struct saved_word *w = x->res->saved.words;
	int failed = 0, last = latest(x);
	double late = w[last].look.seen_s + w[last].put.seen_s;
	struct finding *f;

	for (int i = 0; i < x->w->size; i++) {
		if (!is_first_unseen(x, i))
			continue;
		failed++;
		say_unseen(x, i, unseen(x, i));
	}
	if (failed || w[0].put.state != CHECKPOINT_DONE)
		return;
	f = find(x, "checkpoint.shared", -1);
	if (x->w->hosts < 2)
		finding_set(f, ST_INFO,
			    "all ranks are on this host: whether others see the folder "
			    "was not tested");
	else
		finding_set(f, ST_PASS, "all %d hosts see what the others wrote", x->w->hosts);
	if (late > LATE_S) {
		finding_set(f, ST_WARN,
			    "%s saw what another host had written only after %.1f s: its cache of "
			    "names is old",
			    say_who(x, last), late);
		fix_unshared(x, f, last, true);
	}
	finding_expect(f, "at once");
	report_add(x->r, f);
}

/* --- reading -------------------------------------------------------------------------------- */

static const struct checkpoint_deed *unread(const struct saved_word *w)
{
	return w->load.state == CHECKPOINT_FAILED && !w->load.is_unseen	  ? &w->load
	       : w->peer.state == CHECKPOINT_FAILED && !w->peer.is_unseen ? &w->peer
									  : NULL;
}

/* Was every file that somebody read the same wrong one? Then it is its writer's disk. */
static void say_content(const struct run *x)
{
	const struct saved_word *w = x->res->saved.words;
	const struct checkpoint_deed *bad = NULL;
	struct finding *f;
	int rank = 0, of;

	while (rank < x->w->size && !(bad = unread(&w[rank])))
		rank++;
	if (!bad && w[0].load.state != CHECKPOINT_DONE)
		return;
	f = find(x, CHECK_CONTENT, bad ? rank : -1);
	finding_expect(f, "the bytes that were written");
	if (!bad) {
		finding_set(f, ST_PASS, "%s read what was written (by its hash)",
			    say_checkpoint_readers(x) == x->w->size
				    ? "every rank"
				    : arena_printf(f->a, "%d of %d ranks",
						   say_checkpoint_readers(x), x->w->size));
		report_add(x->r, f);
		return;
	}
	of = bad == &w[rank].peer ? w[rank].of : x->o->is_sharded ? rank : 0;
	finding_set(f, ST_FAIL, "what %s reads of the file that %s wrote in %s (%s): %s",
		    say_who(x, rank), of == rank ? "it" : say_who(x, of), x->res->saved.folder,
		    place(x, &w[rank].place), bad->said);
	if (bad->why == EBADMSG)
		say_fix_at(x, f, of,
			   "dmesg -T | grep -iE 'i/o error|checksum|nfs' | tail   # its disk, or "
			   "the server's");
	else if (*bad->hint && fix_is_typed(bad->hint))
		say_fix_at(x, f, rank, "%s", bad->hint);
	report_add(x->r, f);
}

/* --- all of it ------------------------------------------------------------------------------- */

void say_checkpoint(const struct run *x)
{
	if (!x->o->checkpoint || !x->res->saved.words)
		return;
	say_write(x);
	if (x->res->saved.words[0].made.state != CHECKPOINT_DONE)
		return;
	say_shared(x);
	say_content(x);
	say_resume(x);
	say_checkpoint_speed(x);
}
