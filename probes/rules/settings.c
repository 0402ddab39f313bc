#include "probes/rules/nccl.h"

#include "lib/core/binary.h"
#include "lib/core/file.h"
#include "lib/host/answers.h"
#include "lib/host/sysroot.h"

#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>

enum { CONF_MAX = 1 << 20, LINES_MAX = 4096, PIECE_MAX = 4095 };

extern char **environ;

/* Releases differ in details; which one counts is only looked up where they do. */
struct reader {
	struct settings *s;
	unsigned asked;
	bool no_text; /* of the file that is read: only what sets something of NCCL's is taken */
};

static bool is_new(const struct reader *r) { return nccl_version(r->asked) >= NCCL_VERSION_HOME; }

static const char *passwd_home(struct arena *a)
{
	AUTO_FILE FILE *f = fopen("/etc/passwd", "re");
	struct passwd *p;

	/* Reading the file costs a tenth of what getpwuid's plug-ins cost to load. */
	while (f && (p = fgetpwent(f)))
		if (p->pw_uid == getuid())
			return arena_strdup(a, p->pw_dir);
	p = getpwuid(getuid());
	return p ? arena_strdup(a, p->pw_dir) : NULL;
}

static const char *home(const struct reader *r)
{
	const char *env = getenv("HOME"), *pw;

	if (!sysroot_is_real())
		return env;
	pw = passwd_home(r->s->a);
	if (env && pw && streq(env, pw))
		return env;
	return is_new(r) ? env : pw;
}

/* What is neither an assignment nor a comment nor blank: NCCL passes over it. */
static void add_junk(struct settings *s, const char *line, size_t n, const char *origin)
{
	size_t blank = strspn(line, " \t\r");

	if (blank < n && line[blank] != '#' && s->conf_junk.n < LINES_MAX)
		*LIST_ADD(s->a, &s->conf_junk) = (struct setting){
			.name = arena_strndup(s->a, line, n), .value = "", .origin = origin};
}

static void add_line(const struct reader *r, const char *line, size_t n, const char *shown,
		     unsigned number)
{
	struct settings *s = r->s;
	const char *name, *value;
	struct setting one;

	if (r->no_text && !(n > 5 && !memcmp(line, "NCCL_", 5)))
		return;
	if (s->conf_lines.n > LINES_MAX)
		return;
	if (!nccl_conf_line(line, n, s->a, &name, &value)) {
		add_junk(s, line, n, arena_printf(s->a, "%s:%u", shown, number));
		return;
	}
	if (s->conf_lines.n == LINES_MAX)
		*LIST_ADD(s->a, &s->unreadable) = (struct conf_trouble){
			.path = shown,
			.why = arena_printf(s->a,
					    "has more than can be looked at: nothing below "
					    "line %u was",
					    number),
			.nccl = CONF_UNSEEN};
	one = (struct setting){name, value, arena_printf(s->a, "%s:%u", shown, number)};
	*LIST_ADD(s->a, &s->conf_lines) = one;
	/* setenv without overwriting: whoever comes first wins. */
	if (!getenv(name) && !settings_nccl(s, name))
		*LIST_ADD(s->a, &s->nccl) = one;
}

const char *nccl_home(struct arena *a, unsigned nccl_version_asked)
{
	struct settings s = {.a = a};

	return home(&(struct reader){.s = &s, .asked = nccl_version_asked});
}

static void add_text(const struct reader *r, const char *text, size_t n, const char *shown)
{
	bool pieces = (n > PIECE_MAX || memchr(text, '\r', n)) && is_new(r);
	unsigned number = 1;

	while (n) {
		const char *nl = memchr(text, '\n', n);
		size_t len = nl ? (size_t)(nl - text) : n, step = len + (nl != NULL), real;

		if (pieces && step > PIECE_MAX) {
			step = len = PIECE_MAX;
			nl = NULL;
		}
		real = strnlen(text, len);
		if (pieces && real && text[real - 1] == '\r')
			real--;
		add_line(r, text, real, shown, number);
		number += nl != NULL;
		text += step;
		n -= step;
	}
}

/* What was met opening it; to open a pipe that nobody writes is what NCCL never comes back from. */
static void add_unread(struct settings *s, const char *real, const char *shown, bool is_named)
{
	int why = errno;
	struct stat st;
	bool is_pipe = why == EINVAL && !stat(real, &st) && S_ISFIFO(st.st_mode);

	*LIST_ADD(s->a, &s->unreadable) = (struct conf_trouble){
		.path = shown,
		.is_named = is_named,
		.nccl = is_pipe	       ? CONF_WAITS
			: why == EFBIG ? CONF_UNSEEN
				       : CONF_PASSED_OVER,
		.why = is_pipe	       ? "is a pipe"
		       : why == EFBIG  ? arena_printf(s->a,
						      "is larger than %d MiB, as no such file is: "
						       "nothing in it was looked at",
						      CONF_MAX >> 20)
		       : why == EISDIR ? "is a folder"
		       : why == EINVAL ? "is no regular file"
				       : arena_printf(s->a, "cannot be read (%s)", strerror(why))};
}

/* A program, a picture, or text in an encoding that NCCL does not know: said once, not of each of
 * its lines. */
static bool is_no_text(struct settings *s, const char *text, size_t n, const char *shown,
		       bool is_named)
{
	bool wide = n > 1 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2));

	if (!wide && !binary_begins(text, n))
		return false;
	*LIST_ADD(s->a, &s->unreadable) =
		(struct conf_trouble){.path = shown,
				      .is_named = is_named,
				      .nccl = CONF_NO_TEXT,
				      .why = wide ? "is UTF-16, not plain text: NCCL finds nothing "
						    "in it that it knows and "
						    "says nothing"
						  : "is not text: NCCL takes the lines in it that "
						    "set something and passes "
						    "over all else without a word"};
	return true;
}

static void read_conf(struct reader *r, const char *path, const char *shown, bool must_exist)
{
	struct settings *s = r->s;
	const char *real = sysroot_path(s->a, path);
	struct err e = {0};
	struct stat st;
	size_t n;
	char *text;

	/* NCCL_CONF_FILE=/dev/null is a way to say "none". */
	if (stat(real, &st) == 0 && S_ISCHR(st.st_mode))
		return;
	if (file_read(real, CONF_MAX, s->a, &text, &n, &e) == 0) {
		*LIST_ADD(s->a, &s->files) = shown;
		r->no_text = is_no_text(s, text, n, shown, must_exist);
		add_text(r, text, n, shown);
	} else if (must_exist || (errno != ENOENT && errno != ENOTDIR)) {
		add_unread(s, real, shown, must_exist);
	}
}

static void read_files(struct reader *r)
{
	const char *given = getenv("NCCL_CONF_FILE"), *dir;
	struct arena *a = r->s->a;

	/* The paths are cut where NCCL's buffer ends. */
	if (given && *given && nccl_version(r->asked) >= NCCL_VERSION_CONF_FILE)
		read_conf(r, arena_printf(a, "%.1023s", given), given, true);
	else if ((dir = home(r)) && folder_answers(dir))
		read_conf(r, arena_printf(a, "%.1012s/.nccl.conf", dir), "~/.nccl.conf", false);
	read_conf(r, "/etc/nccl.conf", "/etc/nccl.conf", false);
}

void settings_read_for(struct settings *s, struct arena *a, unsigned nccl_version_asked)
{
	struct reader r = {.s = s, .asked = nccl_version_asked};

	*s = (struct settings){.a = a};
	for (char **e = environ; e && *e; e++) {
		const char *eq = strchr(*e, '=');

		if (eq && starts_with(*e, "NCCL_"))
			*LIST_ADD(a, &s->nccl) = (struct setting){
				arena_strndup(a, *e, (size_t)(eq - *e)), eq + 1, "environment"};
	}
	read_files(&r);
}

void settings_read(struct settings *s, struct arena *a) { settings_read_for(s, a, 0); }

const struct setting *settings_nccl(const struct settings *s, const char *name)
{
	for (size_t i = 0; i < s->nccl.n; i++)
		if (streq(s->nccl.v[i].name, name))
			return &s->nccl.v[i];
	return NULL;
}

const char *settings_env(const char *name) { return getenv(name); }
