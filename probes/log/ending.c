#include "probes/log/ending.h"

#include "lib/core/text.h"
#include "probes/log/said.h"
#include "probes/log/tested.h"

#include <ctype.h>

enum { NONE = -1, FAILED = 1, WELL = 0 };

/* MLPerf's harness: of the whole run, whichever rank says it. */
static bool is_mlperf_well(const struct log_line *l)
{
	return strstr(l->text, "ENDING TIMING RUN") ||
	       (strstr(l->text, "\"run_stop\"") && strstr(l->text, "\"success\""));
}

bool ending_is_whole(const struct log_line *l)
{
	static const char *const parts[] = {" epoch", " fold",	     " stage", " phase",
					    " trial", " evaluation", NULL};
	static const char *const ends[] = {"training complete",	 "training finished",
					   "training done",	 "finished training",
					   "completed training", NULL};

	if (strstr(l->text, "\"run_stop\""))
		return is_mlperf_well(l);
	for (size_t i = 0; ends[i]; i++) {
		const char *p = said_anyhow(l->text, ends[i]);
		char after[24];

		if (!p)
			continue;
		(void)snprintf(after, sizeof(after), "%.23s", p + strlen(ends[i]));
		return !said_any_anyhow(after, parts);
	}
	return true;
}

/* The number behind the last of the words for an exit code, or NONE. @ret_at: where they are. */
static long exit_code(const char *text, const char **ret_at)
{
	static const char *const words[] = {"xit status",  "xit code",	  "xitcode",	"xit_code",
					    "xited with",  "xiting with", "eturn code", "eturncode",
					    "d with code", " rc=",	  NULL};
	long code = NONE;

	for (size_t i = 0; words[i]; i++) {
		const char *p = said_anyhow(text, words[i]), *q = p ? p + strlen(words[i]) : "";

		q += starts_with(q, " non-zero") ? strlen(" non-zero") : 0;
		q += strspn(q, " :='\"(");
		q += starts_with(q, "code") || starts_with(q, "status") ? strcspn(q, " :=") : 0;
		q += strspn(q, " :='\"(");
		if (*q == '-' && isdigit((unsigned char)q[1]))
			code = FAILED;
		else if (isdigit((unsigned char)*q))
			code = strtol(q, NULL, 10);
		else
			continue;
		*ret_at = p;
		return code;
	}
	return NONE;
}

/* "12:00:05", "2025-02-02" */
static bool is_stamp(const char *p, size_t n)
{
	return isdigit((unsigned char)*p) && (memchr(p, ':', n) || memchr(p, '-', n));
}

/* The first word with a number before @end: a rank's, a container's, a process's. */
static struct subject subject_of(const char *p, const char *end)
{
	struct subject ret = {""};

	while (p < end) {
		size_t n = strcspn(p, " \t|,=()[]"), digits = strcspn(p, "0123456789");

		if (p + n > end)
			n = (size_t)(end - p);
		if (digits < n && !is_stamp(p, n)) {
			(void)snprintf(ret.name, sizeof(ret.name), "%.*s", (int)n, p);
			break;
		}
		p += n + 1;
	}
	return ret;
}

static bool is_errant(const struct ending *e, const char *name)
{
	for (unsigned i = 0; i < e->nerrants; i++)
		if (streq(e->errant[i].name, name))
			return true;
	return false;
}

static void forget(struct ending *e, const char *name)
{
	for (unsigned i = 0; i < e->nerrants;)
		if (streq(e->errant[i].name, name))
			e->errant[i] = e->errant[--e->nerrants];
		else
			i++;
}

static void ended(struct ending *e, uint64_t line, const struct log_line *l,
		  const struct subject *who, long code, bool is_next)
{
	if (code) {
		forget(e, who->name);
		if (*who->name && e->nerrants < ERRANTS)
			e->errant[e->nerrants++] = *who;
		e->is_failed = true;
		return;
	}
	forget(e, who->name);
	/* one of several ended well: no word about those that did not */
	if (*who->name && e->nerrants && !is_next)
		return;
	e->well = line;
	e->who = l->who;
	e->is_of_tests = e->is_failed = false;
}

static const char *const bad_states[] = {"FAILED",    "TIMEOUT",   "OUT_OF_ME", "NODE_FAIL",
					 "CANCELLED", "PREEMPTED", "REQUEUED",	NULL};

/* A row of sacct without a job's number: "COMPLETED  0:0", of some step. */
static long state_code(const struct log_line *l)
{
	const char *at = said_next(l->body);

	if (!isdigit((unsigned char)*at) || at[strspn(at, "0123456789")] != ':' || *said_next(at))
		return NONE;
	if (starts_with(l->body, "COMPLETED "))
		return starts_with(at, "0:0") ? WELL : NONE;
	for (size_t i = 0; bad_states[i]; i++)
		if (starts_with(l->body, bad_states[i]))
			return FAILED;
	return NONE;
}

/* A row of sacct: "8812.1  COMPLETED  0:0". Its step "extern" always ends well. */
static long row_code(const struct log_line *l)
{
	const char *const *bad = bad_states;
	bool is_row = isdigit((unsigned char)*l->body) && strstr(l->body, "0:");

	if (is_row && strstr(l->body, "COMPLETED") && strstr(l->body, "0:0"))
		return strstr(l->body, ".ext") ? NONE : WELL;
	for (size_t i = 0; bad[i]; i++) {
		const char *p = strstr(l->body, bad[i]);
		const char *colon = p ? strrchr(p, ':') : NULL;

		if (p && isdigit((unsigned char)*l->body) && colon > p &&
		    isdigit((unsigned char)colon[-1]) && isdigit((unsigned char)colon[1]))
			return FAILED;
	}
	return NONE;
}

/* "45s", "3m", "9m20s", "2d4h": as kubectl writes an age. */
static bool is_age(const char *p, size_t n)
{
	return n && isdigit((unsigned char)*p) && strchr("smhd", p[n - 1]) &&
	       strspn(p, "0123456789smhd") >= n;
}

/* The row of a job, not of a pod, of "kubectl get": "llama-sft   Complete   9m20s", "NAME STATUS
 * COMPLETIONS DURATION AGE". */
static long job_row_code(const struct log_line *l)
{
	static const char *const states[] = {"Complete ", "Completed ", "Succeeded ", "SUCCEEDED ",
					     "Failed ",	  "FAILED ",	NULL};
	const char *at = said_next(l->body), *last = l->body + strcspn(l->body, "\r\n");
	const char *end;

	if (strcspn(l->body, " ") != strspn(l->body, "abcdefghijklmnopqrstuvwxyz0123456789.-/"))
		return NONE;
	while (last > at && last[-1] == ' ')
		last--;
	for (end = last; last > at && last[-1] != ' ';)
		last--;
	if (!is_age(last, (size_t)(end - last)))
		return NONE;
	for (size_t i = 0; states[i]; i++)
		if (starts_with(at, states[i]))
			return strchr("Ff", *states[i]) ? FAILED : WELL;
	return NONE;
}

/* Somebody's words about the whole, and not about a file or a test. */
static bool is_praise(const char *text)
{
	static const char *const words[] = {
		"successfully finished", "successfully completed", "completed successfully",
		"finished successfully", "ended successfully",	   " succeeded",
		"condition met",	 "jobstate=completed",	   NULL};
	static const char *const whole[] = {"worker group", "job",     "training", "workflow",
					    "experiment",   "program", "pipeline", NULL};
	static const char *const parts[] = {"checkpoint", "upload",	"download", "eval",
					    "valid",	  "epoch",	"sav",	    "load",
					    "init",	  "rendezvous", "test",	    "started",
					    "attempt",	  "retr",	NULL};

	return said_any_anyhow(text, words) && said_any_anyhow(text, whole) &&
	       !said_any_anyhow(text, parts);
}

void ending_hear(struct ending *e, uint64_t line, const struct log_line *l)
{
	static const char *const next[] = {"attempt", "retry", "restart", "try ", NULL};
	const char *at = NULL;
	struct subject who = {""};
	long code = row_code(l);

	if (code == NONE && (code = state_code(l)) == WELL && e->is_failed)
		return; /* a step that ended well in a job that did not */
	if (strstr(l->text, "will restart worker group") ||
	    (e->again && strstr(l->text, "Rendezvous'ing worker group"))) {
		e->again = line; /* between the two it ends the ranks that are left */
	} else if (tested_sum(l) != NONE) {
		code = tested_sum(l);
		/* those that failed once are not mended by others that pass */
		(void)snprintf(who.name, sizeof(who.name), "%s", code ? "tests" : "others");
		ended(e, line, l, &who, code, false);
		e->is_of_tests |= e->well == line;
	} else if (strstr(l->body, "test session starts")) {
		e->tests = line;
	} else if (code != NONE) {
		who = subject_of(l->body, l->body + strcspn(l->body, " |\t"));
		/* sacct -D: a job that did not end well was queued again, with all its tasks */
		if (!code && is_errant(e, who.name))
			e->again = line;
		ended(e, line, l, &who, code, is_errant(e, who.name));
	} else if ((code = job_row_code(l)) != NONE) {
		said_word(who.name, sizeof(who.name), l->body, " ");
		ended(e, line, l, &who, code, false);
	} else if ((code = exit_code(l->body, &at)) != NONE) {
		who = subject_of(l->body, at);
		ended(e, line, l, &who, code, said_any_anyhow(l->body, next));
	} else if (is_mlperf_well(l)) {
		ended(e, line, l, &who, WELL, true);
		e->who = (struct log_who){.rank = -1, .local = -1};
	} else if (is_praise(l->body)) {
		ended(e, line, l, &who, WELL, true);
	}
}

bool ending_is_heal(const struct log_line *l)
{
	static const char *const bad[] = {"failed after", "giving up",	 "gave up", "exceeded",
					  "exhausted",	  "not succeed", "unsucc",  " 0 retries",
					  "(0 retr",	  NULL};
	static const char *const good[] = {"succeeded",	  "successful", " complete", "recovered",
					   "reconnected", " connected", "worked",    NULL};

	return said_any_anyhow(l->body, good) && !said_any_anyhow(l->body, bad);
}

bool ending_names(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = text; (p = strstr(p, name)); p++)
		if (p > text && p[-1] == '/' && !isalnum((unsigned char)p[n]) &&
		    !strchr("._-/", p[n] ? p[n] : ' '))
			return true;
	return false;
}

bool ending_is_of(const struct log_who *sign, const struct log_who *who)
{
	if (sign->rank >= 0 && who->rank >= 0 && sign->rank != who->rank)
		return false;
	return log_hosts_fit(sign->host, who->host);
}
