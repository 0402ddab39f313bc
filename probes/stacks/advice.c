#include "probes/stacks/advice.h"

#include "probes/stacks/words.h"

/* By kind: what is looked at, and what helps. */
static const struct {
	const char *subject;
	const char *fix[ADVICE_FIXES];
} known[STAND_KINDS] = {
	[STAND_DATA] = {"data",
			{"- its next batch does not come: is the storage that it reads slow or "
			 "away, did a worker die, does it have fewer samples than the others?",
			 "df -h .; mount | grep -E 'nfs|lustre|fuse'   # on its host", NULL}},
	[STAND_SAVING] = {"checkpoint",
			  {"- it writes or reads a checkpoint, and the others are in a collective "
			   "already: let them wait behind it with a timeout that is long enough "
			   "(init_process_group(timeout=...)), or save on all ranks",
			   NULL}},
	[STAND_COMPILING] = {"compiling",
			     {"- it compiles what the others have compiled already, or other "
			      "shapes: let all see the same shapes, and share the cache "
			      "(TORCHINDUCTOR_CACHE_DIR on local disk)",
			      NULL}},
	[STAND_IMPORTING] = {"importing",
			     {"- it still loads modules: is the environment on a slow file system "
			      "(NFS)? Copy it to the host's own disk",
			      NULL}},
	[STAND_LOCK] =
		{"lock",
		 {"- where no process compiles or downloads, one that was killed left its "
		  "lock: remove it (of an extension of PyTorch's the file lock in its folder "
		  "of TORCH_EXTENSIONS_DIR, ~/.cache/torch_extensions)",
		  NULL}},
	[STAND_SERVICE] = {"service",
			   {"- it waits for the answer of another program: does that run, and "
			    "answer?",
			    NULL}},
	[STAND_IDLE] = {"idle",
			{"- it was not given the step that the others are in, or came back from "
			 "it: does its log have an error?",
			 "- the process that hands out the work may hang itself: ncclwhy "
			 "--stacks=PID of the engine",
			 NULL}},
	[STAND_ENDING] = {"ending",
			  {"- it is through with its program, and the others are not: fewer "
			   "batches there (drop_last=True, or with model.join()), an early return, "
			   "an exception that was swallowed",
			   NULL}},
	[STAND_BACKWARD] = {"backward",
			    {"- it still computes: is its host or GPU slower than the others "
			     "(ncclbench --find-slow, ddpsmoke)?",
			     NULL}},
	[STAND_ELSEWHERE] = {"program",
			     {"- make every rank come to that collective, or none: a branch on the "
			      "rank (if rank == 0) must not hold one",
			      NULL}},
};

static const char *worker_of(const struct stand *s, struct arena *a)
{
	for (size_t i = 0; i < s->n_workers; i++) {
		const struct stand_worker *w = &s->workers[i];

		if (w->own.function && !stand_is_library(w->own.file))
			return arena_printf(a, "; its worker %d is in %s (%s)%s", (int)w->pid,
					    w->own.function, stacks_place(a, &w->own),
					    stacks_stuck(a, w));
	}
	return "";
}

/* Nothing hangs there: what it started takes its time. */
static void advise_below(const struct stand *s, struct advice *ret)
{
	memset(ret->fix, 0, sizeof(ret->fix));
	ret->fix[0] = s->kind == STAND_DATA
			      ? "- its workers still make the next batch: more of them "
				"(num_workers), or less to do for each sample"
			      : "- let the others wait behind it with a timeout that is long "
				"enough: init_process_group(timeout=...)";
}

void advice_astray(const struct stand *s, const struct stand *waiter, struct arena *a,
		   struct advice *ret)
{
	enum stand_kind kind = known[s->kind].subject ? s->kind : STAND_ELSEWHERE;

	*ret = (struct advice){.subject = known[kind].subject, .worker = ""};
	memcpy(ret->fix, known[kind].fix, sizeof(ret->fix));
	if (s->kind == STAND_DATA)
		ret->worker = worker_of(s, a);
	if (kind == STAND_ELSEWHERE && waiter->kind == STAND_MEETING)
		*ret = (struct advice){
			.subject = "late",
			.fix = {"- it does something before it meets the others (a download, a "
				"data "
				"set that is prepared): let it do that afterwards, behind a "
				"barrier, "
				"or the others wait longer: init_process_group(timeout=...)",
				NULL},
			.worker = ""};
	if (s->kind == STAND_SERVICE)
		ret->fix[1] = arena_printf(a, "sudo ss -tnp | grep pid=%d,   # on its host: whose",
					   (int)s->pid);
	else if (stand_below_works(s) && !s->moved && !stand_works(s))
		advise_below(s, ret);
}

void advice_together(const struct stand *s, size_t ranks, struct arena *a, struct advice *ret)
{
	bool lacks = s->size > (int)ranks;

	*ret = (struct advice){.subject = "together", .worker = ""};
	ret->fix[0] = lacks ? "ncclwhy --stacks --hosts HOSTS   # all hosts of the job: who is "
			      "elsewhere?"
			    : "windsock --hosts HOSTS   # the network between them, and their GPUs";
	if (s->kind == STAND_MEETING && lacks)
		ret->fix[1] = arena_printf(a,
					   "- %d ranks have not come yet: are they started, and "
					   "do they reach the master (portcheck MASTER)?",
					   s->size - (int)ranks);
	else
		ret->fix[1] = "- a large collective may just take that long: look again; with "
			      "NCCL_DEBUG=INFO in the next run ncclwhy says what it goes through";
}

void advice_order(bool sure, struct advice *ret)
{
	*ret = (struct advice){.subject = "order",
			       .fix = {sure ? "- call the same collectives in the same order on "
					      "every rank: look at "
					      "the branch that parts them"
					    : "- within one group that never ends: call the same "
					      "in the same order; "
					      "where these are several groups, one waits for "
					      "another: who holds the "
					      "last of them up?",
				       NULL},
			       .worker = ""};
}

void advice_missing(bool ended, bool asked, struct advice *ret)
{
	*ret = (struct advice){
		.subject = ended ? "missing" : "elsewhere",
		.fix = {ended ? "- the log of that rank says why it ended: an exception, a signal, "
				"out of memory (dmesg)"
			: asked ? "- ask the job's other hosts, too: --hosts with all of them"
				: "ncclwhy --stacks --hosts HOSTS   # all hosts of the job",
			NULL},
		.worker = ""};
}

void advice_again(const struct stand *s, struct advice *ret)
{
	*ret = (struct advice){
		.subject = "ranks",
		.fix = {"ncclwhy --stacks   # again in a minute: is it still there?", NULL},
		.worker = ""};
	if (s->kind == STAND_LOCK)
		ret->fix[1] = known[STAND_LOCK].fix[0];
}
