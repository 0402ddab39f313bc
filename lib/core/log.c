#include "lib/core/log.h"

#include "lib/core/fix.h"
#include "lib/core/term.h"
#include "lib/core/units.h"

#include <errno.h>
#include <stdarg.h>

enum { LINE = 4096, PROGRESS_NS = 100 * 1000 * 1000 };

static struct {
	const char *tool;
	enum log_level level;
	bool probed, said; /* was the latest message shown? A hint goes with it */
	struct term term;
	bool drawn;
	uint64_t drawn_ns;
} the_log = {.tool = "windsock", .level = LOG_NORMAL};

void log_init(const char *tool, enum log_level level)
{
	the_log.tool = tool;
	the_log.level = level;
}

const char *log_tool(void) { return the_log.tool; }

static const struct term *stderr_term(void)
{
	if (!the_log.probed)
		term_probe(&the_log.term, STDERR_FILENO);
	the_log.probed = true;
	return &the_log.term;
}

/* One write per line, so that the lines of several processes do not mix. */
static void put(const char *s, size_t n)
{
	while (n) {
		ssize_t wrote = write(STDERR_FILENO, s, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return; /* there is nobody left to tell */
		s += wrote;
		n -= (size_t)wrote;
	}
}

static void putf(const char *fmt, ...) PRINTF(1, 2);
static void putf(const char *fmt, ...)
{
	char line[LINE + 256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0)
		put(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* Messages carry foreign text, which is made harmless here. */
static void format(char ret[LINE], const char *fmt, va_list ap) PRINTF(2, 0);
static void format(char ret[LINE], const char *fmt, va_list ap)
{
	if (vsnprintf(ret, LINE, fmt, ap) >= LINE)
		memcpy(ret + LINE - 4, "...", 4);
	term_clean(ret);
}

static void put_line(const char *start, const char *message)
{
	log_progress_end();
	putf("%s%s\n", start, message);
}

/* @label is "" or "warning: ". */
static void say(enum log_level from, enum style style, const char *label, const char *fmt,
		va_list ap) PRINTF(4, 0);
static void say(enum log_level from, enum style style, const char *label, const char *fmt,
		va_list ap)
{
	char message[LINE], start[256];
	const struct term *t;

	the_log.said = the_log.level >= from;
	if (!the_log.said)
		return;
	t = stderr_term();
	snprintf(start, sizeof(start), "%s%s: %s%s", term_on(t, style), the_log.tool, label,
		 term_off(t));
	format(message, fmt, ap);
	put_line(start, message);
}

#define SAY(from, style, label)                                                                    \
	do {                                                                                       \
		va_list ap;                                                                        \
		va_start(ap, fmt);                                                                 \
		say((from), (style), (label), fmt, ap);                                            \
		va_end(ap);                                                                        \
	} while (0)

void log_say(const char *fmt, ...) { SAY(LOG_NORMAL, STYLE_NONE, ""); }
void log_ask(const char *fmt, ...) { SAY(LOG_QUIET, STYLE_NONE, ""); }
void log_warn(const char *fmt, ...) { SAY(LOG_QUIET, STYLE_YELLOW, "warning: "); }
void log_error(const char *fmt, ...) { SAY(LOG_QUIET, STYLE_RED, ""); }
void log_said(void) { the_log.said = true; }
void log_detail(const char *fmt, ...) { SAY(LOG_VERBOSE, STYLE_DIM, ""); }
void log_debug(const char *fmt, ...) { SAY(LOG_DEBUG, STYLE_DIM, "debug: "); }

void log_hint(const char *fmt, ...)
{
	char fix[LINE], start[32];
	const struct term *t;
	va_list ap;

	if (!the_log.said)
		return;
	t = stderr_term();
	va_start(ap, fmt);
	format(fix, fmt, ap);
	va_end(ap);
	(void)snprintf(start, sizeof(start), "  %s%s%s ", term_on(t, STYLE_BOLD), fix_mark(fix),
		       term_off(t));
	put_line(start, fix_text(fix));
}

/* Where colour is off for TERM=dumb, a line cannot be wiped either. */
bool log_draws(void)
{
	return stderr_term()->is_tty && the_log.level != LOG_QUIET &&
	       !streq(getenv("TERM") ?: "dumb", "dumb");
}

void log_progress(const char *what, uint64_t done, uint64_t total)
{
	enum { LEAST = 20 };
	unsigned room;
	uint64_t now;
	char line[256];
	int n;

	if (!log_draws())
		return;
	room = term_room(STDERR_FILENO) ?: stderr_term()->width;
	if (room < LEAST) /* it would wrap, and what wraps cannot be wiped */
		return;
	now = now_ns();
	if (the_log.drawn && now - the_log.drawn_ns < PROGRESS_NS && done != total)
		return;
	n = snprintf(line, sizeof(line), "%s %llu", what, (unsigned long long)done);
	if (total && n > 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, " of %llu (%u%%)",
			 (unsigned long long)total,
			 (unsigned)(100.0 * (double)done / (double)total));
	term_clean(line);
	line[term_fit(line, room - 1)] = '\0';
	putf("\r%s\033[K", line);
	the_log.drawn = true;
	the_log.drawn_ns = now;
}

void log_progress_end(void)
{
	if (the_log.drawn)
		put("\r\033[K", 4);
	the_log.drawn = false;
}
