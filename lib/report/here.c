#include "lib/report/here.h"

#include "lib/core/file.h"
#include "lib/core/text.h"
#include "lib/host/sysroot.h"
#include "lib/report/line.h"

static const char word[] = "sudo ";

enum { WORD = sizeof(word) - 1 };

/* @at is outside of quotes: does a command begin there? */
static bool begins(const char *line, const char *at, bool remark)
{
	static const char *const before[] = {"do", "then", "else"};
	const char *p = at;

	while (p > line && p[-1] == ' ')
		p--;
	if (p == line || strchr(";&|(`!", p[-1]) || (remark && strchr("#:,", p[-1])))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		size_t n = strlen(before[i]);

		if ((size_t)(p - line) >= n && !memcmp(p - n, before[i], n) &&
		    (p - n == line || strchr(" ;", p[-(ptrdiff_t)n - 1])))
			return true;
	}
	return false;
}

static const char *without(struct arena *a, const char *line)
{
	const char *remark = line_remark(line), *from = line, *p = line;
	struct text t;

	text_init(&t, a);
	while (*p) {
		if (p < remark && strchr("'\"\\", *p)) {
			p = line_skip_quoted(p);
		} else if (starts_with(p, word) && p[WORD] != '-' && begins(line, p, p > remark)) {
			text_addn(&t, from, (size_t)(p - from));
			from = p += WORD;
		} else {
			p++;
		}
	}
	if (from == line)
		return line;
	text_add(&t, from);
	return t.s;
}

const char *here_line(struct arena *a, const char *line)
{
	if (!line || !strstr(line, word) || geteuid() || !sysroot_is_real() ||
	    file_on_path(a, "sudo") || starts_with(line_remark(line), "# on "))
		return line;
	return without(a, line);
}
