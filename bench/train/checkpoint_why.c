#include "bench/train/checkpoint_why.h"

#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"

#include <errno.h>

void checkpoint_why_absent(const char *dir, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	int why = errno;

	err_sys(e, "there is no folder %.100s", dir);
	if (why == ENOENT)
		(void)err_command(e, "mkdir -p %s   # or mount it there",
				  shell_quote_line(&a, dir));
	else
		(void)err_hint(e, "name a folder that every rank can write");
	errno = why;
}

/* With room for all of it: a file system holds so many files, and a user may write so much. */
static void say_limit(const char *dir, int why, uint64_t free, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *in = shell_quote_line(&a, dir);
	struct unit_buf left;

	err_set(e, ERR_SYS, "%s, with %s free: %s", strerror(why), format_size(&left, free),
		why == EDQUOT ? "your quota is used up"
			      : "no inodes are left, your quota is used up, or others filled it "
				"meanwhile");
	(void)err_command(e, "df -i %s   # none of them free? else a quota: quota -s", in);
}

void checkpoint_why_unwritten(const struct checkpoint_disk *d, uint64_t need, uint64_t free,
			      struct err *e)
{
	struct unit_buf wanted, left;
	int why = errno;
	bool has_room = free != UINT64_MAX && free > need;

	if ((why == ENOSPC || why == EDQUOT) && has_room) {
		say_limit(d->dir, why, free, e);
	} else {
		if (need && (why == ENOSPC || why == EDQUOT))
			err_set(e, ERR_SYS, "%s: %s are needed, %s were free", strerror(why),
				format_size(&wanted, need), format_size(&left, free));
		errno = why;
		(void)file_advise(d->folder, e); /* of what it lies in: it will be gone itself */
	}
	errno = why;
}

void checkpoint_why_silent(const struct checkpoint_disk *d, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	struct unit_buf b;

	err_set(e, ERR_SYS, "nothing moved for %s: its disk or file server does not answer",
		format_duration(&b, d->silence_ns));
	(void)err_command(e,
			  "timeout 5 df -h %s; dmesg -T | grep -iE 'nfs|not responding|i/o "
			  "error' | tail",
			  shell_quote_line(&a, d->dir));
	errno = ETIMEDOUT;
}
