/* Families of the catalogue: well formed, and each fills one place under its shared id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/log/kin.h"
#include "tests/unit/told.h"

static void shared_ids_are_there(void **state UNUSED)
{
	size_t n = 0;

	for (size_t i = 0; i < signature_count; i++)
		n += id_is_shared(signatures[i].id);
	assert_int_equal(n, 96); /* none is missing, and none of ours is taken for one */
	assert_true(id_is_shared("IB-014") && !id_is_shared("IB-015"));
	assert_false(id_is_shared("LIB-001")); /* though it ends like one */
}

/* A finer entry names one shared entry, which is in no family itself: there are no chains. */
static void families_are_well_formed(void **state UNUSED)
{
	int *of = calloc(signature_count, sizeof(*of));

	for (size_t i = 0; i < family_count; i++) {
		const struct family *f = &families[i];

		if (signature_find(f->head) < 0 || !id_is_shared(f->head))
			fail_msg("%s is no shared entry", f->head);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(f->head, families[j].head);
		if (!f->finer[0] || f->finer[KIN_MOST - 1])
			fail_msg("%s: nobody is finer, or more than KIN_MOST are", f->head);
		for (const char *const *id = f->finer; *id; id++) {
			int sig = signature_find(*id);

			if (sig < 0 || id_is_shared(*id) || of[sig]++)
				fail_msg("%s: %s is no entry of ours, or of two families", f->head,
					 *id);
			else if (!streq(signature_head(&signatures[sig])->id, f->head))
				fail_msg("%s does not lead to %s", *id, f->head);
		}
	}
	for (size_t i = 0; i < signature_count; i++)
		if (!of[i])
			assert_ptr_equal(signature_head(&signatures[i]), &signatures[i]);
	free(of);
}

static void assert_cause(const struct told *t, size_t i, const char *id, const char *entry)
{
	assert_true(i < t->x.causes.n);
	assert_string_equal(t->x.causes.v[i].head->id, id);
	assert_string_equal(t->x.causes.v[i].sig->id, entry);
}

#define KILLED                                                                                     \
	"[2024-05-01 10:00:02,000] torch.distributed.elastic: [ERROR] failed (exitcode: -9) "      \
	"local_rank: 1 (pid: 4711)\n"
#define OUT_OF_MEMORY                                                                              \
	"kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,task=python3,"       \
	"pid=4711,uid=0\n"                                                                         \
	"kernel: Out of memory: Killed process 4711 (python3) total-vm:1kB\n"

static void one_place_for_a_family(void **state UNUSED)
{
	AUTO(told_done) struct told t;
	const struct kin *k;

	tell_of(&t, KILLED OUT_OF_MEMORY);
	assert_cause(&t, 0, "SHM-004", "KRN-001");
	assert_int_equal(t.x.causes.v[0].kin.n, 1); /* what it was told by too */
	k = &t.x.causes.v[0].kin.v[0];
	assert_string_equal(k->sig->id, "SHM-004");
	assert_true(k->first->line == 1 && k->record->count == 1);
	for (size_t i = 1; i < t.x.causes.n; i++)
		assert_string_not_equal(t.x.causes.v[i].head->id, "SHM-004");
}

static void alone_it_goes_by_the_shared_id(void **state UNUSED)
{
	AUTO(told_done) struct told t;

	tell_of(&t, OUT_OF_MEMORY);
	assert_cause(&t, 0, "SHM-004", "KRN-001");
	assert_int_equal(t.x.causes.v[0].kin.n, 0);
}

static void without_kin_it_goes_by_its_own(void **state UNUSED)
{
	AUTO(told_done) struct told t;

	tell_of(&t, "kernel: mlx5_core 0000:17:00.0 eth2: Link down\nRuntimeError: CUDA error: "
		    "device-side assert triggered\n");
	assert_cause(&t, 0, "GPU-019", "GPU-019");
	assert_cause(&t, 1, "KRN-003", "KRN-003");
}

#define LINK_DOWN "kernel: mlx5_core 0000:17:00.0 eth2: Link down\n"
#define NOT_ACKNOWLEDGED                                                                           \
	"node0:1:2 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4> with status=12 "    \
	"opcode=129 len=0 vendor err 129 (Send)\n"

/* The reason of something shared stands before it and goes by its id; what has a shared id keeps
 * it. */
static void a_reason_goes_by_its_effect(void **state UNUSED)
{
	static const struct {
		const char *log, *id, *entry;
	} all[] = {
		{LINK_DOWN NOT_ACKNOWLEDGED, "IB-001", "KRN-003"},
		{"node0:1:2 [2] transport/nvls.cc:376 NCCL WARN Failed to bind NVLink SHARP (NVLS) "
		 "Multicast memory of size 2097152 : CUDA error 401 'x'.\n"
		 "systemd[1]: Failed to start NVIDIA fabric manager service.\n",
		 "GPU-006", "GPU-068"},
		{"RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not "
		 "yet initialized\n"
		 "systemd[1]: Failed to start NVIDIA fabric manager service.\n",
		 "GPU-005", "GPU-068"},
		{"n1:7:9 [0] misc/ibvwrap.cc:7 NCCL WARN Call to ibv_reg_mr_iova2 failed with "
		 "error Cannot allocate memory\n"
		 "CmaTotal:              0 kB\nCmaFree:          740000 kB\n",
		 "LIM-001", "LIM-010"},
		{"[W ProcessGroupGloo.cpp:558] Warning: Unable to resolve hostname to a (local) "
		 "address. Using the loopback address as fallback. (function operator())\n"
		 "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] "
		 "no error\n",
		 "IF-015", "IF-015"},
		{"Running tokenizer on dataset:   9%|#         | 2800/29695 [29:55<4:48:08, 15.5 "
		 "examples/s][E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog caught collective "
		 "operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, Timeout(ms)=1800000) ran "
		 "for 1800328 milliseconds before timing out.\n",
		 "PT-006", "DAT-004"},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		AUTO(told_done) struct told t;

		tell_of(&t, all[i].log);
		assert_cause(&t, 0, all[i].id, all[i].entry);
	}
}

/* Where the effect is thought the likelier cause, both are told. */
static void behind_its_effect_it_goes_by_its_own(void **state UNUSED)
{
	AUTO(told_done) struct told t;

	tell_of(&t, NOT_ACKNOWLEDGED LINK_DOWN);
	assert_cause(&t, 0, "IB-001", "IB-001");
	assert_cause(&t, 1, "KRN-003", "KRN-003");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_ids_are_there),
		cmocka_unit_test(families_are_well_formed),
		cmocka_unit_test(one_place_for_a_family),
		cmocka_unit_test(alone_it_goes_by_the_shared_id),
		cmocka_unit_test(without_kin_it_goes_by_its_own),
		cmocka_unit_test(a_reason_goes_by_its_effect),
		cmocka_unit_test(behind_its_effect_it_goes_by_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
