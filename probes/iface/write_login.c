/* What a login shell reads, when ~/.bashrc was written. */
#include "probes/iface/write_heed.h"

#include "lib/core/file.h"
#include "lib/core/quote.h"

#include <pwd.h>

enum { BIGGEST = 1 << 20 };

#define TO_PROFILE "ifprobe --bashrc --to ~/.profile"
/* The last line of a file may have no end. */
#define TO_CSHRC "printf '\\neval \"`ifprobe --suggest=csh --quiet`\"\\n' >>~/.cshrc"
/* In ~/.profile it is read by other shells, too, and the file may go: `ifprobe --bashrc --undo`. */
#define TO_LOGIN "printf '\\n[ -z \"$BASH_VERSION\" ] || [ ! -f ~/.bashrc ] || . ~/.bashrc\\n'"

static const struct {
	const char *shell, *fix; /* NULL: nobody works in it */
} others[] = {
	{"zsh", "ifprobe --bashrc --to ~/.zshenv"},
	{"fish", "printf '\\nifprobe --suggest=fish --quiet 2>/dev/null | source\\n' "
		 ">>~/.config/fish/config.fish"},
	{"csh", TO_CSHRC},
	{"tcsh", TO_CSHRC "   # or ~/.tcshrc, where that is there"},
	{"sh", TO_PROFILE},
	{"ash", TO_PROFILE},
	{"dash", TO_PROFILE},
	{"ksh", TO_PROFILE},
	{"mksh", TO_PROFILE},
	{"nologin", NULL},
	{"false", NULL},
};

static const char *fix_for(const char *shell)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (streq(shell, others[i].shell))
			return others[i].fix;
	return "- put what ifprobe --suggest=env says into a file that it reads";
}

static void say_other(const char *shell, struct report *r)
{
	const char *fix = fix_for(shell);
	struct finding *f;

	if (!fix)
		return;
	f = report_find(r, "write.shell", shell);
	finding_set(f, ST_WARN, "is the login shell here, and does not read ~/.bashrc");
	finding_expect(f, "the lines in a file that it reads");
	finding_fix(f, "%s", fix);
	report_add(r, f);
}

/* Is it `. ~/.bashrc`, however that is spelled? */
static bool is_source(const char *command)
{
	static const char *const words[] = {".", "source", "\\."};
	size_t n = strcspn(command, " \t"), name;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (n != strlen(words[i]) || !starts_with(command, words[i]))
			continue;
		command += n + strspn(command + n, " \t");
		name = strcspn(command, " \t");
		return memmem(command, name, "bashrc", strlen("bashrc")) != NULL;
	}
	return false;
}

static bool has_source(const char *line, struct arena *a)
{
	const char *command;

	while ((command = heed_command(&line, a)))
		if (is_source(command))
			return true;
	return false;
}

/* Does the text lead to ~/.bashrc? What it sets itself behind that counts more. */
static bool reads_bashrc(const char *path, const char *text, size_t n, struct report *r)
{
	struct arena *a = report_arena(r);
	bool reads = false;
	size_t nr = 1;

	for (const char *p = text, *end = text + n; p < end; nr++) {
		const char *line = heed_line(&p, end, a), *sets = heed_assignment(line, a);

		if (has_source(line, a))
			reads = true;
		else if (reads && sets)
			heed_conflict(path, nr,
				      arena_printf(a,
						   "sets %.*s when ~/.bashrc was read, and that is "
						   "what a login shell is left with",
						   (int)strcspn(sets, " \t;"), sets),
				      r);
	}
	return reads;
}

/* The first of these is all that a bash reads that somebody logs in to. */
static void bash(const char *home, struct report *r)
{
	static const char *const files[] = {".bash_profile", ".bash_login", ".profile"};
	struct arena *a = report_arena(r);
	const char *path = NULL, *first;
	struct finding *f;
	size_t i = 0, n;
	char *text;

	for (; i < ARRAY_LEN(files); i++) {
		struct err e = {0};

		path = arena_printf(a, "%s/%s", home, files[i]);
		if (!file_read(path, BIGGEST, a, &text, &n, &e))
			break;
	}
	if (i < ARRAY_LEN(files) && reads_bashrc(path, text, n, r))
		return;
	first = i < ARRAY_LEN(files) ? path : arena_printf(a, "%s/%s", home, files[0]);
	f = report_find(r, "write.shell", first);
	finding_set(f, ST_WARN,
		    i < ARRAY_LEN(files)
			    ? "is what bash reads at a login, and it does not lead to ~/.bashrc"
			    : "is not there, nor is ~/.profile: at a login bash does not read "
			      "~/.bashrc by itself");
	finding_expect(f, "a line that reads ~/.bashrc");
	finding_fix(f, TO_LOGIN " >>%s", shell_quote(a, first));
	report_add(r, f);
}

void heed_login(struct report *r)
{
	const struct passwd *me = getpwuid(geteuid());
	const char *shell = me && me->pw_shell ? strrchr(me->pw_shell, '/') : NULL;
	const char *home = getenv("HOME");

	if (shell && streq(shell + 1, "bash") && home)
		bash(home, r);
	else if (shell)
		say_other(shell + 1, r);
}
