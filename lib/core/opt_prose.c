/* The free texts of a command, cut into what a rendering can lay out. */
#include "lib/core/opt_table.h"

static const char common_exits[] =
	"0 every check passed (warnings allowed; --strict makes them 1)\n"
	"1 a check failed: the cluster is wrong, and the finding says where\n"
	"2 the command line is wrong\n"
	"3 the tool could not do its job here (system error, full disk, Ctrl-C, budget); "
	"nothing is said about the cluster\n"
	"4 what was asked for is not on this host (GPU, driver, NCCL, a plug-in's library)\n";

/* Cuts @s of @n bytes into @ret without the blanks around it. */
static const char *trimmed(struct arena *a, const char *s, size_t n)
{
	while (n && (*s == ' ' || *s == '\t'))
		s++, n--;
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	return arena_strndup(a, s, n);
}

/* One pair per line, cut at the first @between behind the leading blanks. */
static void split_lines(const char *text, const char *between, struct arena *a, opt_pairs *ret)
{
	for (size_t n; text && *text; text += n + (text[n] == '\n')) {
		const char *line = trimmed(a, text, n = strcspn(text, "\n"));
		const char *cut = strstr(line, between);

		if (!*line)
			continue;
		*LIST_ADD(a, ret) = (struct opt_pair){
			cut ? trimmed(a, line, (size_t)(cut - line)) : line,
			cut ? trimmed(a, cut + strlen(between), strlen(cut + strlen(between)))
			    : NULL};
	}
}

void opt_examples(const struct command *cmd, struct arena *a, opt_pairs *ret)
{
	*ret = (opt_pairs){0};
	split_lines(cmd->examples, " # ", a, ret);
}

void opt_exits(const struct command *cmd, struct arena *a, opt_pairs *ret)
{
	*ret = (opt_pairs){0};
	split_lines(cmd->exits ? cmd->exits : common_exits, " ", a, ret);
}

void opt_environment(const struct command *cmd, struct arena *a, opt_pairs *ret)
{
	*ret = (opt_pairs){0};
	split_lines(cmd->environment, " ", a, ret);
}

void opt_paragraphs(const char *text, struct arena *a, str_list *ret)
{
	const char *end;

	*ret = (str_list){0};
	for (; text && *text; text = end) {
		size_t n;

		end = strstr(text, "\n\n");
		n = end ? (size_t)(end - text) : strlen(text);
		end = text + n;
		end += strspn(end, "\n");
		while (n && text[n - 1] == '\n')
			n--;
		if (n)
			*LIST_ADD(a, ret) = arena_strndup(a, text, n);
	}
}
