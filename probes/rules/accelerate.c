/* accelerate's file: where it lies, and how a launch by it would go. */
#include "probes/rules/accelerate.h"

#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/host/answers.h"
#include "lib/host/python.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/rules/nccl.h"

#include <sys/stat.h>

enum { FILE_MAX = 1 << 20 };

const char *const accelerate_keys[] = {"distributed_type", "num_machines",    "num_processes",
				       ACCELERATE_RANK,	   "main_process_ip", "main_process_port",
				       "mixed_precision",  "use_cpu",	      NULL};

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
	return home && folder_answers(home) ? arena_printf(a, "%s%s", home, *ret_shown + 1) : NULL;
}

/* In HF_HOME a ~ is as good as at the beginning of a path for a shell. */
static const char *expanded(struct arena *a, const char *path)
{
	const char *home = getenv("HOME");

	return path && home && starts_with(path, "~/") ? arena_printf(a, "%s%s", home, path + 1)
						       : path;
}

static bool is_json(const char *path)
{
	size_t n = strlen(path);

	return n >= 5 && streq(path + n - 5, ".json");
}

static unsigned version_here(struct arena *a)
{
	const char *v = python_version_of(a, "accelerate");
	char *dot = NULL;
	unsigned long major = v ? strtoul(v, &dot, 10) : 0, minor = 0;

	if (dot && *dot == '.')
		minor = strtoul(dot + 1, NULL, 10);
	return major < 100 && minor < 100 ? (unsigned)(major * 100 + minor) : 0;
}

static void parse(struct accelerate *c, const char *text, size_t n, struct arena *a)
{
	if (is_json(c->path))
		accelerate_parse_json(c, text, n, a);
	else
		accelerate_parse(c, text, n, a);
}

void accelerate_read(struct accelerate *c, const char *file, struct arena *a)
{
	const char *shown = file, *path = file;
	struct err e = {0};
	struct stat st;
	char *text;
	size_t n;

	*c = (struct accelerate){.is_named = file};
	if (!file) {
		path = expanded(a, find(a, &shown));
		path = path ? sysroot_path(a, path) : NULL;
	}
	/* as accelerate asks: what is none, or in a folder that is closed to us, is not there */
	if (!file && (!path || stat(path, &st) < 0 || !S_ISREG(st.st_mode)))
		return;
	c->path = shown;
	c->version = version_here(a);
	if (file_read(path, FILE_MAX, a, &text, &n, &e) == 0)
		parse(c, text, n, a);
	else
		c->trouble = arena_strdup(a, e.msg);
}

const struct accelerate_key *accelerate_find(const struct accelerate *c, const char *key)
{
	for (size_t i = c->keys.n; i-- > 0;)
		if (streq(c->keys.v[i].name, key))
			return &c->keys.v[i];
	return NULL;
}

enum accelerate_kind accelerate_kind(const struct accelerate *c, const char *key)
{
	const struct accelerate_key *k = accelerate_find(c, key);

	return k ? k->kind : ACCELERATE_ABSENT;
}

const char *accelerate_get(const struct accelerate *c, const char *key)
{
	const struct accelerate_key *k = accelerate_find(c, key);

	return k ? k->value : NULL;
}

long accelerate_int(const struct accelerate *c, const char *key, long otherwise)
{
	const struct accelerate_key *k = accelerate_find(c, key);
	const long most = 1L << 30; /* it is calculated with */
	uint64_t n;
	long v;

	if (!k || !k->value)
		return otherwise;
	if (k->kind == ACCELERATE_BOOL)
		return accelerate_says_yes(c, key);
	if (k->kind == ACCELERATE_TEXT)
		return parse_uint(k->value, &n) == 0 && n < (uint64_t)most ? (long)n : otherwise;
	v = strtol(k->value, NULL, 10);
	return v > most ? most : v < -most ? -most : v;
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

/* Not compared with the words: who writes NO without quotes has a false there. */
static bool is_type(const struct accelerate *c, const char *word)
{
	return accelerate_kind(c, "distributed_type") == ACCELERATE_TEXT &&
	       is(c, "distributed_type", word);
}

bool accelerate_is_single(const struct accelerate *c)
{
	return streq(accelerate_starter(c), "one process");
}

const char *accelerate_starter(const struct accelerate *c)
{
	const char *where = accelerate_get(c, "compute_environment");
	bool several = accelerate_int(c, "num_machines", 1) > 1;

	if (where && !streq(where, "LOCAL_MACHINE"))
		return "sagemaker";
	if (is_type(c, "XLA"))
		return "tpu";
	if (is_type(c, "DEEPSPEED") && several &&
	    !is(c, "deepspeed_config.deepspeed_multinode_launcher", "standard"))
		return "deepspeed";
	if (accelerate_kind(c, "distributed_type") == ACCELERATE_TEXT && !is_type(c, "NO") &&
	    !is_type(c, "MULTI_CPU") && !(is_type(c, "TP") && accelerate_is_from(c, 107)))
		return "torchrun";
	return accelerate_get(c, "mpirun_config.mpirun_hostfile") ? "mpirun" : "one process";
}

enum accelerate_way accelerate_way(const struct accelerate *c)
{
	const char *by = accelerate_starter(c);

	if (accelerate_int(c, "num_machines", 1) < 2)
		return ACCELERATE_ALONE;
	if (streq(by, "torchrun"))
		return ACCELERATE_STATIC;
	return streq(by, "one process") ? ACCELERATE_APART : ACCELERATE_OTHER_WAY;
}

bool accelerate_is_from(const struct accelerate *c, unsigned version)
{
	return !c->version || c->version >= version;
}

const char *accelerate_title(const struct accelerate *c, struct arena *a)
{
	return c->version ? arena_printf(a, "accelerate %u.%u", c->version / 100, c->version % 100)
			  : "accelerate";
}

/* 0: any free one, as torchrun on one machine. */
static long port_unsaid(const struct accelerate *c)
{
	return accelerate_is_from(c, 107) || accelerate_int(c, "num_machines", 1) > 1 ? 29500 : 0;
}

void accelerate_data(const struct accelerate *c, struct report *r, struct arena *a)
{
	const struct accelerate_refusal *no = c->path ? accelerate_refuses(c, NULL, a) : NULL;
	long machines = accelerate_int(c, "num_machines", 1);
	long processes = accelerate_int(c, "num_processes", 1);
	cJSON *o;

	if (!c->path || c->trouble || !report_wants_data(r))
		return;
	o = json_object(report_data(r), "accelerate");
	json_str(o, "file", c->path);
	if (no && !no->is_guess) {
		json_str(o, "refused",
			 arena_printf(a, "%s%s%s", no->key, *no->key ? " " : "", no->why));
		return;
	}
	machines = machines < 1 ? 1 : machines;
	json_str(o, "by", accelerate_starter(c));
	json_num(o, "machines", (double)machines);
	if (!streq(accelerate_starter(c), "torchrun"))
		return;
	json_num(o, ACCELERATE_RANK,
		 machines > 1 ? (double)accelerate_int(c, ACCELERATE_RANK, 0) : 0);
	json_num(o, "processes_here", (double)(processes / machines));
	json_num(o, "world", (double)(processes / machines * machines));
	json_str(o, "address", machines > 1 ? accelerate_address(c, a) ?: "None" : "127.0.0.1");
	json_num(o, "port", (double)accelerate_int(c, "main_process_port", port_unsaid(c)));
}

const char *accelerate_address(const struct accelerate *c, struct arena *a)
{
	const char *ip = accelerate_get(c, "main_process_ip");
	size_t n;

	if (!ip)
		return NULL;
	ip += strspn(ip, " \t");
	n = strlen(ip);
	return n > 2 && ip[0] == '[' && ip[n - 1] == ']' ? arena_strndup(a, ip + 1, n - 2) : ip;
}

static const char *fix_json(struct arena *a, const char *file, const char *key, const char *value)
{
	size_t n = strlen(value);
	bool is_bare = !n || !value[strspn(value, "0123456789")] || streq(value, "true") ||
		       streq(value, "false");
	const char *word = *value == '\'' ? arena_strndup(a, value + 1, n - 2) : value;
	const char *filter = !n ? arena_printf(a, "del(.%s)", key)
				: arena_printf(a, is_bare ? ".%s = %s" : ".%s = \"%s\"", key, word);

	return arena_printf(a, "jq %s %s >%s.new && mv %s.new %s || rm -f %s.new   # needs jq",
			    shell_quote(a, filter), file, file, file, file, file);
}

/* Names are the file's own: what a shell, sed or jq would read as more than a name is in none. */
static bool is_word(const char *key)
{
	for (const char *p = key; *p; p++)
		if (*p != '_' && *p != '.' && !(*p >= '0' && *p <= '9') &&
		    !(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z'))
			return false;
	return *key && !(*key >= '0' && *key <= '9');
}

const char *accelerate_fix(struct arena *a, const char *path, const char *key, const char *value)
{
	const char *file = shell_quote_path(a, path), *line = arena_printf(a, "%s: %s", key, value);
	const char *leaf = strchr(key, '.');

	if (!is_word(key))
		return arena_printf(a, "accelerate config --config_file %s   # asks anew", file);
	if (is_json(path))
		return fix_json(a, file, key, value);
	if (!*value) /* with what is below it; the items of a list may stand at the margin */
		return arena_printf(a, "sed -i '/^%s:/,/^[^ -]/{/^%s:/d;/^[ -]/d}' %s", key, key,
				    file);
	if (leaf)
		return arena_printf(a, "sed -i %s %s",
				    shell_quote(a, arena_printf(a, "s/^\\( *%s:\\).*/\\1 %s/",
								leaf + 1, value)),
				    file);
	/* the last line may have no end */
	return arena_printf(a, "sed -i '/^%s:/d' %s && printf '\\n%%s\\n' %s >>%s", key, file,
			    shell_quote(a, line), file);
}
