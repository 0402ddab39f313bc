#include "lib/core/rcfile.h"
#include "lib/core/text.h"

static const char begin_mark[] = "# >>> windsock >>>";
static const char end_mark[] = "# <<< windsock <<<";
/* Follows begin_mark where rc_put had to end the line above: rc_remove takes that back. */
static const char joined_note[] = " (the line above had no newline)";

enum {
	GUARD_LINES = 20,     /* how far an `if` or `case` may be from its `return` */
	HEREDOC_LINES = 1000, /* and a here-document's end from its begin */
};

/* The line at *@p with its newline; moves *@p behind it. */
static struct span next_line(const char **p, const char *end)
{
	const char *nl = memchr(*p, '\n', (size_t)(end - *p));
	struct span line = {*p, (size_t)((nl ? nl + 1 : end) - *p)};

	*p += line.n;
	return line;
}

static bool begins(struct span l, const char *with)
{
	size_t n = strlen(with);

	return l.n >= n && !memcmp(l.s, with, n);
}

static bool is_mark(struct span l, const char *mark)
{
	size_t n = strlen(mark);

	return begins(l, mark) && (l.n == n || strchr(" \t\r\n", l.s[n]));
}

static bool has(struct span l, const char *what) { return memmem(l.s, l.n, what, strlen(what)); }

static bool is_shell_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

/* Whether @what stands in the line as a word, before any comment. */
static bool has_word(struct span l, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i < l.n; i++) {
		bool starts = i == 0 || !is_shell_word_char(l.s[i - 1]);

		if (l.s[i] == '#' && (i == 0 || l.s[i - 1] == ' ' || l.s[i - 1] == '\t'))
			return false;
		if (starts && l.n - i >= n && !memcmp(l.s + i, what, n) &&
		    (l.n - i == n || !is_shell_word_char(l.s[i + n])))
			return true;
	}
	return false;
}

static bool asks_interactive(struct span l)
{
	static const char *const asks[] = {
		"$-",	    "${-",	 "$PS1",	  "${PS1",
		"tty -s",   "-t 0 ",	 "-t 1 ",	  "-o interactive",
		"$SSH_TTY", "${SSH_TTY", "-q login_shell"};

	for (size_t i = 0; i < ARRAY_LEN(asks); i++)
		if (has(l, asks[i]))
			return true;
	return false;
}

static bool line_ends(struct span l, const char *what)
{
	size_t n = strlen(what);

	return l.n >= n && !memcmp(l.s + l.n - n, what, n);
}

static bool goes_on(struct span l)
{
	return line_ends(l, "\\\n") || line_ends(l, "&&\n") || line_ends(l, "||\n");
}

/* The line with those that it goes on in; they begin at @p. */
static struct span with_the_rest(struct span l, const char *p, const char *end)
{
	while (p < end && goes_on(l))
		l.n += next_line(&p, end).n;
	return l;
}

/* Whether a command may begin at @at: first in the line, behind what parts two, or behind a word
 * that one follows. */
static bool begins_command(struct span l, size_t at)
{
	static const char *const words[] = {"then", "do", "else", "!"};

	while (at && strchr(" \t", l.s[at - 1]))
		at--;
	if (!at || strchr(";&|(){", l.s[at - 1]))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if (at >= n && !memcmp(l.s + at - n, words[i], n) &&
		    (at == n || !is_shell_word_char(l.s[at - n - 1])))
			return true;
	}
	return false;
}

static bool has_command(struct span l, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= l.n; i++) {
		if (l.s[i] == '#' && (i == 0 || l.s[i - 1] == ' ' || l.s[i - 1] == '\t'))
			return false;
		if (!memcmp(l.s + i, what, n) && begins_command(l, i) &&
		    (l.n - i == n || !is_shell_word_char(l.s[i + n])))
			return true;
	}
	return false;
}

/* How many more compound commands and function bodies are open behind this line: as its words look,
 * for nobody reads a shell's language without being a shell. */
static int opens(struct span l)
{
	static const char *const first[] = {"if", "case", "for", "while", "until", "select"};
	static const char *const last[] = {"fi", "esac", "done"};
	size_t n = l.n, blank = 0;
	int more = 0;

	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		more += has_command(l, first[i]);
	for (size_t i = 0; i < ARRAY_LEN(last); i++)
		more -= has_command(l, last[i]);
	while (n && strchr(" \t\r\n", l.s[n - 1]))
		n--;
	while (blank < n && strchr(" \t", l.s[blank]))
		blank++;
	more += n && (l.s[n - 1] == '{' || l.s[n - 1] == '(');
	return more - (blank < n && (l.s[blank] == '}' || l.s[blank] == ')'));
}

/*
 * A guard asks whether the shell is interactive and returns: in one line, or
 * before the `fi` or `esac`.
 */
static bool is_guard(struct span l, const char *p, const char *end)
{
	if (!l.n || *l.s == '#' || !asks_interactive(l))
		return false;
	l = with_the_rest(l, p, end);
	if (has_word(l, "return") || has_word(l, "exit"))
		return true;
	if (!has_word(l, "if") && !has_word(l, "case"))
		return false;
	for (int i = 0; i < GUARD_LINES && p < end; i++) {
		l = next_line(&p, end);
		if (has_word(l, "return") || has_word(l, "exit"))
			return true;
		if (has_word(l, "fi") || has_word(l, "esac"))
			return false;
	}
	return false;
}

/* The word that ends a here-document which this line begins: "<<EOF", "<<-'EOF'". None: nothing. */
static struct span heredoc_word(struct span l, bool *ret_tabs)
{
	const char *at = memmem(l.s, l.n, "<<", 2), *end = l.s + l.n;
	struct span word = {0};

	if (*l.s == '#' || !at || has(l, "<<<") || has(l, "(("))
		return word;
	at += 2;
	*ret_tabs = at < end && *at == '-';
	at += *ret_tabs;
	while (at < end && strchr(" \t'\"\\", *at))
		at++;
	word.s = at;
	while (at < end && is_shell_word_char(*at))
		at++;
	word.n = (size_t)(at - word.s);
	return word;
}

/* Behind the here-document that @l begins, whose text begins at @p; @p: it begins none. */
static const char *skip_heredoc(struct span l, const char *p, const char *end)
{
	bool tabs = false;
	struct span word = heredoc_word(l, &tabs);
	const char *at = p;

	for (int i = 0; i < HEREDOC_LINES && word.n && at < end; i++) {
		struct span line = next_line(&at, end);

		while (tabs && line.n && *line.s == '\t')
			line.s++, line.n--;
		if (line.n >= word.n && !memcmp(line.s, word.s, word.n) &&
		    (line.n == word.n || line.s[word.n] == '\n'))
			return at;
	}
	return p;
}

/* Above the guard and the comment that explains it; the end where there is none. */
static size_t place_above_guard(struct span text)
{
	const char *p = text.s, *end = text.s + text.n, *above = NULL;
	bool continued = false;
	int open = 0;

	while (p < end) {
		struct span l = next_line(&p, end);
		/* `<<<` ends another tool's marked block (conda's), `#!` must stay first */
		bool comment = *l.s == '#' && !has(l, "<<<") && !begins(l, "#!");

		/* our block would be a part of a function, or of a text */
		if (!continued && !open && is_guard(l, p, end))
			return (size_t)((above ? above : l.s) - text.s);
		above = comment ? (above ? above : l.s) : NULL;
		continued = goes_on(l);
		open += opens(l);
		open = open > 0 ? open : 0;
		p = skip_heredoc(l, p, end);
	}
	return text.n;
}

static int damaged(struct err *e, size_t line, const char *what)
{
	err_set(e, ERR_SYS, "the windsock block is damaged: line %zu %s", line, what);
	return err_hint(e, "repair or delete the lines from '%s' to '%s' by hand", begin_mark,
			end_mark);
}

int rc_remove(struct arena *a, struct span old, struct span *ret, bool *ret_found, struct err *e)
{
	const char *p = old.s, *end = old.s + old.n;
	bool inside = false, found = false, joined = false;
	size_t nr = 0;
	struct text out;

	text_init(&out, a);
	while (p < end) {
		struct span l = next_line(&p, end);

		nr++;
		if (is_mark(l, begin_mark)) {
			if (inside)
				return damaged(e, nr, "begins it a second time");
			inside = found = true;
			joined = has(l, joined_note);
		} else if (is_mark(l, end_mark)) {
			if (!inside)
				return damaged(e, nr, "ends it, nothing begins it");
			inside = false;
		} else if (!inside) {
			text_addn(&out, l.s, l.n);
			joined = false; /* somebody wrote below: the newline is needed now */
		}
	}
	if (inside)
		return damaged(e, nr, "is the last, and the end mark is missing");
	if (joined && out.n && out.s[out.n - 1] == '\n')
		out.s[--out.n] = '\0';
	*ret = (struct span){out.s, out.n};
	*ret_found = found;
	return 0;
}

struct span rc_below(struct span text)
{
	const char *p = text.s, *end = text.s + text.n;

	while (p < end)
		if (is_mark(next_line(&p, end), end_mark))
			break;
	return (struct span){p, (size_t)(end - p)};
}

/* Of the text without the block: where that begins in @old. */
static size_t place_of_block(struct span old, struct span clean)
{
	const char *p = old.s, *end = old.s + old.n;

	while (p < end) {
		struct span l = next_line(&p, end);

		if (is_mark(l, begin_mark))
			return (size_t)(l.s - old.s) < clean.n ? (size_t)(l.s - old.s) : clean.n;
	}
	return clean.n;
}

static size_t place_for(enum rc_place where, struct span old, struct span clean)
{
	switch (where) {
	case RC_ABOVE_INTERACTIVE:
		return place_above_guard(clean);
	case RC_KEEP:
		return place_of_block(old, clean);
	case RC_APPEND:
		break;
	}
	return clean.n;
}

static int check_body(const char *body, struct err *e)
{
	const char *p = body, *end = body + strlen(body);

	while (p < end) {
		struct span l = next_line(&p, end);

		if (is_mark(l, begin_mark) || is_mark(l, end_mark))
			return err_set(e, ERR_SYS, "a marked block cannot hold its own marks");
	}
	return 0;
}

int rc_put(struct arena *a, struct span old, const char *body, enum rc_place where,
	   struct span *ret, struct err *e)
{
	size_t at, body_n = strlen(body);
	bool found, join;
	struct span clean;
	struct text out;

	if (check_body(body, e) < 0 || rc_remove(a, old, &clean, &found, e) < 0)
		return -1;
	at = place_for(where, old, clean);
	join = at && clean.s[at - 1] != '\n';
	text_init(&out, a);
	text_addn(&out, clean.s, at);
	text_addf(&out, "%s%s%s\n%s%s%s\n", join ? "\n" : "", begin_mark, join ? joined_note : "",
		  body, body_n && body[body_n - 1] != '\n' ? "\n" : "", end_mark);
	text_addn(&out, clean.s + at, clean.n - at);
	*ret = (struct span){out.s, out.n};
	return 0;
}
