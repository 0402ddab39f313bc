/* What a line says about the process that wrote it, or its job, without being a failure. */
#include "probes/log/astray.h"
#include "probes/log/dumps.h"
#include "probes/log/gather.h"
#include "probes/log/gid.h"
#include "probes/log/heal.h"
#include "probes/log/hear.h"
#include "probes/log/measured.h"
#include "probes/log/preparing.h"
#include "probes/log/room.h"
#include "probes/log/said.h"
#include "probes/log/settings.h"
#include "probes/log/shell.h"
#include "probes/log/tested.h"
#include "probes/log/why.h"

static void init(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct actor *a = actors_get(&w->actors, &l->who);

	if (!hear_init(&w->actors, l))
		return;
	w->healthy++;
	if (a)
		a->ready_at = w->order;
}

static void network(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	struct actor *a = actors_get(&w->actors, &l->who);

	hear_network(&w->actors, l);
	if (a)
		a->network_at = w->order;
}

static void elastic(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	elastic_begun(&w->elastic, s->file, s->line);
}

static void elastic_detail(struct why *w, struct why_stream *s, const struct log_line *l)
{
	elastic_hear(&w->elastic, s->file, s->line, l);
}

static void rank_ended(struct why *w, struct why_stream *s, const struct log_line *l)
{
	exits_hear(&w->exits, s->file, s->line, w->order, l);
}

static void restarted(struct why *w, struct why_stream *s, const struct log_line *l)
{
	exits_restart(&w->exits, s->file, s->line, w->order, l);
}

static void rank_forced(struct why *w, struct why_stream *s, const struct log_line *l)
{
	exits_force(&w->exits, &w->a, s->file, l);
}

static void rank_alone(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	w->exits.is_only_one = true;
}

static void endpoint(struct why *w, struct why_stream *s, const struct log_line *l)
{
	endpoints_hear(&w->endpoints, s->file, s->line, l);
}

static void finished(struct why *w, struct why_stream *s, const struct log_line *l)
{
	if (!ending_is_whole(l))
		return;
	w->healthy++;
	w->finished++;
	w->progress.v[s->file].finish = s->line;
	w->progress.v[s->file].finisher = l->who;
}

static void job_ended(struct why *w, struct why_stream *s, const struct log_line *l)
{
	ending_hear(&w->progress.v[s->file].ending, s->line, l);
}

static void event_count(struct why *w, struct why_stream *s, const struct log_line *l)
{
	kubetimes_count(&w->kubetimes, s->file, s->line, l);
}

static void event_seen(struct why *w, struct why_stream *s, const struct log_line *l)
{
	kubetimes_seen(&w->kubetimes, &w->a, s->file, s->line, l);
}

static void pod_runs(struct why *w, struct why_stream *s, const struct log_line *l)
{
	podrows_hear(&w->podrows, &w->a, l, w->order);
	shown_pod(w, s, l);
}

static void task_late(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	tasks_hear(&w->tasks, l);
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

static void launched(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	launches_begun(&w->launches);
}

static void launch_refused(struct why *w, struct why_stream *s UNUSED,
			   const struct log_line *l UNUSED)
{
	launches_refused(&w->launches);
}

/* The table of a benchmark begins, or a server is up: what came before did not keep it from
 * starting. */
static void got_going(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	enum { WENT_ON = 3 };

	w->progress.v[s->file].steps += WENT_ON;
}

static void stalled(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	sequel_begin(s, SEQUEL_STALL, l);
}

static void efa(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	w->uses_efa = true;
}

static void ddp(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	w->has_ddp = true;
}

/* vLLM's, of a signal that somebody sent. */
static void told_to_end(struct why *w, struct why_stream *s, const struct log_line *l UNUSED)
{
	struct log_progress *p = &w->progress.v[s->file];

	p->told = p->told ? p->told : s->line;
}

static void interrupted(struct why *w, struct why_stream *s UNUSED, const struct log_line *l UNUSED)
{
	w->is_interrupted = true;
}

static void ignored(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	ignored_begin(&s->ignored, s->line, l);
}

static void traceback(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	ignored_traceback(&s->ignored, s->line, l);
	s->traceback = s->line;
	*s->frame = '\0';
	s->innermost = FRAME_NONE;
}

/* Where the program itself was: '  File "/work/train.py", line 9, in step'. */
static void frame(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	const char *path = said_after(l, "  File \""), *end = strchr(path, '"'), *in, *name;
	long line;

	if (end)
		sequel_begin(s, SEQUEL_EXCEPTION, l);
	if (!s->traceback || !end)
		return;
	s->innermost = frame_owner(path, (size_t)(end - path));
	s->in_module = strstr(end, ", in <module>");
	if (s->innermost != FRAME_PROGRAM || !starts_with(end, "\", line ") ||
	    !(line = strtol(end + strlen("\", line "), NULL, 10)))
		return;
	in = strstr(end, ", in ");
	name = frame_file(path, (size_t)(end - path));
	(void)snprintf(s->frame, sizeof(s->frame), "%.*s line %ld%.100s", (int)(end - name), name,
		       line, in ? in : "");
}

/* Of a watchdog: "Stack trace of the failed collective: ". */
static void stack(struct why *w UNUSED, struct why_stream *s, const struct log_line *l)
{
	sequel_begin(s, SEQUEL_STACK, l);
}

static void summoned(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	summons_hear(&w->summons, l);
}

/* NCCL's "cudaDev 0 nvmlDev 0 busId 5d000", torch's "GPU 0; 4.75 GiB total capacity". */
static void gpu_at_work(struct why *w, struct why_stream *s, const struct log_line *l)
{
	struct log_progress *p = &w->progress.v[s->file];
	long rank;

	p->gpu = s->line;
	p->gpu_owner = l->who;
	if (l->who.rank < 0 && said_number(l, " rank ", &rank))
		p->gpu_owner.rank = (int)rank;
}

const struct fact log_facts[] = {
	{"Using network ", 40000, .learn = network},
	{"Bootstrap : Using |Bootstrap: Using ", 40000, .hear = hear_bootstrap},
	{"NET/Socket : Using |NET/Socket: Using ", 40000, .hear = hear_sockets},
	{"NET/IB : Using |NET/IB: Using ", 40000, .hear = hear_ports},
	{" busId |GiB total capac|has a total capac", 4000, .learn = gpu_at_work},
	{TRANSPORT_SETTINGS, 4000, .learn = settings_hear},
	{"NCCL_IB_HCA set", 40000, .hear = hear_hca},
	{"NCCL version|RCCL version", 40000, .hear = hear_version},
	{"Init COMPLETE|Init START", 80000, .learn = init},
	{"via NET/IB/", 40000, .hear = hear_channel},
	{"via NET/Socket/", 40000, .hear = hear_socket_channel},
	{" via NET/| via P2P/| via SHM/| via direct shared| via COLLNET/", SETUP_CHANNELS_ENOUGH,
	 .learn = setup_hear_channel},
	{" coll channels", 40000, .learn = setup_hear_counts},
	{" nNodes ", 40000, .learn = setup_hear_nodes},
	{"NVLS multicast support", 40000, .learn = setup_hear_nvls},
	{"Connected all ", 1000, .learn = setup_hear_connected},
	{"NET/Plugin|TUNER/Plugin|NET/OFI|etwork plugin |itialize NET plugin", 4000,
	 .learn = setup_hear_plugin},
	{"NET/IB : |NET/IB: ", 40000, .learn = setup_hear_cards},
	{"GPU Direct RDMA ", 40000, .learn = setup_hear_gdr},
	{"P2P is disabled between", 100, .learn = setup_hear_p2p},
	{"Init timings", 80000, .learn = setup_hear_times},
	{" set by environment to ", 40000, .learn = setup_hear_setting},
	{"commit=|commit: |git_commit|git_sha|git_hash|git_rev|torch=|torch: |torch_version|torch "
	 "version|torch 2.|transformers=|transformers: |deepspeed=|python=|python: 3.",
	 4000, .learn = traits_hear},
	{"> mtu ", 1000, .learn = traits_hear_link},
	{"WorkNCCL(", 40000, .hear = hear_timed_out_work},
	{"ast enqueued NCCL work: |last enqueued work: ", 40000, .hear = hear_last_work},
	{"first observed failure", 1000, .learn = elastic},
	{"rank      :|host      :|exitcode  :", 80000, .learn = elastic_detail},
	{"failed (exitcode: ", 4000, .learn = rank_ended},
	{"will restart worker group", 100, .learn = restarted},
	{"forcefully exiting via", FORCED_MAX, .learn = rank_forced},
	{"<NO_OTHER_FAILURES>", 4000, .learn = rank_alone},
	{"cannot be retrieved|network address of (|trying to connect to (|validate to host |"
	 "init_method=tcp://|MASTER_ADDR=|master_addr=",
	 4000, .learn = endpoint},
	{"Out of bounds values : 0 OK|Avg bus bandwidth|Training complete|Training finished|"
	 "training completed|Training completed|train_runtime|exits successfully|Training done|"
	 "exiting program after|training is done]|Training ended|eached max_steps|inished training|"
	 "Trainer.fit` stopped|raining has finished|\"run_stop\"",
	 1000, .learn = finished},
	{"xit status|xit code|xitcode|xit_code|xited with|xiting with|eturn code|eturncode|"
	 "d with code|finished rc=|exited rc=|exited (rc=|finished (rc=|COMPLETED| FAILED |TIMEOUT "
	 "|"
	 "OUT_OF_ME|NODE_FAIL|CANCELLED |PREEMPTED|REQUEUED|uccessfully finished|"
	 "uccessfully completed|d successfully| succeeded|ondition met|will restart worker "
	 "group|endezvous'ing worker group|"
	 "\"run_stop\"|ENDING TIMING RUN|   Complete |   Succeeded |   SUCCEEDED |   Completed |   "
	 "Failed ",
	 40000, .learn = job_ended},
	{"test session starts| passed| failed in | failed, | error in | errors in ", 40000,
	 .learn = job_ended},
	{"ncclIbConnect |active_mtu:", 40000, .learn = traits_hear_port},
	{" retries|after retry|etry succe| attempts|ttempt |econnected|on retry", 4000,
	 .learn = heal_retried},
	{": 100%|", 4000, .learn = heal_downloaded},
	{"  count: |eprecatedCount: |\"count\": |eprecatedCount\": ", 8000, .learn = event_count},
	{"lastTimestamp|LastTimestamp|eventTime", 8000, .learn = event_seen},
	{" Running   ", 8000, .learn = pod_runs},
	{SHOWN_ANCHORS, 4000, .learn = shown_begin},
	{BUSY_WORDS, 40000, .learn = busy_hear},
	{GID_ANCHORS, 40000, .learn = gid_hear},
	{ROOM_ANCHORS, 400, .learn = room_begin},
	{UNEVEN_ANCHORS, 40000, .learn = uneven_hear},
	{HEAL_UP_ANCHORS, 40000, .learn = heal_up},
	{": \"MainThread\"", SAMPLES_MAX, .learn = samples_begin},
	{"Successfully assigned |pod group is ready|pod scheduled on node", 4000,
	 .learn = heal_scheduled},
	{"Successfully pulled image", 4000, .learn = heal_pulled},
	{"Started container ", 4000, .learn = heal_started},
	{"status is now: NodeReady", 4000, .learn = heal_node},
	{"Permanently added '", 4000, .learn = heal_logged_in},
	{"HTTP/1.1\" 400 |HTTP/1.1\" 413 |HTTP/1.1\" 422 ", 4000, .learn = heal_answered},
	{"/replica:0/task:", 8000, .learn = task_late},
	{"o improvement|ot improve|mproved|ew best|arly stopping|topping early|ot better", 4000,
	 .learn = votes_hear},
	{"NONE_HASH=|LMCache hit tokens: ", 4000, .learn = cachekeys_hear},
	{"LEADER_IP|HEAD_IP|HEAD_NODE_IP|HEAD_ADDR|luster at address|ay start "
	 "--address|RAY_ADDRESS",
	 1000, .learn = astray_hear_head},
	{"cudaDriverVersion |NCCL version|RCCL version", 4000, .learn = astray_hear_cuda},
	{"_perf -|_perf_mpi -", 1000, .learn = test_command},
	{"Rank  0|Rank   0|Rank 0 ", 1000, .learn = test_begun},
	{"Avg bus bandwidth", 1000, .learn = worlds_ended},
	{"Avg bus bandwidth|Collective test concluded", 4000, .learn = measured_end},
	{"# nThread ", 1000, .learn = test_header},
	{"# nThread |  out-of-place  ", 4000, .learn = measured_table},
	{"\"coll_perf\"", 4000, .learn = measured_record},
	{"Test NCCL failure|Test CUDA failure|Test failure", 1000, .learn = worlds_failed},
	{"etting OMP_NUM_THREADS environment", 4000, .learn = launched},
	{"Error: The server socket has failed to listen", 4000, .learn = launch_refused},
	{"# OSU MPI|#---- Benchmarking|# Benchmarking |Application startup complete", 100,
	 .learn = got_going},
	{HEAL_SLURMD_ANCHORS, 100, .learn = heal_slurmd},
	{"[shutdown] API server: shutdown triggered|[shutdown] EngineCore: trigger received", 100,
	 .learn = told_to_end},
	{"xception ignored in|xception ignored on|xception ignored while|Error in "
	 "atexit._run_exitfuncs|"
	 "--- Logging error ---",
	 40000, .learn = ignored},
	{"Traceback (most recent call last)", 40000, .learn = traceback},
	{"  File \"", 40000, .learn = frame},
	{"race of the failed collective: ", 4000, .learn = stack},
	{"GPU available: ", 100, .learn = gather_rank_zero},
	{", MEMBER: ", 4000, .learn = gather_member},
	{"Num processes: |Process index: ", 4000, .learn = gather_process},
	{"num_local_procs=", 4000, .learn = gather_launcher},
	{TWINS_ANCHORS, 4000, .learn = twins_hear},
	{MACHINE_ANCHORS, 4000, .learn = machine_hear},
	{APART_START_ANCHORS, 4000, .learn = apart_hear_start},
	{APART_STEP_ANCHORS, 4000, .learn = apart_hear_step},
	{GENERATED_ANCHORS, 4000, .learn = generated_hear},
	{"worker_count=|clients joined", 4000, .learn = gather_counted},
	{"min_nodes  ", 4000, .learn = gather_agent},
	{"dist_init_addr='|'master_addr': '", 4000, .learn = summoned},
	{"Rendezvous complete for workers|All distributed processes registered|Cluster is ready.",
	 1000, .learn = gather_all_came},
	{"ompleted store-based barrier", 4000, .learn = gather_barrier_over},
	{"--nnodes|--num_machines|SLURM_NNODES", 1000, .learn = gather_nodes},
	{"peer ranks. Expected", 4000, .learn = gather_gloo},
	{" to be ready| to become ready| to be healthy| to become healthy| to be running|"
	 " to become running",
	 40000, .learn = gather_awaited},
	{"Missing ranks:|Stalled ranks:", 4000, .learn = stalled},
	{"provider is efa|Provider is efa|FI_EFA_|:efa:core|:efa:domain|:efa:fabric|:efa:ep_ctrl",
	 1, .learn = efa},
	{"torch.distributed.launch|nn/parallel/distributed.py|DistributedDataParallel|torchrun |"
	 "Killing subprocess |accelerate launch|nproc_per_node|nproc-per-node",
	 1, .learn = ddp},
	{".py::test|.py::Test|PASSED|FAILED|SKIPPED|[ RUN      ]|=== RUN|--- PASS: |--- FAIL: |[   "
	 "    OK ]",
	 40000, .learn = tested_hear},
	{"ping -|ping6 -| -M do| bytes of data| data bytes| bytes from | packet loss|essage too "
	 "long, mtu",
	 4000, .learn = pings_hear},
	{ASIDES_ANCHORS, 4000, .learn = asides_hear},
	{"/pkeys/", 4000, .learn = pkeys_hear},
	{" dmesg|'dmesg|\"dmesg", 4000, .learn = shell_hear},
	{"KeyboardInterrupt", 100, .learn = interrupted},
	{" debug info to |dumping nccl trace to |preparing to dump debug info", 8000,
	 .learn = dumps_learn},
	{"WorkNCCL(|waitForInput|ocket Timeout|wait timeout after|CANCELLED AT |"
	 "Traceback (most recent call last)",
	 4000, .learn = preparing_hear},
	/* the last one: counted by why_line() itself, and only for a while after a failure */
	{"'loss':|\"loss\":|loss: |loss = | loss=| loss 0| loss 1| loss 2| loss 3| loss 4| loss 5|"
	 " loss 6| loss 7| loss 8| loss 9|train_loss|grad_norm|it/s, |s/it, |tokens/s|samples/s|"
	 "toks/s/|elapsed time per iteration|Epoch: [|Loss: |Train Epoch: |train loss |"
	 "generation throughput: | Batchsize: |float     sum|float    none| half     sum|float16   "
	 "  sum",
	 .enough = UINT64_MAX},
};
const size_t log_fact_count = ARRAY_LEN(log_facts);
const size_t log_fact_progress = ARRAY_LEN(log_facts) - 1;
