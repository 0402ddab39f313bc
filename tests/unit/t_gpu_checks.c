/* What the gpus stage says about each kind of trouble that NVML shows, and that it says nothing
 * else. */
#include "tests/unit/gpu_world.h"

static const struct gpu_row rows[] = {
	{"3 ecc.uncorrected 2\n", "gpu.ecc", "GPU 3 (0000:5d:00.0)", ST_FAIL,
	 "reported 2 uncorrectable memory errors", "sudo nvidia-smi --gpu-reset -i 3"},
	{"2 rows 0 3 1 0\n", "gpu.rows", "GPU 2", ST_WARN, "wait for a reset", "--gpu-reset -i 2"},
	{"2 rows 0 9 0 1\n", "gpu.rows", "GPU 2", ST_FAIL, "could not remap", "state=drain"},
	{"1 pages.pending 1\n", "gpu.pages", "GPU 1", ST_WARN, "wait for a reset", NULL},
	{"1 pages.double 61\n", "gpu.pages", "GPU 1", ST_FAIL, "retired 61 pages", NULL},
	{"4 reasons 0x88\n", "gpu.throttle", "GPU 4", ST_FAIL, "power brake", NULL},
	{"4 reasons 0x48\n", "gpu.throttle", "GPU 4", ST_FAIL, "too hot", NULL},
	{"4 reasons 0x8\n", "gpu.throttle", "GPU 4", ST_WARN, "protects itself", NULL},
	{"4 reasons 0x20\n", "gpu.throttle", "GPU 4", ST_WARN, "keeps it cool", NULL},
	{"5 temperature 88\n", "gpu.temperature", "GPU 5", ST_FAIL, "88 degrees", NULL},
	{"5 temperature 84\n", "gpu.temperature", "GPU 5", ST_WARN, "slows itself down at 87",
	 NULL},
	{"5 temperature.slow none\n5 temperature 91\n", "gpu.temperature", "GPU 5", ST_WARN,
	 "91 degrees; where it slows itself down is not known", NULL},
	{"5 temperature.slow none\n5 margin -3\n5 field.194 -2\n5 temperature 88\n",
	 "gpu.temperature", "GPU 5", ST_FAIL, "slows itself down at 87", NULL},
	{"7 limit 500000\n", "gpu.power", "GPU 7", ST_WARN, "may draw 500 W",
	 "sudo nvidia-smi -i 7 -pl 700"},
	{"6 clock.app 1200\n", "gpu.clocks", "GPU 6", ST_WARN, "is set to 1200 MHz", "-i 6 -rac"},
	{"6 clock.max 1755\n", "gpu.clocks", "GPU 6", ST_WARN, "the others at 1980", NULL},
	{"0 mode 2\n", "gpu.mode", "GPU 0", ST_FAIL, "no process compute",
	 "sudo nvidia-smi -i 0 -c DEFAULT"},
	{"0 mode 3\n", "gpu.mode", "GPU 0", ST_INFO, "one process at a time", NULL},
	{"0 persistence 0\n", "gpu.persistence", "GPU 0", ST_INFO, "forgets",
	 "sudo nvidia-smi -i 0 -pm 1"},
	{"* mig 1 1\n", "gpu.mig", "GPU 7", ST_INFO, "NCCL refuses before 2.30", NULL},
	{"2 mig 0 1\n", "gpu.mig", "GPU 2", ST_WARN, "waits for a reset", NULL},
	{"2 mig 1 1\n", "gpu.mig_mode", "GPU 2", ST_WARN, "has MIG on, 7 others off", NULL},
	{"6 processes 4000000:4000000000\n", "gpu.busy", "GPU 6", ST_WARN,
	 "4000000 (not seen from here, 3.7 GiB)", "fuser -v /dev/nvidia6"},
	{"6 memory 85520809984 30000000000\n", "gpu.busy", "GPU 6", ST_WARN, "cannot be seen",
	 NULL},
	{"3 name NVIDIA H100 PCIe\n", "gpu.kind", "GPU 3", ST_WARN,
	 "is a NVIDIA H100 PCIe with 79 GiB, 7 others NVIDIA H100 80GB", NULL},
	{"3 vbios 96.00.61.00.01\n", "gpu.vbios", "GPU 3", ST_INFO, "96.00.61.00.01", NULL},
	{"3 ecc 0\n", "gpu.ecc_mode", "GPU 3", ST_WARN, "has ECC off, 7 others on", NULL},
	{"1 links 111111111111111011\n", "nvlink.link", "GPU 1", ST_FAIL,
	 "17 NVLinks up, 18 on 7 others; down: 15", "nvlink -s -i 1"},
	{"* remote 0\n1 links 000000000000000000\n", "nvlink.link", "GPU 1", ST_WARN,
	 "0 NVLinks up", NULL},
	{"5 fabric 1 0 00000000000000000000000000000000 0 aa\n", "nvlink.fabric", "GPU 5", ST_FAIL,
	 "is not registered", "sudo systemctl restart nvidia-fabricmanager"},
	{"5 fabric 2 0 00000000000000000000000000000000 0 aa\n", "nvlink.fabric", "GPU 5", ST_FAIL,
	 "still registering", NULL},
	{"gpus 1\n0 fabric 2 0 00000000000000000000000000000000 0 aa\n", "nvlink.fabric", "GPU 0",
	 ST_WARN, "CUDA fails for that", NULL}, /* as far as is known: nobody asked CUDA */
	{"5 fabric 3 999 00000000000000000000000000000000 0 aa\n", "nvlink.fabric", "GPU 5",
	 ST_FAIL, "Some error (999)", NULL},
	{"5 fabric 3 0 00000000000000000000000000000000 0 a9\n", "nvlink.fabric", "GPU 5", ST_FAIL,
	 "bandwidth is degraded", NULL},
	{"5 fabric 3 0 00000000000000000000000000000000 0 a6\n", "nvlink.fabric", "GPU 5", ST_WARN,
	 "being recovered", NULL},
	{"5 fabric 3 0 00000000000000000000000000000000 0 aa 2\n", "nvlink.fabric", "GPU 5",
	 ST_FAIL, "is unhealthy", NULL},
	{"5 fabric 3 0 00000000000000000000000000000000 7 aa\n", "nvlink.clique", "GPU 5", ST_FAIL,
	 "000.7 of the NVLink fabric, 7 others in", NULL},
	{"3 open 15\n", "gpu.answer", "GPU 3", ST_FAIL, "GPU is lost", "reboot"},
	{"gpus 7\n", "gpu.count", NULL, ST_FAIL, "lost 0000:db:00.0: 7 of 8", NULL},
	{"3 open 4\n", "gpu.count", NULL, ST_WARN, "7 of 8 can be used: 1 may not be opened",
	 "ls -l /dev/nvidia"},
	{"gpus 7\n3 open 4\n", "gpu.count", NULL, ST_FAIL, "lost 1 of 0000:5d:00.0, 0000:db:00.0",
	 NULL},
	{"init 18\n", "gpu.nvml", NULL, ST_FAIL, "another version than the driver", "rmmod"},
	{"init 9\n", "gpu.nvml", NULL, ST_WARN, "no driver loaded", "sudo modprobe nvidia"},
	{"init 999\n", "gpu.nvml", NULL, ST_FAIL, "does not start", NULL},
	{"crash 2\n", "gpu.nvml", NULL, ST_FAIL, "crashed about GPU 2", NULL},
};

static int wrong(const struct gpu_world *w)
{
	int n = 0;

	for (size_t i = 0; i < w->p.t.items.n; i++) {
		const struct finding *f = w->p.t.items.v[i].f;

		if (f->status != ST_PASS && f->status != ST_SKIP &&
		    !starts_with(f->check, "pcie.")) {
			print_message("%s %s: %s\n", f->check, f->subject, f->message);
			n++;
		}
	}
	return n;
}

static void t_healthy(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "");
	gpu_run(&w);
	assert_int_equal(wrong(&w), 0);
	assert_non_null(gpu_found(&w, "gpu.nvml", NULL));
	assert_non_null(
		strstr(gpu_found(&w, "gpu.nvml", NULL)->message, "driver 550.54.15, CUDA to 12.4"));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct finding *f = gpu_found(&w, rows[i].check, NULL);

		assert_true(!f || f->status == ST_PASS);
	}
	gpu_done(&w);
}

static void t_each_fires(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		gpu_says(&w, gpu_healthy, rows[i].words);
		gpu_run(&w);
		gpu_expect(&w, &rows[i]);
	}
	gpu_done(&w);
}

/* The driver numbers its devices in another order than that of their addresses. */
static void t_device(void **state)
{
	static const struct gpu_row row = {"6 processes 4000000:4000000000\n",
					   "gpu.busy",
					   "GPU 6",
					   ST_WARN,
					   "4000000",
					   "fuser -v /dev/nvidia2 "};
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_file(&w, "/proc/driver/nvidia/gpus/0000:ba:00.0/information",
		 "Model: \t\t NVIDIA H100\nDevice Minor: \t 2\nGPU Excluded:\t No\n");
	gpu_says(&w, gpu_healthy, row.words);
	gpu_run(&w);
	gpu_expect(&w, &row);
	gpu_done(&w);
}

/* Old GPUs and drivers tell little: what is unknown is nobody's fault, and no pass either. */
static void t_unknown(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, "driver 470.1\ngpus 8\n",
		 "0 pci 00000000:18:00.0\n1 pci 00000000:2A:00.0\n2 pci 00000000:3A:00.0\n"
		 "3 pci 00000000:5D:00.0\n4 pci 00000000:9A:00.0\n5 pci 00000000:AB:00.0\n"
		 "6 pci 00000000:BA:00.0\n7 pci 00000000:DB:00.0\n");
	gpu_run(&w);
	assert_int_equal(wrong(&w), 0);
	assert_null(gpu_found(&w, "gpu.ecc", NULL));
	assert_null(gpu_found(&w, "nvlink.link", NULL));
	assert_null(gpu_found(&w, "nvlink.fabric", NULL));
	assert_int_equal(gpu_found(&w, "gpu.busy", NULL)->status, ST_PASS);
	gpu_done(&w);
}

/* What the kernel keeps in a GPU's memory is nobody's: its node is of that size, or there is one
 * memory for both. */
static void t_kernels_memory(void **state)
{
	static const char node[] = "/sys/devices/system/node/node2/";
	static const char gh200[] = "* name NVIDIA GH200 480GB\n"
				    "* memory 102625181696 41875931136\n";
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, gh200);
	gpu_file(&w, arena_printf(&w.c.a, "%scpulist", node), "\n");
	gpu_file(&w, arena_printf(&w.c.a, "%smeminfo", node), "Node 2 MemTotal: 268435456 kB\n");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.busy", NULL)->status, ST_WARN); /* CXL */
	gpu_file(&w, arena_printf(&w.c.a, "%smeminfo", node), "Node 2 MemTotal: 98828288 kB\n");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.busy", NULL)->status, ST_PASS);
	gpu_says(&w, gpu_healthy,
		 "* name NVIDIA GB10\n* capability 121\n* memory 130663141376 85899345920\n");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.busy", NULL)->status, ST_PASS);
	gpu_done(&w);
}

/* NVML may say of GPUs that are cut into parts that their links are down: nothing uses them. */
static void t_parts_have_no_links(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "0 mig 1 1\n0 links 000000000000000000\n");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "nvlink.link", NULL)->status, ST_PASS);
	gpu_done(&w);
}

static void t_shares(void **state)
{
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "gpus 2\n");
	assert_int_equal(setenv("SLURM_JOB_ID", "7", 1), 0);
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.count", NULL)->status, ST_INFO);
	assert_non_null(strstr(gpu_found(&w, "gpu.count", NULL)->message, "2 of the host's 8"));
	gpu_says(&w, gpu_healthy, "3 open 4\n4 open 4\n"); /* NVML counts others', too */
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.count", NULL)->status, ST_INFO);
	assert_non_null(strstr(gpu_found(&w, "gpu.count", NULL)->message, "6 of the host's 8"));
	assert_null(gpu_found(&w, "gpu.answer", NULL));
	gpu_says(&w, gpu_healthy, "gpus 2\n");
	assert_int_equal(setenv("SLURM_GPUS_ON_NODE", "4", 1), 0);
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.count", NULL)->status, ST_FAIL);
	assert_non_null(strstr(gpu_found(&w, "gpu.count", NULL)->message, "4 were given"));
	gpu_says(&w, gpu_healthy, "gpus 0\n");
	assert_int_equal(unsetenv("SLURM_GPUS_ON_NODE"), 0);
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.count", NULL)->status, ST_WARN);
	assert_string_equal(gpu_found(&w, "gpu.count", NULL)->fix.v[0],
			    "salloc --gpus-per-node=8 ...   # or sbatch, srun");
	gpu_done(&w);
}

/* Their cards, whose driver has which: lost is only what the driver of the others had, or had to
 * have. */
static void t_drivers(void **state)
{
	static const struct {
		const char *second;
		enum status driver, count;
		const char *words;
	} cases[] = {
		{"device=0x2330 driver=nvidia", ST_PASS, ST_FAIL, "driven by nvidia"},
		{"device=0x2330 driver=vfio-pci", ST_INFO, ST_PASS,
		 "1 bound to vfio-pci (lent to a virtual machine?)"},
		{"device=0x128b driver=nouveau", ST_INFO, ST_PASS, "1 bound to nouveau"},
		{"device=0x128b", ST_WARN, ST_PASS, "1 by no driver"}, /* too old for it */
		{"device=0x2330", ST_WARN, ST_FAIL, "1 by no driver"}, /* it did not start */
	};
	static const char card[] = "pci pci0000:00/0000:%s:00.0 class=0x030200 vendor=0x10de %s\n";
	struct gpu_world w;
	char lines[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int n = snprintf(lines, sizeof(lines), card, "18", "device=0x2330 driver=nvidia");

		(void)snprintf(lines + n, sizeof(lines) - (size_t)n, card, "2a", cases[i].second);
		gpu_make(&w, lines);
		gpu_says(&w, gpu_healthy, "gpus 1\n");
		gpu_run(&w);
		gpu_expect(&w, &(struct gpu_row){NULL, "gpu.driver", "2 NVIDIA GPUs",
						 cases[i].driver, cases[i].words, NULL});
		assert_int_equal(gpu_found(&w, "gpu.count", NULL)->status, cases[i].count);
		gpu_done(&w);
	}
}

/* Slurm's number is that of the node's tasks together, and MIG's parts are in it. */
static void t_share_of_a_task(void **state)
{
	static const struct {
		const char *says, *given, *name, *value;
		enum status st;
	} cases[] = {
		{"gpus 1\n", "8", "SLURM_GPUS_PER_TASK", "1", ST_INFO},
		{"gpus 1\n", "8", "SLURM_GPU_BIND", "per_task:1", ST_INFO},
		{"gpus 1\n", "4", "SLURM_NTASKS_PER_GPU", "2", ST_INFO},
		{"gpus 1\n", "8", "SLURM_GTIDS", "0,1,2,3,4,5,6,7", ST_INFO},
		{"gpus 7\n", "8", "SLURM_GTIDS", "0,1,2,3,4,5,6,7", ST_FAIL}, /* of all 8 */
		{"gpus 7\n", "8", "SLURM_GTIDS", "0", ST_FAIL},
		{"gpus 1\n* mig 1 1\n", "7", "SLURM_GTIDS", "0", ST_INFO},
	};
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		gpu_says(&w, gpu_healthy, cases[i].says);
		assert_int_equal(setenv("SLURM_JOB_ID", "7", 1), 0);
		assert_int_equal(setenv("SLURM_GPUS_ON_NODE", cases[i].given, 1), 0);
		assert_int_equal(setenv(cases[i].name, cases[i].value, 1), 0);
		gpu_run(&w);
		assert_int_equal(gpu_found(&w, "gpu.count", NULL)->status, cases[i].st);
		assert_int_equal(gpu_found(&w, "gpu.count", NULL)->fix.n, cases[i].st == ST_FAIL);
		assert_int_equal(unsetenv(cases[i].name), 0);
	}
	gpu_done(&w);
}

static void t_services(void **state)
{
	static const char domain[] = "* fabric 3 0 0123456789abcdef0123456789abcdef 1 aa 1\n";
	static const char sw[] = "/sys/bus/pci/devices/0000:c1:00.0/";
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "* fabric 1 0 00000000000000000000000000000000 0 aa\n");
	gpu_file(&w, arena_printf(&w.c.a, "%sclass", sw), "0x068000\n");
	gpu_file(&w, arena_printf(&w.c.a, "%svendor", sw), "0x10de\n");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.fabricmanager", NULL)->status, ST_FAIL);
	gpu_file(&w, "/proc/4711/comm", "nv-fabricmanage\n");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.fabricmanager", NULL)->status, ST_PASS);
	assert_null(gpu_found(&w, "gpu.imex", NULL));

	gpu_says(&w, gpu_healthy, domain);
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.imex", NULL)->status, ST_WARN);
	gpu_file(&w, "/dev/nvidia-caps-imex-channels/channel0", "");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.imex", NULL)->status, ST_FAIL);
	gpu_file(&w, "/proc/4712/comm", "nvidia-imex\n");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.imex", NULL)->status, ST_WARN);
	gpu_file(&w, "/etc/nvidia-imex/nodes_config.cfg", "10.0.0.1\n");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.imex", NULL)->status, ST_PASS);
	gpu_done(&w);
}

static void t_data(void **state)
{
	struct gpu_world w;
	const cJSON *gpu, *facts;

	(void)state;
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy,
		 "2 processes 11:5 12:6\n2 fabric 3 0 00ff00000000000000000000000000aa 4 aa 1\n");
	gpu_run(&w);
	assert_int_equal(cJSON_GetArraySize(json_get(w.data, "gpus")), 8);
	gpu = cJSON_GetArrayItem(json_get(w.data, "gpus"), 2);
	assert_string_equal(json_get_str(gpu, "pci"), "0000:3a:00.0");
	assert_int_equal(cJSON_GetArraySize(json_get(gpu, "processes")), 2);
	assert_string_equal(json_get_str(json_get(gpu, "fabric"), "cluster"),
			    "00ff00000000000000000000000000aa");
	assert_int_equal((int)json_get_num(json_get(gpu, "fabric"), "clique", -1), 4);
	assert_int_equal((int)json_get_num(json_get(gpu, "fabric"), "health_summary", -1), 1);
	facts = json_get(w.data, "facts");
	assert_string_equal(json_get_str(facts, "cuda"), "12.4");
	assert_int_equal((int)json_get_num(facts, "nvlinks", 0), 144);
	assert_string_equal(json_get_str(facts, "power_limit"), "700 W");
	gpu_says(&w, NULL, "");
	gpu_run(&w);
	assert_int_equal(cJSON_GetArraySize(json_get(w.data, "gpus")), 8); /* PCI shows them */
	assert_null(gpu_found(&w, "gpu.nvml", NULL));
	gpu_done(&w);
}

static void t_versions(void **state)
{
	static const char lib[] = "/usr/local/lib/python3.10/dist-packages";
	struct gpu_world w;

	(void)state;
	(void)unsetenv("VIRTUAL_ENV");
	(void)unsetenv("CONDA_PREFIX");
	gpu_make(&w, "hgx-h100");
	gpu_says(&w, gpu_healthy, "* capability 90\n");
	gpu_run(&w);
	assert_null(gpu_found(&w, "gpu.versions", NULL)); /* no PyTorch */
	gpu_file(&w, arena_printf(&w.c.a, "%s/nvidia_cuda_runtime_cu12-12.4.127.dist-info/x", lib),
		 "");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.versions", "CUDA 12.4")->status, ST_PASS);
	gpu_says(&w, gpu_healthy, "* capability 100\n"); /* Blackwell came with 12.8 */
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.versions", NULL)->status, ST_FAIL);
	assert_non_null(strstr(gpu_found(&w, "gpu.versions", NULL)->fix.v[0], "whl/cu128"));
	gpu_says(&w, gpu_healthy, "* capability 90\n");
	gpu_file(&w, arena_printf(&w.c.a, "%s/torch-2.9.0+cu130.dist-info/x", lib), "");
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.versions", "2.9.0+cu130 with CUDA 13.0")->status,
			 ST_FAIL);
	assert_non_null(
		strstr(gpu_found(&w, "gpu.versions", NULL)->message, "needs a newer driver"));
	gpu_says(&w, gpu_healthy, "cuda 13000\n* capability 70\n"); /* 13 has nothing for Volta */
	gpu_run(&w);
	assert_int_equal(gpu_found(&w, "gpu.versions", NULL)->status, ST_FAIL);
	assert_string_equal(gpu_found(&w, "gpu.versions", NULL)->expected, "CUDA 12.6 or earlier");
	gpu_says(&w, gpu_healthy, "cuda 11040\n* capability 80\n"); /* 11.8's runs on any of 11 */
	gpu_run(&w);
	assert_non_null(strstr(gpu_found(&w, "gpu.versions", NULL)->fix.v[0], "whl/cu118"));
	gpu_done(&w);
}

/* What PyTorch's own wheels have, which is less than nvcc's; and that advice does not fail next. */
static void t_wheels(void **state)
{
	static const struct {
		const char *torch, *says;
		enum status st;
		const char *expected, *fix;
	} cases[] = {
		{"2.9.0+cu128", "cuda 12080\n* capability 60\n", ST_FAIL, "CUDA 12.6 or earlier",
		 "whl/cu126"},
		{"2.9.0+cu126", "cuda 12080\n* capability 60\n", ST_PASS, NULL, NULL},
		{"2.10.0+cu128", "cuda 12080\n* capability 70\n", ST_PASS, NULL, NULL},
		{"2.11.0+cu128", "cuda 12080\n* capability 70\n", ST_FAIL, "CUDA 12.6 or earlier",
		 "whl/cu126"},
		{"2.11.0+cu128", "cuda 12080\n* capability 75\n", ST_PASS, NULL, NULL},
		{"2.9.0+cu130", "cuda 12080\n* capability 120\n", ST_FAIL, "a driver for CUDA 13",
		 "whl/cu128   # for CUDA 12; or a driver 580 or newer"},
		{"2.9.0+cu130", "cuda 12080\n* capability 90\n", ST_FAIL, "a driver for CUDA 13",
		 "whl/cu126   # for CUDA 12; or a driver 580 or newer"},
	};
	struct gpu_world w;

	(void)state;
	gpu_make(&w, "hgx-h100");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *info = arena_printf(
			&w.c.a, "/usr/local/lib/python3.10/dist-packages/torch-%s.dist-info",
			cases[i].torch);
		const char *full = arena_printf(&w.c.a, "%s%s", w.c.dir, info);
		const struct finding *f;

		gpu_file(&w, arena_printf(&w.c.a, "%s/x", info), "");
		gpu_says(&w, gpu_healthy, cases[i].says);
		gpu_run(&w);
		f = gpu_found(&w, "gpu.versions", cases[i].torch);
		assert_non_null(f);
		assert_int_equal(f->status, cases[i].st);
		if (cases[i].fix) {
			assert_string_equal(f->expected, cases[i].expected);
			assert_non_null(strstr(f->fix.v[0], cases[i].fix));
		}
		composed_run((const char *const[]){"rm", "-r", full, NULL});
	}
	gpu_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_parts_have_no_links),
		cmocka_unit_test(t_healthy),
		cmocka_unit_test(t_each_fires),
		cmocka_unit_test(t_device),
		cmocka_unit_test(t_unknown),
		cmocka_unit_test(t_shares),
		cmocka_unit_test(t_drivers),
		cmocka_unit_test(t_share_of_a_task),
		cmocka_unit_test(t_services),
		cmocka_unit_test(t_data),
		cmocka_unit_test(t_kernels_memory),
		cmocka_unit_test(t_versions),
		cmocka_unit_test(t_wheels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
