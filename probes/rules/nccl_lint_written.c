/* Settings that name a file to be written: NCCL goes on without it. */
#include "lib/core/quote.h"
#include "lib/host/sysroot.h"
#include "probes/rules/named_file.h"
#include "probes/rules/nccl_lint.h"

static const struct written {
	const char *name;
	const char *without; /* what becomes of it where the file cannot be made */
} all[] = {
	{"NCCL_DEBUG_FILE", "the log goes to stdout, and nothing says so"},
	{"NCCL_TOPO_DUMP_FILE", "NCCL goes on without that file"},
	{"NCCL_GRAPH_DUMP_FILE", "NCCL goes on without that file"},
};

static const struct written *written_of(const struct setting *s)
{
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (streq(all[i].name, s->name))
			return &all[i];
	return NULL;
}

/* %h: the host's name, up to its first dot; %p: the process; %%: a percent sign. */
static const char *expanded(const struct lint *l, const char *value)
{
	const char *host = l->in->inv->hostname ?: "";
	struct text t;

	text_init(&t, report_arena(l->r));
	for (; *value; value++) {
		if (*value != '%' || !value[1]) {
			text_addn(&t, value, 1);
			continue;
		}
		value++;
		if (*value == 'h')
			text_addn(&t, host, strcspn(host, "."));
		else if (*value == 'p')
			text_addf(&t, "%d", (int)getpid());
		else
			text_addf(&t, "%s%c", *value == '%' ? "" : "%", *value);
	}
	return t.s;
}

static void advise(struct finding *f, const struct setting *s, const char *path)
{
	const char *dir = named_file_no_folder(f->a, path), *home = nccl_home(f->a, 0);

	if (starts_with(s->value, "~/") && home)
		lint_fix(f, s, s->name, arena_printf(f->a, "%s%s", home, s->value + 1));
	else if (dir)
		finding_fix(f, "mkdir -p %s", shell_quote(f->a, dir));
	else
		lint_unset(f, s);
}

/* NCCL opens its log only where it is to say something. */
static bool is_never_made(const struct lint *l, const struct setting *s)
{
	const char *level = nccl_value(l->in, "NCCL_DEBUG");
	struct finding *f;

	if (!streq(s->name, "NCCL_DEBUG_FILE") || (level && strcasecmp(level, "VERSION")))
		return false;
	f = lint_find(l, "lint.file", s);
	finding_set(f, ST_INFO, "%s is not made without NCCL_DEBUG=WARN, INFO or more", s->value);
	finding_expect(f, "NCCL_DEBUG=INFO beside it");
	report_add(l->r, f);
	return true;
}

void lint_written(const struct lint *l, const struct setting *s)
{
	const char *path, *why;
	struct finding *f;

	if (!*s->value || is_never_made(l, s))
		return;
	path = streq(s->name, "NCCL_DEBUG_FILE") ? expanded(l, s->value) : s->value;
	why = named_file_unwritable(report_arena(l->r), path);
	if (!why)
		return;
	f = lint_find(l, "lint.file", s);
	finding_set(f, ST_WARN, "%s cannot be made: %s%s; %s", s->value, why,
		    *s->value == '~' ? " (~ is no home folder there)" : "", written_of(s)->without);
	finding_expect(f, "a place where this user may make files");
	advise(f, s, path);
	report_add(l->r, f);
}
