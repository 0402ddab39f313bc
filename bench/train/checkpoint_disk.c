#include "bench/train/checkpoint_disk.h"

#include "bench/train/checkpoint_why.h"
#include "lib/core/aside.h"
#include "lib/core/heir.h"
#include "lib/core/units.h"
#include "lib/host/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { LOOK_MS = 20, MB = 1000000 };
static const uint64_t LOCAL_NS = NS_PER_S; /* nothing is late there */

const char *checkpoint_folder(const char *dir, uint64_t run, struct arena *a)
{
	return arena_printf(a, "%s%sddpsmoke-checkpoint-%016" PRIx64, dir,
			    ends_with(dir, "/") ? "" : "/", run);
}

static const char *file_of(const struct checkpoint_disk *d, int rank, bool is_temp, struct arena *a)
{
	return arena_printf(a, "%s/%srank-%05d", d->folder, is_temp ? "." : "", rank);
}

/* --- in the child -------------------------------------------------------------------------- */

struct work { /* what it is told, and what it says */
	const struct checkpoint_disk *d;
	void (*go)(struct work *w, struct arena *a);
	const struct checkpoint_head *head;
	const float *const *numbers;
	float *const *to;
	int rank;
	bool is_torn;
	int out;		 /* where it says it */
	uint64_t moved, to_move; /* here, for the progress */
	const char *doing;
	bool has_said;
	struct said {
		struct checkpoint_deed deed;
		struct checkpoint_place place;
		struct checkpoint_head head;
	} said;
};

static void say_moved(void *arg, uint64_t bytes)
{
	const struct work *w = arg;

	aside_say(w->out, &bytes, sizeof(bytes));
}

static void copy_text(char *to, size_t n, const char *from)
{
	(void)snprintf(to, n, "%.*s", (int)n - 1, from);
}

/* Reads errno: where it is the folder, with what to do. Cut off, a command would be another. */
static void failed(struct work *w, const struct err *e)
{
	struct checkpoint_deed *deed = &w->said.deed;
	AUTO(arena_done) struct arena a = {0};
	bool is_whole = strlen(e->hint) + 1 < sizeof(e->hint);

	deed->state = CHECKPOINT_FAILED;
	deed->why = errno;
	copy_text(deed->said, sizeof(deed->said), e->msg);
	copy_text(deed->hint, sizeof(deed->hint), is_whole ? err_fix(e, &a) ?: "" : "");
}

static void note_place(struct work *w, int fd, struct arena *a)
{
	struct checkpoint_place *p = &w->said.place;
	struct statvfs s;
	struct mount m;

	if (!mount_room(arena_printf(a, "/proc/self/fd/%d", fd), &s))
		p->free = (uint64_t)s.f_bavail * s.f_frsize;
	if (!mount_of(fd, a, &m))
		return;
	copy_text(p->kind, sizeof(p->kind), m.kind);
	copy_text(p->source, sizeof(p->source), m.source);
	copy_text(p->point, sizeof(p->point), m.point);
	aside_say(w->out, p, sizeof(*p)); /* known, should the rest never end */
}

/* DIR itself: 0, or it is said what is wrong with it. */
static int look_at_dir(struct work *w, struct arena *a)
{
	AUTO_CLOSE int fd = open(w->d->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err e = {0};

	w->said.place.free = UINT64_MAX;
	if (fd >= 0) {
		note_place(w, fd, a);
		return 0;
	}
	w->said.deed.is_unseen = errno == ENOENT;
	checkpoint_why_absent(w->d->dir, &e);
	failed(w, &e);
	return -1;
}

/* A network's file system may show late what another host has made. */
static int wait_to_see(struct work *w, const char *path)
{
	bool is_late = *w->said.place.kind && !mount_is_local(w->said.place.kind);
	uint64_t began = now_ns(), until = began + (is_late ? w->d->silence_ns : LOCAL_NS);
	struct stat st;

	while (stat(path, &st)) {
		struct err e = {0};

		if (errno != ENOENT || now_ns() >= until) {
			w->said.deed.is_unseen = errno == ENOENT;
			err_sys(&e, "%.100s is not seen", path);
			failed(w, &e);
			return -1;
		}
		say_moved(w, 0);
		(void)poll(NULL, 0, LOOK_MS);
	}
	w->said.deed.seen_s = (double)(now_ns() - began) / 1e9;
	return 0;
}

static void do_make(struct work *w, struct arena *a)
{
	struct err e = {0};

	if (look_at_dir(w, a))
		return;
	if (!mkdir(w->d->folder, 0700)) {
		w->said.deed.state = CHECKPOINT_DONE;
		return;
	}
	err_sys(&e, "cannot make a folder in it");
	checkpoint_why_unwritten(w->d, 0, w->said.place.free, &e);
	failed(w, &e);
}

/* Filler is no reason to fill a disk, which other ranks may write to as well. */
static void fit(struct checkpoint_head *h, uint64_t free)
{
	uint64_t own = checkpoint_bytes(h) - h->filler;
	uint64_t may = free / 4 * 3 / (h->is_sharded ? h->ranks : 1);

	if (free == UINT64_MAX || own + h->filler <= may)
		return;
	h->filler = may > own ? may - own : 0;
}

static void do_put(struct work *w, struct arena *a)
{
	struct checkpoint_pass p = {.moved = say_moved, .arg = w, .is_torn = w->is_torn};
	struct checkpoint_head h = *w->head;
	struct err e = {0};

	if (look_at_dir(w, a) || wait_to_see(w, w->d->folder))
		return;
	while (w->d->is_stuck)
		(void)poll(NULL, 0, -1);
	fit(&h, w->said.place.free);
	if (!checkpoint_write(file_of(w->d, w->rank, false, a), file_of(w->d, w->rank, true, a), &h,
			      w->numbers, &p, &e)) {
		w->said.deed.state = CHECKPOINT_DONE;
		w->said.deed.bytes = checkpoint_bytes(&h);
		w->said.deed.seconds = p.seconds;
		return;
	}
	checkpoint_why_unwritten(w->d, checkpoint_bytes(&h) * (h.is_sharded ? h.ranks : 1),
				 w->said.place.free, &e);
	failed(w, &e);
}

static void do_look(struct work *w, struct arena *a)
{
	if (look_at_dir(w, a) || wait_to_see(w, file_of(w->d, w->rank, false, a)))
		return;
	w->said.deed.state = CHECKPOINT_DONE;
}

static void do_get(struct work *w, struct arena *a)
{
	struct checkpoint_pass p = {.moved = say_moved, .arg = w};
	struct err e = {0};

	if (checkpoint_read(file_of(w->d, w->rank, false, a), w->head, w->to, &w->said.head, &p,
			    &e)) {
		failed(w, &e);
		w->said.deed.is_unseen = w->said.deed.why == ENOENT;
		return;
	}
	w->said.deed = (struct checkpoint_deed){.state = CHECKPOINT_DONE,
						.bytes = checkpoint_bytes(&w->said.head),
						.seconds = p.seconds,
						.is_cached = p.is_cached};
}

static void remove_all(const struct checkpoint_disk *d, int rank)
{
	AUTO(arena_done) struct arena a = {0};

	(void)unlink(file_of(d, rank, true, &a));
	(void)unlink(file_of(d, rank, false, &a));
	(void)rmdir(d->folder);
}

static void do_clear(struct work *w, struct arena *a UNUSED)
{
	remove_all(w->d, w->rank);
	w->said.deed.state = CHECKPOINT_DONE;
}

static void work(int to, void *arg)
{
	AUTO(arena_done) struct arena a = {0};
	struct work *w = arg;

	w->out = to;
	w->go(w, &a);
	aside_say(to, &w->said, sizeof(w->said));
}

/* --- here ----------------------------------------------------------------------------------- */

static void take(void *arg, const void *record, size_t n)
{
	struct work *w = arg;
	uint64_t bytes;

	if (n == sizeof(w->said)) {
		memcpy(&w->said, record, n);
		w->has_said = true;
	} else if (n == sizeof(w->said.place)) {
		memcpy(&w->said.place, record, n);
	} else if (n == sizeof(bytes)) {
		memcpy(&bytes, record, n);
		w->moved += bytes;
		if (w->d->tell && w->doing && bytes)
			w->d->tell(w->doing, w->moved / MB, w->to_move / MB);
	}
}

static void not_ended(struct work *w, enum aside_end end)
{
	struct err e = {0};

	w->said.deed = (struct checkpoint_deed){0};
	if (end == ASIDE_SILENT) {
		checkpoint_why_silent(w->d, &e);
	} else {
		err_set(&e, ERR_SYS, "%s",
			end == ASIDE_INTERRUPTED ? "it was interrupted"
			: end == ASIDE_NONE	 ? "no process could be started for it"
						 : "the process that did it died");
		(void)err_hint(&e, "run it again with --verbose");
		errno = ECHILD;
	}
	failed(w, &e);
}

static void run(struct work *w)
{
	const struct aside s = {
		.work = work, .take = take, .arg = w, .deadline_ns = w->d->silence_ns};
	enum aside_end end = aside_run(&s);

	if (end != ASIDE_DONE || !w->has_said)
		not_ended(w, end);
}

void checkpoint_make(const struct checkpoint_disk *d, struct checkpoint_place *ret_place,
		     struct checkpoint_deed *ret)
{
	struct work w = {.d = d, .go = do_make};

	run(&w);
	*ret_place = w.said.place;
	*ret = w.said.deed;
}

void checkpoint_put(const struct checkpoint_disk *d, const struct checkpoint_head *h,
		    const float *const *numbers, bool is_torn, struct checkpoint_place *ret_place,
		    struct checkpoint_deed *ret)
{
	struct work w = {.d = d,
			 .go = do_put,
			 .head = h,
			 .numbers = numbers,
			 .rank = (int)h->rank,
			 .is_torn = is_torn,
			 .to_move = checkpoint_bytes(h),
			 .doing = "writing a checkpoint, MB"};

	run(&w);
	*ret_place = w.said.place;
	*ret = w.said.deed;
}

void checkpoint_look(const struct checkpoint_disk *d, int rank, struct checkpoint_deed *ret)
{
	struct work w = {.d = d, .go = do_look, .rank = rank};

	run(&w);
	*ret = w.said.deed;
}

void checkpoint_get(const struct checkpoint_disk *d, const struct checkpoint_head *want,
		    float *const *to, struct checkpoint_head *ret_head, struct checkpoint_deed *ret)
{
	struct work w = {.d = d,
			 .go = do_get,
			 .head = want,
			 .to = to,
			 .rank = (int)want->rank,
			 .to_move = checkpoint_bytes(want),
			 .doing = "reading the checkpoint, MB"};

	run(&w);
	*ret_head = w.said.head;
	*ret = w.said.deed;
}

bool checkpoint_clear(const struct checkpoint_disk *d, int rank)
{
	struct work w = {.d = d, .go = do_clear, .rank = rank};

	run(&w);
	return w.said.deed.state == CHECKPOINT_DONE;
}

/* --- and should we not come to it --------------------------------------------------------------
 */

static struct {
	const struct checkpoint_disk *d;
	int rank;
} last_will;

/* Who does our work aside may stand in the file system yet, though killed, and make one more file
 * before its end: until then it has the pipe's other end open, as we had. */
static void carry_out(void *arg UNUSED)
{
	char none;

	while (read(STDIN_FILENO, &none, 1) < 0 && errno == EINTR)
		;
	remove_all(last_will.d, last_will.rank);
}

pid_t checkpoint_heir(const struct checkpoint_disk *d, int rank)
{
	int ends[2] = {-1, -1}; /* the second is open for as long as we are there */
	pid_t heir;

	last_will.d = d;
	last_will.rank = rank;
	if (pipe2(ends, O_CLOEXEC))
		ends[0] = -1; /* then it begins at once */
	heir = heir_start(carry_out, NULL, ends[0]);
	if (ends[0] >= 0)
		(void)close(ends[0]);
	return heir;
}
