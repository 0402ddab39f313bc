#include "lib/core/quote.h"
#include "lib/core/text.h"

/* Copies a quoted stretch behind the quote at *@p; false when it does not end. */
static bool add_quoted(struct text *word, const char **p)
{
	char quote = *(*p)++;

	for (; **p && **p != quote; (*p)++) {
		if (quote == '"' && **p == '\\' && (*p)[1] && strchr("\\\"$`", (*p)[1]))
			(*p)++;
		text_addn(word, *p, 1);
	}
	return *(*p)++ == quote;
}

int split_words(const char *text, struct arena *a, str_list *ret, struct err *e)
{
	static const char blanks[] = " \t\n";
	const char *p = text + strspn(text, blanks);
	str_list words = {0};
	struct text word;

	while (*p) {
		text_init(&word, a);
		while (*p && !strchr(blanks, *p)) {
			if (*p == '\'' || *p == '"') {
				if (!add_quoted(&word, &p))
					return err_set(e, ERR_USAGE, "'%s': a quote does not end",
						       text);
				continue;
			}
			if (*p == '\\' && p[1])
				p++;
			text_addn(&word, p++, 1);
		}
		*LIST_ADD(a, &words) = word.s;
		p += strspn(p, blanks);
	}
	*ret = words;
	return 0;
}
