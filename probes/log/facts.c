/* What a line says about the process that wrote it, without being a failure. */
#include "lib/core/text.h"
#include "probes/log/bar.h"
#include "probes/log/why.h"

#include <ctype.h>

static void copy_word(char *out, size_t size, const char *from, const char *ends)
{
	size_t n = strcspn(from, ends);

	if (n >= size)
		n = size - 1;
	memcpy(out, from, n);
	out[n] = '\0';
}

/* What follows @key in the line; "" when it is not there. */
static const char *after(const struct log_line *l, const char *key)
{
	const char *p = strstr(l->text, key);

	return p ? p + strlen(key) : "";
}

static bool number_after(const struct log_line *l, const char *key, long *ret)
{
	const char *p = after(l, key);
	char *end;

	p += strspn(p, " :=");
	if (!isdigit((unsigned char)*p))
		return false;
	*ret = strtol(p, &end, 10);
	return true;
}

static void network(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct actor *a = actors_get(&w->actors, &l->who);
	const char *p = after(l, "Using network ");

	if (a && *p)
		copy_word(a->network, sizeof(a->network), p, "\t\n");
}

static void bootstrap(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct actor *a = actors_get(&w->actors, &l->who);
	const char *p = strstr(l->text, "Bootstrap"), *name;

	if (!a || !(p = strstr(p ? p : "", "Using ")))
		return;
	p += strlen("Using ");
	name = *p == '[' && strchr(p, ']') ? strchr(p, ']') + 1 : p;
	copy_word(a->boot, sizeof(a->boot), name, ": <");
	actors_offer(&w->actors, a, p);
}

static void sockets(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct actor *a = actors_get(&w->actors, &l->who);

	if (a)
		actors_offer(&w->actors, a, after(l, "Using "));
}

static void version(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct actor *a = actors_get(&w->actors, &l->who);
	const char *p = after(l, "NCCL version ");

	if (a && isdigit((unsigned char)*p))
		copy_word(a->version, sizeof(a->version), p, " +,;)");
}

static uint64_t hex_after(const struct log_line *l, const char *key)
{
	const char *p = after(l, key);

	return *p ? strtoull(p, NULL, 16) : 0;
}

/* A process is in many communicators; its rank in the largest is its rank. */
static void init(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct actor *a = actors_get(&w->actors, &l->who);
	long rank, nranks;
	bool complete = strstr(l->text, "Init COMPLETE");

	w->healthy += complete;
	if (!a || !number_after(l, " rank ", &rank) || !number_after(l, " nranks ", &nranks))
		return;
	a->ready |= complete;
	if (nranks < a->nranks || nranks > INT32_MAX || rank >= nranks)
		return;
	a->nranks = (int)nranks;
	a->who.rank = (int)rank;
	a->gpu = hex_after(l, " busId ");
	a->comm = hex_after(l, " commId ");
}

static void channel(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct log_who nobody = {.rank = -1, .local = -1, .pid = 1};
	struct actor *a = actors_get(&w->actors, &l->who);

	if (!a)
		a = actors_get(&w->actors, &nobody);
	if (a && strstr(l->text, "/GDRDMA"))
		a->direct++;
	else if (a)
		a->bounced++;
}

static void timed_out_work(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct log_who who = l->who;
	struct actor *a;
	long seq;

	if (who.rank < 0)
		who.rank = line_rank_said(l->text);
	if (who.rank < 0 || !number_after(l, "SeqNum=", &seq))
		return;
	a = actors_get(&w->actors, &who);
	if (!a || a->seq >= 0)
		return;
	a->seq = seq;
	if (!number_after(l, "NumelIn=", &a->numel))
		a->numel = -1;
	copy_word(a->group, sizeof(a->group), after(l, "PG GUID "), " (]");
	copy_word(a->op, sizeof(a->op), after(l, "OpType="), ", )");
}

/* What torch's watchdog says of each rank when it gives up. Other groups count on their own. */
static void last_work(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct log_who who = l->who;
	const char *group = strstr(l->text, "PG ID ");
	struct actor *a;
	long begun, ended, at;

	if (who.rank < 0)
		who.rank = line_rank_said(l->text);
	a = who.rank < 0 ? NULL : actors_get(&w->actors, &who);
	if (a && !*a->group && number_after(l, "watchdog at work: ", &at) && at == a->seq)
		copy_word(a->group, sizeof(a->group), after(l, "PG GUID "), " (]");
	if (who.rank < 0 || (group && !starts_with(group, "PG ID 0 ")) ||
	    (!number_after(l, "enqueued NCCL work: ", &begun) &&
	     !number_after(l, "enqueued work: ", &begun)) ||
	    (!number_after(l, "completed NCCL work: ", &ended) &&
	     !number_after(l, "completed work: ", &ended)))
		return;
	if (!a || a->begun >= 0)
		return;
	a->begun = begun;
	a->ended = ended;
}

static void elastic(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	w->has_elastic = true;
	w->elastic_order = s->line;
	w->elastic = (struct log_who){.rank = -1, .local = -1};
}

static bool in_elastic(const struct why *w, const struct why_stream *s)
{
	return w->has_elastic && s->line > w->elastic_order && s->line < w->elastic_order + 12;
}

static void elastic_rank(struct why *w, struct why_stream *s, const struct log_line *l)
{
	long v;

	if (in_elastic(w, s) && w->elastic.rank < 0 && number_after(l, "rank      :", &v))
		w->elastic.rank = (int)v;
}

static void elastic_host(struct why *w, struct why_stream *s, const struct log_line *l)
{
	if (in_elastic(w, s) && !*w->elastic.host)
		copy_word(w->elastic.host, sizeof(w->elastic.host), after(l, "host      : "), " ");
}

static void elastic_exit(struct why *w, struct why_stream *s, const struct log_line *l)
{
	if (in_elastic(w, s) && !*w->elastic_exit)
		copy_word(w->elastic_exit, sizeof(w->elastic_exit), after(l, "exitcode  : "), " ");
}

static void finished(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	w->healthy++;
	w->finished++;
	w->progress.v[s->file].finish = s->line;
}

static void test_command(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	worlds_command(&w->worlds, l->text);
}

static void test_begun(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	worlds_begun(&w->worlds, l->text);
}

static void test_header(struct why *w, struct why_stream *s, const struct log_line *l)
{
	if (strstr(l->text, " nGpus "))
		worlds_header(&w->worlds, s->file, s->line);
}

static void test_failed(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	worlds_failed(&w->worlds);
}

static void test_ended(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	worlds_ended(&w->worlds);
}

/* The table of a benchmark begins, or slurmd is up: what came before did not keep it from
 * starting. */
static void got_going(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	enum { WENT_ON = 3 };

	w->progress.v[s->file].steps += WENT_ON;
}

/* Lightning: "GLOBAL_RANK: 0, MEMBER: 1/8", once per process. */
static void member(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	const char *p = after(l, "MEMBER: ");
	char *end;
	long which = strtol(p, &end, 10), total = *end == '/' ? strtol(end + 1, NULL, 10) : 0;

	muster_note(&w->muster[MEMBERS], which - 1, total);
	if (!w->progress_armed)
		why_watch_progress(w);
}

/* accelerate: two lines of one state. */
static void process(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct muster *m = &w->muster[PROCESSES];
	long v;

	if (number_after(l, "Num processes: ", &v)) {
		if (m->total != v)
			*m = (struct muster){.total = v};
		if (!w->progress_armed)
			why_watch_progress(w);
	} else if (number_after(l, "Process index: ", &v)) {
		muster_note(m, v, m->total);
	}
}

/* DeepSpeed's launcher on each node: "nnodes=2, num_local_procs=8, node_rank=0". */
static void launcher(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	long which, total;

	if (number_after(l, "nnodes=", &total) && number_after(l, "node_rank=", &which))
		muster_note(&w->muster[LAUNCHERS], which, total);
}

/* torchrun says its configuration on each node; they are told apart by their number alone. */
static void agent(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct muster *m = &w->muster[AGENTS];
	long v;

	if (!number_after(l, "min_nodes", &v))
		return;
	muster_note(m, m->total == v ? m->present : 0, v);
	w->nodes = v > w->nodes ? v : w->nodes;
}

static void all_came(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	w->muster[MEMBERS].is_complete = w->muster[AGENTS].is_complete = true;
}

static void nodes(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	long v;

	if ((number_after(l, "--nnodes", &v) || number_after(l, "--num_machines", &v) ||
	     number_after(l, "SLURM_NNODES", &v)) &&
	    v > w->nodes)
		w->nodes = v;
}

static void interrupted(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	w->is_interrupted = true;
}

static void traceback(struct why *w UNUSED, struct why_stream *s, const struct log_line *l UNUSED)
{
	s->traceback = s->line;
	*s->frame = '\0';
}

static bool is_library(const char *path, size_t n)
{
	static const char *const parts[] = {"/site-packages/",	  "/dist-packages/", "/lib/python",
					    "/lib64/python",	  "<frozen ",	     "<string>",
					    "/torch/distributed/"};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (memmem(path, n, parts[i], strlen(parts[i])))
			return true;
	return false;
}

/* Where the program itself was: '  File "/work/train.py", line 9, in step'. */
static void frame(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	const char *path = after(l, "  File \""), *end = strchr(path, '"'), *in, *name;
	long line;

	if (!s->traceback || !end || is_library(path, (size_t)(end - path)) ||
	    !starts_with(end, "\", line ") || !(line = strtol(end + strlen("\", line "), NULL, 10)))
		return;
	in = strstr(end, ", in ");
	name = memrchr(path, '/', (size_t)(end - path));
	name = name ? name + 1 : path;
	(void)snprintf(s->frame, sizeof(s->frame), "%.*s line %ld%.100s", (int)(end - name), name,
		       line, in ? in : "");
}

/* Somebody gives up: was a bar of a preparation on the screen? */
static void gave_up(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	enum { LOOK_BACK = 4096 };
	size_t n = (size_t)(s->at - s->buf) < LOOK_BACK ? (size_t)(s->at - s->buf) : LOOK_BACK;
	struct bar b;

	if (!bar_last(s->at - n, n, &b) || !bar_is_preparation(&b) || b.percent >= 100 ||
	    b.elapsed_s <= w->preparation_s)
		return;
	copy_word(w->preparation, sizeof(w->preparation),
		  b.what_n < sizeof(w->preparation) ? b.what : "data", "%:\r\n");
	w->preparation_percent = b.percent;
	w->preparation_s = b.elapsed_s;
}

const struct fact log_facts[] = {
	{"Using network ", 40000, network},
	{"Bootstrap : Using |Bootstrap: Using ", 40000, bootstrap},
	{"NET/Socket : Using |NET/Socket: Using ", 40000, sockets},
	{"NCCL version ", 40000, version},
	{"Init COMPLETE|Init START", 80000, init},
	{"via NET/IB/", 40000, channel},
	{"WorkNCCL(", 40000, timed_out_work},
	{"ast enqueued NCCL work: |last enqueued work: ", 40000, last_work},
	{"first observed failure", 1000, elastic},
	{"rank      :", 40000, elastic_rank},
	{"host      :", 40000, elastic_host},
	{"exitcode  :", 40000, elastic_exit},
	{"Out of bounds values : 0 OK|Avg bus bandwidth|Training complete|Training finished|"
	 "training completed|Training completed|train_runtime|exits successfully|Training done",
	 1000, finished},
	{"_perf -|_perf_mpi -", 1000, test_command},
	{"Rank  0|Rank   0|Rank 0 ", 1000, test_begun},
	{"Avg bus bandwidth", 1000, test_ended},
	{"# nThread ", 1000, test_header},
	{"Test NCCL failure|Test CUDA failure|Test failure", 1000, test_failed},
	{"# OSU MPI|#---- Benchmarking|# Benchmarking |slurmd started on |Started Slurm node "
	 "daemon",
	 100, got_going},
	{"Traceback (most recent call last)", 40000, traceback},
	{"  File \"", 40000, frame},
	{", MEMBER: ", 4000, member},
	{"Num processes: |Process index: ", 4000, process},
	{"num_local_procs=", 4000, launcher},
	{"min_nodes  ", 4000, agent},
	{"Rendezvous complete for workers|All distributed processes registered|Cluster is ready.",
	 1000, all_came},
	{"--nnodes|--num_machines|SLURM_NNODES", 1000, nodes},
	{"KeyboardInterrupt", 100, interrupted},
	{"WorkNCCL(|waitForInput|ocket Timeout|wait timeout after|CANCELLED AT |"
	 "Traceback (most recent call last)",
	 4000, gave_up},
	/* the last one: counted by why_line() itself, and only for a while after a failure */
	{"'loss':|\"loss\":|loss: |loss = | loss=| loss 0| loss 1| loss 2| loss 3| loss 4| loss 5|"
	 " loss 6| loss 7| loss 8| loss 9|train_loss|grad_norm|it/s, |s/it, |tokens/s|samples/s|"
	 "toks/s/|elapsed time per iteration|Epoch: [|Loss: |Train Epoch: |train loss |"
	 "generation throughput: |float     sum|float    none| half     sum|float16     sum",
	 UINT64_MAX, NULL},
};
const size_t log_fact_count = ARRAY_LEN(log_facts);
const size_t log_fact_progress = ARRAY_LEN(log_facts) - 1;
