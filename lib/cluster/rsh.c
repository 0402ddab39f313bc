#include "lib/cluster/rsh.h"

int rsh_words(const char *given, const char *ours, struct arena *a, str_list *ret,
	      struct rsh_way *ret_way, struct err *e)
{
	const char *rsh = given ?: getenv("WINDSOCK_RSH");
	bool own = !rsh || !*rsh;
	str_list words = {0};

	if (split_words(own ? ours : rsh, a, &words, e) < 0)
		return -1;
	if (!words.n)
		return err_set(e, ERR_USAGE, "the remote shell (--rsh, WINDSOCK_RSH) is blank");
	for (size_t i = 0; i < words.n; i++)
		*LIST_ADD(a, ret) = words.v[i];
	*LIST_ADD(a, &words) = NULL;
	*ret_way = (struct rsh_way){words.v[0], own ? "ssh" : shell_quote_words(a, words.v)};
	return 0;
}

const char *rsh_typed(const char *given)
{
	if (!given)
		given = getenv(RSH_TYPED) ?: getenv("WINDSOCK_RSH");
	return given && *given ? given : "ssh";
}
