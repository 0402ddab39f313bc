/*
 * torch's own variables: what it reads them as, and names that nobody reads. A value
 * that torch cannot read ends init_process_group() (or is ignored, with a warning); a
 * name that is nearly one of torch's does nothing, silently. What torch of 1.13 to 2.15
 * does with each value is held against this in tests/diff/diff-torchenv.
 */
#include "lib/core/near.h"
#include "lib/core/quote.h"
#include "lib/host/python.h"
#include "probes/rules/named_file.h"
#include "probes/rules/rules.h"
#include "probes/rules/torch.h"

#include <errno.h>
#include <limits.h>

enum kind { BOOL, BOOL_2_8, INT, TEXT, WRITTEN, DEBUG, TRANSPORT, LEVEL, FLAG };
static const struct known {
	const char *name;
	enum kind kind;
	const char *old; /* what it was called before torch 2.2, and may still be called */
} known[] = {
	{"GLOO_DEVICE_TRANSPORT", TRANSPORT, NULL},
	{"GLOO_DISABLE_CONNECTION_RETRIES", TEXT, NULL},
	{"GLOO_ENABLE_RANK_AS_SEQUENCE_NUMBER", TEXT, NULL},
	{"GLOO_ENABLE_STORE_V2_API", TEXT, NULL},
	{"GLOO_LOG_LEVEL", TEXT, NULL},
	{"GLOO_SOCKET_IFNAME", TEXT, NULL},
	{"TORCH_CPP_LOG_LEVEL", LEVEL, NULL},
	{"TORCH_DISTRIBUTED_DEBUG", DEBUG, NULL},
	{"TORCH_FR_BUFFER_SIZE", INT, NULL},
	{"TORCH_FR_CPP_STACK", BOOL, NULL},
	{"TORCH_FR_DUMP_DYNAMIC_FILE_NAME", TEXT, NULL},
	{"TORCH_FR_DUMP_ON_TIMEOUT", BOOL, NULL},
	{"TORCH_FR_DUMP_TEMP_FILE", WRITTEN, NULL},
	{"TORCH_FR_WAIT_TIMEOUT_DUMP_MILSEC", INT, NULL},
	{"TORCH_GLOO_LAZY_INIT", BOOL_2_8, NULL},
	{"TORCH_NCCL_ASYNC_ERROR_HANDLING", INT, "NCCL_ASYNC_ERROR_HANDLING"},
	{"TORCH_NCCL_AVOID_RECORD_STREAMS", BOOL, NULL},
	{"TORCH_NCCL_BCAST_UNIQUEID", BOOL, NULL},
	{"TORCH_NCCL_BLOCKING_WAIT", BOOL, "NCCL_BLOCKING_WAIT"},
	{"TORCH_NCCL_COORD_CHECK_MILSEC", INT, NULL},
	{"TORCH_NCCL_CUDA_EVENT_CACHE", BOOL, NULL},
	{"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", TEXT, NULL},
	{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", WRITTEN, NULL},
	{"TORCH_NCCL_DESYNC_DEBUG", BOOL, "NCCL_DESYNC_DEBUG"},
	{"TORCH_NCCL_DUMP_ON_TIMEOUT", BOOL, NULL},
	{"TORCH_NCCL_ENABLE_MONITORING", BOOL, NULL},
	{"TORCH_NCCL_ENABLE_TIMING", BOOL, "NCCL_ENABLE_TIMING"},
	{"TORCH_NCCL_EXTRA_DUMP_ON_EXEC", BOOL, NULL},
	{"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", INT, NULL},
	{"TORCH_NCCL_HIGH_PRIORITY", BOOL, NULL},
	{"TORCH_NCCL_LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN", BOOL, NULL},
	{"TORCH_NCCL_NAN_CHECK", BOOL, NULL},
	{"TORCH_NCCL_NONBLOCKING_TIMEOUT", TEXT, NULL},
	{"TORCH_NCCL_PROPAGATE_ERROR", BOOL, NULL},
	{"TORCH_NCCL_RANKS_PER_ROOT", INT, NULL},
	{"TORCH_NCCL_RETHROW_CUDA_ERRORS", BOOL, NULL},
	{"TORCH_NCCL_SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", BOOL, NULL},
	{"TORCH_NCCL_TEARDOWN_ON_TIMEOUT", BOOL, NULL},
	{"TORCH_NCCL_TRACE_BUFFER_SIZE", INT, NULL},
	{"TORCH_NCCL_TRACE_CPP_STACK", BOOL, NULL},
	{"TORCH_NCCL_USE_COMM_NONBLOCKING", TEXT, NULL},
	{"TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK", BOOL,
	 "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"},
	{"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", INT, NULL},
	{"TORCH_SHOW_CPP_STACKTRACES", FLAG, NULL},
};
/* Names that begin so are torch's alone: one that is not in the table is a slip. */
static const char *const families[] = {"GLOO_", "TORCH_NCCL_", "TORCH_FR_", "TORCH_GLOO_",
				       "TORCH_DISTRIBUTED_D"};

/* --- values ------------------------------------------------------------------------ */
/* As std::stoi does: what follows the number is not looked at. */
static bool is_int(const char *v)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(v, &end, 10);
	return end != v && !errno && n >= INT_MIN && n <= INT_MAX;
}

#define BOOLEAN "1 y yes t true 0 n no f false"
#define STOPS "torch stops at it (Invalid value for environment variable)"
static const struct {
	const char *words, *wants; /* words: NULL: see is_int(); "" any */
	enum status when_not;
	const char *then; /* what torch does with another one */
	unsigned since;	  /* 208: one that is older than 2.8 does not look; 0: none is so old */
} kinds[] = {
	[BOOL] = {BOOLEAN, "1 or 0", ST_FAIL, STOPS, 0},
	[BOOL_2_8] = {BOOLEAN, "1 or 0", ST_FAIL, STOPS, 208},
	[INT] = {NULL, "a whole number", ST_FAIL, STOPS, 0},
	[TEXT] = {"", "", ST_PASS, "", 0},
	[WRITTEN] = {"", "", ST_PASS, "", 0},
	[DEBUG] = {"OFF INFO DETAIL", "OFF, INFO or DETAIL", ST_FAIL, "torch stops at it", 0},
	[TRANSPORT] = {"TCP", "TCP, in capitals, or nothing: other devices are in few builds",
		       ST_WARN,
		       "torch as it is distributed has no such device and stops (unsupported gloo "
		       "device)",
		       0},
	[LEVEL] = {"INFO WARNING ERROR FATAL 0 1 2 3", "INFO, WARNING, ERROR or FATAL", ST_WARN,
		   "torch ignores it", 0},
	[FLAG] = {"0 1", "1 or 0", ST_WARN, "torch ignores it", 0},
};

static bool can_be_read(enum kind kind, const char *v)
{
	if (kind == INT)
		return is_int(v);
	if (kind == TRANSPORT)
		return streq(v, kinds[kind].words);
	return !*kinds[kind].words || is_word_of(v, kinds[kind].words);
}

/* "2.6.0+debian" is 206; 0: there is none here to be asked. */
static unsigned version_here(struct arena *a)
{
	const char *v = python_version_of(a, "torch");
	unsigned major, minor;

	return v && sscanf(v, "%2u.%2u", &major, &minor) == 2 ? major * 100 + minor : 0;
}

static void judge_value(const struct known *k, const char *name, struct report *r)
{
	const char *v = settings_env(name);
	unsigned since = kinds[k->kind].since, here;
	struct finding *f;

	if (!v || can_be_read(k->kind, v))
		return;
	f = report_find(r, "lint.torch.value", name);
	here = since ? version_here(f->a) : 0;
	if (here && here < since)
		finding_set(f, ST_WARN, "%s='%s': torch %u.%u does not read it; from %u.%u on %s",
			    name, v, here / 100, here % 100, since / 100, since % 100,
			    kinds[k->kind].then);
	else
		finding_set(f, kinds[k->kind].when_not, "%s='%s': %s", name, v,
			    kinds[k->kind].then);
	finding_expect(f, "%s", kinds[k->kind].wants);
	finding_fix(f, "unset %s", name);
	report_add(r, f);
}

/* Where the flight recorder's dumps go, as the first part of a name (then the rank). */
static void judge_place(const struct known *k, struct report *r)
{
	const char *v = k->kind == WRITTEN ? settings_env(k->name) : NULL, *why, *dir;
	struct finding *f;

	if (!v || !*v)
		return;
	why = named_file_unwritable(report_arena(r), arena_printf(report_arena(r), "%s0", v));
	if (!why)
		return;
	f = report_find(r, "lint.torch.file", k->name);
	finding_set(f, ST_WARN, "%s0 cannot be made: %s; torch's flight recorder writes no dump", v,
		    why);
	finding_expect(f, "a place where this user may make files");
	dir = named_file_no_folder(f->a, v);
	if (dir)
		finding_fix(f, "mkdir -p %s", shell_quote(f->a, dir));
	else
		finding_fix(f, "unset %s", k->name);
	report_add(r, f);
}

/* --- names ------------------------------------------------------------------------- */
static void judge_old(const struct known *k, struct report *r)
{
	const char *v = k->old ? settings_env(k->old) : NULL, *now = settings_env(k->name);
	struct finding *f;

	if (!v)
		return;
	f = report_find(r, "lint.torch.renamed", k->old);
	if (now && !streq(now, v))
		finding_set(f, ST_WARN, "%s=%s beside %s=%s: torch 2.2 and newer go by the latter",
			    k->old, v, k->name, now);
	else
		finding_set(
			f, ST_INFO,
			"%s is torch's, not NCCL's, and %s since torch 2.2: newer ones take the "
			"old name with a warning, older ones know no other",
			k->old, k->name);
	if (now)
		finding_fix(f, "unset %s", k->old);
	else
		finding_fix(f, "export %s=%s", k->name, shell_quote(f->a, v));
	report_add(r, f);
}

static bool is_torchs(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (starts_with(name, families[i]))
			return true;
	return false;
}

static void say_meant(const char *name, const char *meant, struct report *r)
{
	struct finding *f = report_find(r, "lint.torch.name", name);

	finding_set(f, ST_WARN, "no torch up to 2.15 reads %s; %s is one that it reads", name,
		    meant);
	if (settings_env(meant))
		finding_fix(f, "unset %s", name);
	else
		finding_fix(f, "unset %s; export %s=%s", name, meant,
			    shell_quote(f->a, settings_env(name)));
	report_add(r, f);
}

static void judge_name(const char *name, struct report *r)
{
	const char *names[ARRAY_LEN(known)], *meant;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		names[i] = known[i].name;
		if (streq(name, names[i]))
			return;
	}
	meant = nearest_name(name, names, ARRAY_LEN(known));
	/* else it is one of a torch that is newer than this table, perhaps */
	if (meant && is_slip_of(name, meant))
		say_meant(name, meant, r);
}

/* TORCH_ was left out, of a name that never went without. */
static void judge_short(const struct known *k, struct report *r)
{
	const char *name = k->name + strlen("TORCH_");

	if (!k->old && starts_with(k->name, "TORCH_NCCL_") && settings_env(name))
		say_meant(name, k->name, r);
}

bool torch_knows_short(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (starts_with(known[i].name, "TORCH_") &&
		    streq(known[i].name + strlen("TORCH_"), name))
			return true;
	return false;
}

void torch_check_env(struct arena *a, struct report *r)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		judge_value(&known[i], known[i].name, r);
		judge_place(&known[i], r);
		if (known[i].old)
			judge_value(&known[i], known[i].old, r);
		judge_old(&known[i], r);
		judge_short(&known[i], r);
	}
	for (char **line = environ; *line; line++)
		if (strchr(*line, '=') && is_torchs(*line))
			judge_name(arena_strndup(a, *line, strcspn(*line, "=")), r);
}
