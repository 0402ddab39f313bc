/*
 * Where NCCL's log is kept: with what it tells of its ways, whatever a person asked to see. Of
 * that the lines of the level that was asked for go on to stderr.
 */
#include "bench/plugin/nccl/log.h"

#include "lib/host/nccl_alike.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { LOG_MOST = 16 << 20, PIECE = 64 << 10 };

static char path[128];
static int kept = -1; /* never closed: NCCL may open its name late, and would empty whatever file
		       * had the number then */
static bool is_on_disk;
static enum log_shows { SHOWS_NOTHING, SHOWS_VERSION, SHOWS_WARN, SHOWS_ALL } asked;
static const char *hidden_by;
static off_t passed;

/* Nothing is left of it, however we end. */
static bool keep_in_memory(void)
{
	AUTO_CLOSE int by_name = -1;

	kept = memfd_create("windsock-nccl", MFD_CLOEXEC);
	if (kept < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", kept);
	by_name = open(path, O_RDWR | O_CLOEXEC); /* as NCCL will; not where /proc is missing */
	if (by_name >= 0)
		return true;
	(void)close(kept);
	kept = -1;
	return false;
}

/* It is there, and ours, before NCCL opens it: nobody can put a link in its place. */
static bool keep_on_disk(void)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(path, sizeof(path), "%.90s/windsock-nccl.XXXXXX",
		       tmp && *tmp ? tmp : "/tmp");
	kept = mkostemp(path, O_CLOEXEC);
	is_on_disk = kept >= 0;
	return is_on_disk;
}

static enum log_shows level_of(const char *name)
{
	return !name					     ? SHOWS_NOTHING
	       : streq(name, "version")			     ? SHOWS_VERSION
	       : streq(name, "warn")			     ? SHOWS_WARN
	       : streq(name, "info") || streq(name, "abort") ? SHOWS_ALL
							     : SHOWS_NOTHING;
}

/* Which variable has the log elsewhere, or without what is looked for; NULL: none does. */
static const char *taken_by(struct arena *a)
{
	const char *level = nccl_setting_here("NCCL_DEBUG", a);

	if (nccl_setting_here("NCCL_DEBUG_FILE", a))
		return "NCCL_DEBUG_FILE";
	if (level && streq(level, "trace"))
		return "NCCL_DEBUG";
	if (getenv("NCCL_DEBUG_SUBSYS") || nccl_setting_here("NCCL_DEBUG_SUBSYS", a))
		return level_of(level) == SHOWS_ALL ? "NCCL_DEBUG_SUBSYS" : NULL;
	return NULL;
}

void log_begin(void)
{
	AUTO(arena_done) struct arena a = {0};

	if (kept >= 0)
		return;
	hidden_by = taken_by(&a);
	if (hidden_by || (!keep_in_memory() && !keep_on_disk()))
		return;
	asked = level_of(nccl_setting_here("NCCL_DEBUG", &a));
	if (asked < SHOWS_ALL) {
		(void)setenv("NCCL_DEBUG", "INFO", 1);
		(void)setenv("NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV", 1); /* as if unset */
	}
	(void)setenv("NCCL_DEBUG_FILE", path, 1);
}

const char *log_hidden_by(void) { return hidden_by; }

void log_end(void)
{
	log_pass_on();
	if (is_on_disk)
		(void)unlink(path);
}

bool log_grew(size_t *seen)
{
	size_t before = *seen;
	struct stat st;

	if (kept < 0 || fstat(kept, &st))
		return false;
	*seen = (size_t)st.st_size;
	return *seen > before;
}

bool log_read(struct arena *a, char **ret, size_t *ret_n)
{
	struct stat st;
	ssize_t n;

	if (kept < 0 || fstat(kept, &st) || st.st_size <= 0 || st.st_size > LOG_MOST)
		return false;
	*ret = arena_alloc(a, (size_t)st.st_size);
	n = pread(kept, *ret, (size_t)st.st_size, 0);
	*ret_n = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* --- what was asked for ----------------------------------------------------------------- */

static bool is_shown(const char *line, size_t n)
{
	static const char version[] = "NCCL version ", warn[] = " NCCL WARN ";

	if (asked == SHOWS_ALL)
		return true;
	if (n >= strlen(version) && !strncmp(line, version, strlen(version)))
		return asked >= SHOWS_VERSION;
	return asked >= SHOWS_WARN && memmem(line, n, warn, strlen(warn));
}

static void show(const char *text, size_t n)
{
	for (ssize_t put; n; n -= (size_t)put, text += put)
		if ((put = write(STDERR_FILENO, text, n)) <= 0)
			return;
}

/* Whole lines; how much of @text they are. */
static size_t show_lines(const char *text, size_t n)
{
	const char *at = text, *end = text + n, *stop;

	for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1)
		if (is_shown(at, (size_t)(stop + 1 - at)))
			show(at, (size_t)(stop + 1 - at));
	return (size_t)(at - text);
}

void log_pass_on(void)
{
	char piece[PIECE];
	ssize_t n;

	if (kept < 0 || asked == SHOWS_NOTHING)
		return;
	while ((n = pread(kept, piece, sizeof(piece), passed)) > 0) {
		size_t lines = show_lines(piece, (size_t)n);

		if (!lines && (size_t)n < sizeof(piece))
			return; /* the rest of the line is to come */
		passed += lines ? (off_t)lines : n;
	}
}
