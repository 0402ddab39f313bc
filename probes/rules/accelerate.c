/*
 * accelerate's file. A mapping of plain values, one a line, as yaml.safe_dump() writes it and
 * people change it: for that little a YAML library would be one more thing to install.
 */
#include "probes/rules/accelerate.h"

#include "lib/cluster/child.h"
#include "lib/core/file.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "probes/rules/nccl.h"

#include <sys/stat.h>

enum { FILE_MAX = 1 << 20, KEYS_MAX = 256 };

const char *const accelerate_keys[] = {"distributed_type",
				       "num_machines",
				       "num_processes",
				       ACCELERATE_RANK,
				       "main_process_ip",
				       "main_process_port",
				       "rdzv_backend",
				       "same_network",
				       "mixed_precision",
				       "use_cpu",
				       NULL};

/* --- a line of it ------------------------------------------------------------------------- */
/* The bytes up to a comment, without blanks at their end. */
static size_t plain_length(const char *s, size_t n)
{
	size_t end = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '#' && (i == 0 || s[i - 1] == ' ' || s[i - 1] == '\t'))
			break;
		if (!strchr(" \t\r", s[i]))
			end = i + 1;
	}
	return end;
}

/* Between quotes; '' is one of them within ''. NULL: it goes on in the next line. */
static const char *quoted(const char *s, size_t n, struct arena *a)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 1; i < n; i++) {
		if (s[i] == *s && (*s != '\'' || i + 1 == n || s[++i] != '\''))
			return t.s;
		text_addn(&t, s + i, 1);
	}
	return NULL;
}

static const char *value_of(const char *s, size_t n, struct arena *a)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
	const char *v;

	while (n && (*s == ' ' || *s == '\t')) {
		s++;
		n--;
	}
	if (n && (*s == '\'' || *s == '"'))
		return quoted(s, n, a);
	if (n && strchr("{[|>&*!", *s))
		return NULL;
	v = arena_strndup(a, s, plain_length(s, n));
	for (size_t i = 0; i < ARRAY_LEN(nulls); i++)
		if (streq(v, nulls[i]))
			return NULL;
	return v;
}

/* Of what stands below another key only DeepSpeed's launcher matters, whose name is its own. */
static void add_line(struct accelerate *c, const char *line, size_t n, unsigned number,
		     struct arena *a)
{
	size_t indent = 0, len;
	const char *colon = memchr(line, ':', n), *value;

	while (indent < n && line[indent] == ' ')
		indent++;
	if (!colon || c->keys.n == KEYS_MAX || strchr("#-\t", line[indent]))
		return;
	len = (size_t)(colon - line);
	if ((len + 1 < n && !strchr(" \t\r", colon[1])) || len == indent ||
	    (indent && !starts_with(line + indent, "deepspeed_multinode_launcher:")))
		return;
	value = value_of(colon + 1, n - len - 1, a);
	*LIST_ADD(a, &c->keys) =
		(struct setting){.name = arena_strndup(a, line + indent, len - indent),
				 .value = value,
				 .origin = arena_printf(a, "%s:%u", c->path ?: "-", number)};
}

void accelerate_parse(struct accelerate *c, const char *text, size_t n, struct arena *a)
{
	for (unsigned number = 1; n; number++) {
		const char *nl = memchr(text, '\n', n);
		size_t len = nl ? (size_t)(nl - text) : n, step = len + (nl != NULL);
		const char *line = arena_strndup(a, text, len); /* to its first NUL */

		add_line(c, line, strlen(line), number, a);
		text += step;
		n -= step;
	}
}

/* --- the file ------------------------------------------------------------------------------- */
/* @where it lies, and how people type that. */
static const char *find(struct arena *a, const char **ret_shown)
{
	static const char name[] = "accelerate/default_config.yaml";
	const char *hf = getenv("HF_HOME"), *cache = getenv("XDG_CACHE_HOME"), *home;

	if (hf) /* also an empty one: Python's get() asks whether it is there */
		return *ret_shown = arena_printf(a, "%s%s%s", hf, *hf ? "/" : "", name);
	if (cache)
		return *ret_shown = arena_printf(a, "%s%shuggingface/%s", cache, *cache ? "/" : "",
						 name);
	*ret_shown = arena_printf(a, "~/.cache/huggingface/%s", name);
	home = getenv("HOME") ?: nccl_home(a, 0);
	return home ? arena_printf(a, "%s%s", home, *ret_shown + 1) : NULL;
}

/* In HF_HOME a ~ is as good as at the beginning of a path for a shell. */
static const char *expanded(struct arena *a, const char *path)
{
	const char *home = getenv("HOME");

	return path && home && starts_with(path, "~/") ? arena_printf(a, "%s%s", home, path + 1)
						       : path;
}

void accelerate_read(struct accelerate *c, struct arena *a)
{
	const char *shown, *path = expanded(a, find(a, &shown));
	struct err e = {0};
	struct stat st;
	char *text;
	size_t n;

	*c = (struct accelerate){0};
	path = path ? sysroot_path(a, path) : NULL;
	/* as accelerate asks: what is none, or in a folder that is closed to us, is not there */
	if (!path || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	c->path = shown;
	if (file_read(path, FILE_MAX, a, &text, &n, &e) == 0)
		accelerate_parse(c, text, n, a);
	else
		c->trouble = arena_strdup(a, e.msg);
}

const char *accelerate_get(const struct accelerate *c, const char *key)
{
	for (size_t i = c->keys.n; i-- > 0;)
		if (streq(c->keys.v[i].name, key))
			return c->keys.v[i].value;
	return NULL;
}

long accelerate_number(const struct accelerate *c, const char *key)
{
	const char *v = accelerate_get(c, key);
	uint64_t n;

	return v && parse_uint(v, &n) == 0 && n < 1u << 30 ? (long)n : -1;
}

/* YAML 1.1's words, as Python's parser has them. */
bool accelerate_says_yes(const struct accelerate *c, const char *key)
{
	static const char *const words[] = {"true", "yes", "on"};
	const char *v = accelerate_get(c, key);

	for (size_t i = 0; v && i < ARRAY_LEN(words); i++)
		if (!strcasecmp(v, words[i]))
			return true;
	return false;
}

/* --- what it means -------------------------------------------------------------------------- */
static bool is(const struct accelerate *c, const char *key, const char *word)
{
	return streq(accelerate_get(c, key) ?: "", word);
}

/* Not a word of it where the launcher is torchrun. */
static bool by_others(const struct accelerate *c)
{
	const char *where = accelerate_get(c, "compute_environment");

	return (where && !streq(where, "LOCAL_MACHINE")) || is(c, "distributed_type", "XLA") ||
	       is(c, "distributed_type", "TPU") || is(c, "distributed_type", "MULTI_CPU") ||
	       (is(c, "distributed_type", "DEEPSPEED") &&
		!is(c, "deepspeed_multinode_launcher", "standard"));
}

enum accelerate_way accelerate_way(const struct accelerate *c)
{
	if (accelerate_number(c, "num_machines") < 2)
		return ACCELERATE_ALONE;
	if (by_others(c))
		return ACCELERATE_OTHER;
	if (is(c, "distributed_type", "NO"))
		return ACCELERATE_APART;
	return streq(accelerate_get(c, "rdzv_backend") ?: "static", "static") ? ACCELERATE_STATIC
									      : ACCELERATE_C10D;
}

/* A path as a shell takes it, its ~ still one. */
static const char *typed(struct arena *a, const char *path)
{
	return starts_with(path, "~/") ? arena_printf(a, "~/%s", shell_quote(a, path + 2))
				       : shell_quote(a, path);
}

const char *accelerate_fix(struct arena *a, const char *path, const char *key, const char *value)
{
	const char *file = typed(a, path), *line = arena_printf(a, "%s: %s", key, value);

	return arena_printf(a, "sed -i '/^%s:/d' %s && echo %s >>%s", key, file,
			    shell_quote(a, line), file);
}
