#include "probes/log/shell.h"

#include "probes/log/said.h"
#include "probes/log/why.h"

#include <ctype.h>

/* "ssh -p 22 root@node3 'sudo dmesg", "srun -w node3 dmesg": the first word that is no option, and
 * no option's value. */
static void asked_host(const char *p, const char *dmesg, char *ret, size_t size)
{
	const char *at;

	for (size_t n; *p == '-' && p < dmesg; p += n, p += strspn(p, " \t")) {
		bool has_value = strchr("bcDeFIiJLlmopQRSWw", p[1]) && strchr(" \t", p[2]);

		n = strcspn(p, " \t");
		if (has_value) {
			n += strspn(p + n, " \t");
			n += strcspn(p + n, " \t");
		}
	}
	if (p >= dmesg)
		return;
	said_word(ret, size, p, " \t'\"");
	at = strchr(ret, '@');
	if (at)
		memmove(ret, at + 1, strlen(at));
}

/* "[node3] $ ...", "node3> ...": a word of a name alone, and the sign behind it. */
static bool bare_host(const char *text, char *ret, size_t size)
{
	bool is_boxed = *text == '[';
	size_t n;

	text += is_boxed;
	n = strcspn(text, " \t]>$#@:()=/\"'");
	if (!n || !isalpha((unsigned char)*text) ||
	    !(is_boxed ? starts_with(text + n, "] $ ") || starts_with(text + n, "] # ")
		       : starts_with(text + n, "> ")))
		return false;
	(void)snprintf(ret, size, "%.*s", (int)n, text);
	return true;
}

/* "root@node3:~# sudo dmesg", "(env) [me@node3 ~]$ dmesg", "node3# dmesg", "[node3]$ dmesg" */
static void prompt_host(const char *text, const char *dmesg, char *ret, size_t size)
{
	const char *sign = strpbrk(text, "$#"), *at = strchr(text, '@'), *env = strstr(text, ") ");

	if (bare_host(text, ret, size))
		return;
	if (!sign || sign > dmesg || sign[1] != ' ')
		return;
	if (*text == '(' && env && env < sign)
		text = env + 2;
	text += *text == '[';
	if (at && at < sign)
		said_word(ret, size, at + 1, ":]~ $#\t");
	else if (isalpha((unsigned char)*text) && strcspn(text, " \t") > (size_t)(sign - text))
		said_word(ret, size, text, ":$#~]");
}

/* "$h" of a loop, "n[1-3]", "n1,n2" and "<node>" are none. */
static bool is_host(const char *s)
{
	return !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_-")];
}

void shell_host(const char *text, const char *command, char *ret, size_t size)
{
	static const char *const ways[] = {"ssh ", "srun -w ", "srun -w", "--nodelist="};
	const char *p = NULL;

	*ret = '\0';
	for (size_t i = 0; i < ARRAY_LEN(ways) && !p; i++)
		if ((p = strstr(text, ways[i])))
			p += strlen(ways[i]);
	if (p && p < command)
		asked_host(p, command, ret, size);
	else
		prompt_host(text, command, ret, size);
	if (!is_host(ret))
		*ret = '\0';
}

void shell_hear(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	const char *dmesg = strstr(l->text, "dmesg");

	s->dmesg[0] = '\0';
	if (dmesg)
		shell_host(l->text, dmesg, s->dmesg, sizeof(s->dmesg));
}

void shell_fill(const struct why_stream *s, struct log_line *l)
{
	bool is_kernels = l->clock == CLOCK_KIND_UPTIME ||
			  (l->clock == CLOCK_KIND_DATE && l->text[0] == '[' &&
			   isalpha((unsigned char)l->text[1]));

	if (is_kernels && *s->dmesg && !*l->who.host)
		(void)snprintf(l->who.host, sizeof(l->who.host), "%s", s->dmesg);
}
