#include "lib/core/term.h"

#include "lib/core/utf8.h"

#include <ctype.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

enum { MIN_WIDTH = 20, MAX_WIDTH = 1000, DEFAULT_WIDTH = 80 };

static bool env_is_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

unsigned term_room(int fd)
{
	struct winsize ws = {0};

	return ioctl(fd, TIOCGWINSZ, &ws) == 0 ? ws.ws_col : 0;
}

static unsigned probe_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	unsigned long w =
		columns && isdigit((unsigned char)*columns) ? strtoul(columns, NULL, 10) : 0;

	if (w == 0)
		w = term_room(fd);
	if (w == 0)
		return DEFAULT_WIDTH;
	return w < MIN_WIDTH ? MIN_WIDTH : w > MAX_WIDTH ? MAX_WIDTH : (unsigned)w;
}

void term_probe(struct term *t, int fd)
{
	const char *kind = getenv("TERM");

	/* Open MPI's mpirun gives ranks a terminal of its own, whatever it writes into */
	*t = (struct term){.is_tty = isatty(fd) && !env_is_set("OMPI_COMM_WORLD_RANK"),
			   .width = DEFAULT_WIDTH};
	if (!t->is_tty)
		return;
	t->width = probe_width(fd);
	t->color = kind && *kind && !streq(kind, "dumb") && !env_is_set("NO_COLOR");
}

const char *term_on(const struct term *t, enum style s)
{
	static const char *const on[] = {"",	     "\033[1m",	 "\033[2m", "\033[31m",
					 "\033[32m", "\033[33m", "\033[34m"};

	return t->color ? on[s] : "";
}

const char *term_off(const struct term *t) { return t->color ? "\033[0m" : ""; }

bool term_is_shared(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool term_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (env_is_set(names[i])) {
			const char *v = getenv(names[i]);

			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
		}
	return false;
}

struct range {
	uint32_t first, last;
};

static bool within(uint32_t c, const struct range *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].first && c <= r[i].last)
			return true;
	return false;
}

bool term_prints(uint32_t c)
{
	/* C1 controls; marks of direction, of lines and of nothing */
	static const struct range hidden[] = {
		{0x7f, 0x9f},	  {0x061c, 0x061c}, {0x200b, 0x200f}, {0x2028, 0x202e},
		{0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
	};

	return c >= ' ' && c != UTF8_BAD && (c < 0x7f || !within(c, hidden, ARRAY_LEN(hidden)));
}

/* @utf8 -1: asked for only when something is not ASCII */
static void clean(char *s, int utf8)
{
	char *to = s;
	uint32_t c;

	for (size_t took; *s; s += took) {
		took = utf8_next(s, 4, &c);
		if (c >= 0x80 && utf8 < 0)
			utf8 = term_utf8();
		if (c == '\n' || c == '\t' || c == '\r') {
			*to++ = ' ';
		} else if (!term_prints(c) || (c >= 0x80 && !utf8)) {
			*to++ = '?';
		} else {
			memmove(to, s, took);
			to += took;
		}
	}
	*to = '\0';
}

void term_clean(char *s) { clean(s, -1); }

void term_tame(char *s) { clean(s, true); }

static size_t char_columns(uint32_t c)
{
	/* the common part of what wcwidth() calls combining and wide */
	static const struct range none[] = {{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
					    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
	static const struct range two[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0xa4cf},  {0xac00, 0xd7a3},
		{0xf900, 0xfaff},   {0xfe30, 0xfe6f},	{0xff00, 0xff60},  {0xffe0, 0xffe6},
		{0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

	if (c < 0x0300 || c == UTF8_BAD)
		return 1;
	return within(c, none, ARRAY_LEN(none)) ? 0 : within(c, two, ARRAY_LEN(two)) ? 2 : 1;
}

size_t term_columns(const char *s)
{
	size_t columns = 0;
	uint32_t c;

	while (*s) {
		s += utf8_next(s, 4, &c);
		columns += char_columns(c);
	}
	return columns;
}

size_t term_fit(const char *s, size_t columns)
{
	const char *p = s;
	uint32_t c;

	for (size_t took; *p; p += took) {
		took = utf8_next(p, 4, &c);
		if (char_columns(c) > columns)
			break;
		columns -= char_columns(c);
	}
	return (size_t)(p - s);
}

size_t term_uncolour(char *text, size_t n)
{
	char *from = memchr(text, '\033', n), *to = from, *end = text + n;

	while (from && from < end) {
		char *next = memchr(from + 1, '\033', (size_t)(end - from - 1)), *p = from;

		if (*p == '\033' && end - p > 2 && p[1] == '[') {
			for (p += 2;
			     p < end && (isdigit((unsigned char)*p) || *p == ';' || *p == ':'); p++)
				;
			from = p < end && (*p == 'm' || *p == 'K') ? p + 1 : from;
		}
		next = next ? next : end;
		memmove(to, from, (size_t)(next - from));
		to += next - from;
		from = next;
	}
	return from ? (size_t)(to - text) : n;
}
