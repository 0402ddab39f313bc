/*
 * Who we are, from the environments of launchers. The rows are what those
 * launchers set (names as recorded under the real ones, or from their
 * sources), and what looks like a rank and is none.
 */
#include "lib/cluster/world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/in_range.h"

struct row {
	const char *what;
	const char *env; /* "A=1;B=2" */
	enum launcher launcher;
	int rank, size, local_rank, local_size, node_rank, nodes;
	const char *addr;
	int port; /* -1: some port */
	bool held;
	const char *run;
	const char *note, *trouble, *from; /* parts of it; NULL: none (from: any) */
};

#define TORCHRUN                                                                                   \
	"RANK=3;LOCAL_RANK=1;WORLD_SIZE=4;LOCAL_WORLD_SIZE=2;GROUP_RANK=1;GROUP_WORLD_SIZE=2;"     \
	"ROLE_RANK=3;ROLE_WORLD_SIZE=4;MASTER_ADDR=10.0.0.1;MASTER_PORT=29500;"                    \
	"TORCHELASTIC_RESTART_COUNT=2;TORCHELASTIC_MAX_RESTARTS=3;TORCHELASTIC_RUN_ID=job7;"
#define SRUN                                                                                       \
	"SLURM_JOB_ID=42;SLURM_STEP_ID=0;SLURM_PROCID=2;SLURM_NTASKS=4;SLURM_STEP_NUM_TASKS=4;"    \
	"SLURM_LOCALID=0;SLURM_NODEID=1;SLURM_STEP_NUM_NODES=2;SLURM_JOB_NODELIST=gpu-[01-09];"    \
	"SLURM_STEP_NODELIST=gpu-[07,09];SLURM_TASKS_PER_NODE=3,1;"
#define OMPI                                                                                       \
	"OMPI_COMM_WORLD_RANK=1;OMPI_COMM_WORLD_SIZE=4;OMPI_COMM_WORLD_LOCAL_RANK=1;"              \
	"OMPI_COMM_WORLD_NODE_RANK=1;OMPI_UNIVERSE_SIZE=4;PMIX_RANK=1;PMIX_NAMESPACE=315;"
#define MVAPICH(p)                                                                                 \
	p "_COMM_WORLD_RANK=3;" p "_COMM_WORLD_SIZE=4;" p "_COMM_WORLD_LOCAL_RANK=1;" p            \
	  "_COMM_WORLD_LOCAL_SIZE=2;"
#define FLUX                                                                                       \
	"FLUX_JOB_ID=f7;FLUX_TASK_RANK=3;FLUX_JOB_SIZE=4;FLUX_TASK_LOCAL_ID=1;PMI_FD=9;"           \
	"PMI_RANK=3;PMI_SIZE=4;"
#define PALS "PALS_APID=a1;PALS_RANKID=5;PALS_LOCAL_RANKID=1;PALS_NODEID=1;"
#define JSRUN                                                                                      \
	"LSB_JOBID=88;JSM_NAMESPACE_RANK=1;JSM_NAMESPACE_SIZE=4;"                                  \
	"JSM_NAMESPACE_LOCAL_RANK=1;JSM_NAMESPACE_LOCAL_SIZE=2;"
#define BATCH "AWS_BATCH_JOB_ID=j-1#1;AWS_BATCH_JOB_NUM_NODES=3;AWS_BATCH_JOB_MAIN_NODE_INDEX=0;"
#define SAGEMAKER "SM_HOSTS=[\"algo-1\",\"algo-2\",\"algo-10\"];SM_NUM_GPUS=8;TRAINING_JOB_NAME=t1;"

static const struct row rows[] = {
	{"nothing", "HOME=/", LAUNCHER_NONE, -1, -1, -1, -1, -1, -1, NULL, 0, false, NULL, NULL,
	 NULL, NULL},
	{"empty is unset", "RANK=;WORLD_SIZE=;SLURM_PROCID=", LAUNCHER_NONE, -1, -1, -1, -1, -1, -1,
	 NULL, 0, false, NULL, NULL, NULL, NULL},
	{"told to be none, in a rank's environment", "WINDSOCK_NO_RANK=1;" SRUN TORCHRUN "RANK=9",
	 LAUNCHER_NONE, -1, -1, -1, -1, -1, -1, NULL, 0, false, NULL, NULL, NULL, NULL},
	{"WORLD_SIZE alone", "WORLD_SIZE=4;MASTER_ADDR=a;MASTER_PORT=1", LAUNCHER_NONE, -1, -1, -1,
	 -1, -1, -1, NULL, 0, false, NULL, NULL, NULL, NULL},

	{"torchrun, agent's store", TORCHRUN "TORCHELASTIC_USE_AGENT_STORE=True", LAUNCHER_TORCHRUN,
	 3, 4, 1, 2, 1, 2, "10.0.0.1", 29500, true, "job7.2", NULL, NULL,
	 "RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, "
	 "MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID, TORCHELASTIC_USE_AGENT_STORE"},
	{"torchrun, free port", TORCHRUN "TORCHELASTIC_USE_AGENT_STORE=False", LAUNCHER_TORCHRUN, 3,
	 4, 1, 2, 1, 2, "10.0.0.1", 29500, false, "job7.2", NULL, NULL, NULL},
	{"torchrun under srun", SRUN TORCHRUN, LAUNCHER_TORCHRUN, 3, 4, 1, 2, 1, 2, "10.0.0.1",
	 29500, false, "job7.2", NULL, NULL, NULL},
	{"accelerate", TORCHRUN "ACCELERATE_MIXED_PRECISION=no;TORCHELASTIC_USE_AGENT_STORE=True",
	 LAUNCHER_ACCELERATE, 3, 4, 1, 2, 1, 2, "10.0.0.1", 29500, true, "job7.2", NULL, NULL,
	 NULL},

	{"srun", SRUN "SLURM_STEP_TASKS_PER_NODE=2(x2)", LAUNCHER_SRUN, 2, 4, 0, 2, 1, 2, "gpu-07",
	 -1, false, "42.0", NULL, NULL, "SLURM_STEP_NODELIST"},
	{"srun, uneven", SRUN "SLURM_STEP_TASKS_PER_NODE=3,1", LAUNCHER_SRUN, 2, 4, 0, 1, 1, 2,
	 "gpu-07", -1, false, "42.0", NULL, NULL, NULL},
	{"srun, MASTER_ADDR exported in sbatch",
	 SRUN "WORLD_SIZE=4;MASTER_ADDR=gpu-03;MASTER_PORT=12345", LAUNCHER_SRUN, 2, 4, 0, -1, 1, 2,
	 "gpu-03", 12345, false, "42.0", NULL, NULL, NULL},
	{"srun --mpi=pmi2", SRUN "PMI_RANK=2;PMI_SIZE=4;PMI_FD=9;PMI_JOBID=42.0", LAUNCHER_SRUN, 2,
	 4, 0, -1, 1, 2, "gpu-07", -1, false, "42.0", NULL, NULL, NULL},
	{"srun, tasks of too few nodes", SRUN "SLURM_STEP_TASKS_PER_NODE=4", LAUNCHER_SRUN, 2, 4, 0,
	 -1, 1, 2, NULL, -1, false, "42.0", NULL, "SLURM_STEP_TASKS_PER_NODE is '4'", NULL},
	{"srun, tasks that are none", SRUN "SLURM_STEP_TASKS_PER_NODE=2(x", LAUNCHER_SRUN, 2, 4, 0,
	 -1, 1, 2, NULL, -1, false, "42.0", NULL, "SLURM_STEP_TASKS_PER_NODE is '2(x'", NULL},
	{"srun, broken list of nodes",
	 "SLURM_STEP_ID=1;SLURM_PROCID=0;SLURM_NTASKS=1;SLURM_NODELIST=n[1-", LAUNCHER_SRUN, 0, 1,
	 -1, -1, -1, -1, NULL, -1, false, ".1", NULL, "SLURM_NODELIST cannot be read", NULL},
	{"sbatch's own shell",
	 "SLURM_JOB_ID=42;SLURM_PROCID=0;SLURM_LOCALID=0;SLURM_NTASKS=4;SLURM_NODEID=0;"
	 "SLURM_JOB_NODELIST=n[1-2];SLURM_TASKS_PER_NODE=3,1",
	 LAUNCHER_NONE, -1, -1, -1, -1, -1, -1, NULL, 0, false, NULL, NULL, "srun is missing",
	 NULL},
	{"salloc's step for its shell",
	 "SLURM_JOB_ID=42;SLURM_PROCID=0;SLURM_NTASKS=4;SLURM_STEP_ID=4294967290", LAUNCHER_NONE,
	 -1, -1, -1, -1, -1, -1, NULL, 0, false, NULL, NULL,
	 "interactive shell of a Slurm allocation", NULL},
	{"sbatch's own shell, Slurm 26.05",
	 "SLURM_JOB_ID=42;SLURM_PROCID=0;SLURM_NTASKS=4;SLURM_STEP_ID=-5", LAUNCHER_NONE, -1, -1,
	 -1, -1, -1, -1, NULL, 0, false, NULL, NULL, "the shell of an sbatch script", NULL},
	{"salloc's step for its shell, Slurm 26.05",
	 "SLURM_JOB_ID=42;SLURM_PROCID=0;SLURM_NTASKS=4;SLURM_STEP_ID=-6", LAUNCHER_NONE, -1, -1,
	 -1, -1, -1, -1, NULL, 0, false, NULL, NULL, "interactive shell of a Slurm allocation",
	 NULL},
	{"salloc's shell without a step", "SLURM_JOB_ID=42;SLURM_NTASKS=4;SLURM_JOB_NODELIST=n1",
	 LAUNCHER_NONE, -1, -1, -1, -1, -1, -1, NULL, 0, false, NULL, NULL, NULL, NULL},

	{"Open MPI on two hosts", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=2", LAUNCHER_OPENMPI, 1, 4, 1, 2,
	 -1, -1, NULL, -1, false, "315",
	 "Open MPI does not say where rank 0 runs: add `-x MASTER_ADDR=HOST` to mpirun", NULL,
	 "OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK, "
	 "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"Open MPI on this host", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4", LAUNCHER_OPENMPI, 1, 4, 1, 4,
	 -1, -1, "127.0.0.1", -1, false, "315", NULL, NULL, NULL},
	{"Open MPI with a master", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=2;MASTER_ADDR=h;MASTER_PORT=7",
	 LAUNCHER_OPENMPI, 1, 4, 1, 2, -1, -1, "h", 7, false, "315", NULL, NULL, NULL},
	{"Open MPI inside Slurm", SRUN OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4", LAUNCHER_OPENMPI, 1, 4,
	 1, 4, -1, -1, "127.0.0.1", -1, false, "315", NULL, NULL, NULL},
	{"Open MPI and a leftover RANK", OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=4;RANK=0;WORLD_SIZE=1",
	 LAUNCHER_OPENMPI, 1, 4, 1, 4, -1, -1, "127.0.0.1", -1, false, "315",
	 "RANK='0' is set as well and is not used", NULL, NULL},
	{"MPICH", "PMI_RANK=1;PMI_SIZE=2;PMI_FD=7;MPI_LOCALRANKID=1;MPI_LOCALNRANKS=2",
	 LAUNCHER_MPICH, 1, 2, 1, 2, -1, -1, "127.0.0.1", 0, false, NULL, NULL, NULL, NULL},
	{"MPICH inside Slurm", SRUN "PMI_RANK=1;PMI_SIZE=4;MPI_LOCALRANKID=0;MPI_LOCALNRANKS=2",
	 LAUNCHER_MPICH, 1, 4, 0, 2, -1, -1, NULL, 0, false, NULL, "-genv MASTER_ADDR HOST", NULL,
	 NULL},

	{"Intel MPI",
	 "PMI_RANK=1;PMI_SIZE=4;PMI_FD=9;PMI_PORT=n0:4711;MPI_LOCALRANKID=1;MPI_LOCALNRANKS=2;"
	 "I_MPI_ROOT=/opt/intel/oneapi/mpi/2021.15;I_MPI_HYDRA_DEBUG=0;MASTER_ADDR=n0",
	 LAUNCHER_MPICH, 1, 4, 1, 2, -1, -1, "n0", 0, false, NULL, NULL, NULL, NULL},
	{"MVAPICH2's mpirun_rsh", MVAPICH("MV2") "MASTER_ADDR=n0", LAUNCHER_MVAPICH, 3, 4, 1, 2, -1,
	 -1, "n0", 0, false, NULL, NULL, NULL,
	 "MV2_COMM_WORLD_RANK, MV2_COMM_WORLD_SIZE, MV2_COMM_WORLD_LOCAL_RANK, "
	 "MV2_COMM_WORLD_LOCAL_SIZE"},
	{"MVAPICH 3, no master", MVAPICH("MVP"), LAUNCHER_MVAPICH, 3, 4, 1, 2, -1, -1, NULL, 0,
	 false, NULL, "add `MASTER_ADDR=HOST` to mpirun_rsh", NULL, "MVP_COMM_WORLD_RANK"},
	{"Flux on two hosts", FLUX "FLUX_JOB_NNODES=2", LAUNCHER_FLUX, 3, 4, 1, -1, -1, 2, NULL, -1,
	 false, "f7",
	 "Flux does not say where rank 0 runs: add `--env=MASTER_ADDR=HOST` to flux run", NULL,
	 "FLUX_TASK_RANK, FLUX_JOB_SIZE, FLUX_TASK_LOCAL_ID"},
	{"Flux on one host", FLUX "FLUX_TASK_LOCAL_ID=3;FLUX_JOB_NNODES=1", LAUNCHER_FLUX, 3, 4, 1,
	 4, -1, 1, "127.0.0.1", -1, false, "f7", NULL, NULL, NULL},
	{"Flux, more local tasks than there are", "FLUX_TASK_LOCAL_ID=4;FLUX_JOB_NNODES=1;" FLUX,
	 LAUNCHER_FLUX, 3, 4, 4, -1, -1, 1, NULL, -1, false, "f7",
	 "Flux does not say where rank 0 runs", "FLUX_TASK_LOCAL_ID is 4", NULL},
	{"torchrun under Flux", FLUX "FLUX_JOB_NNODES=2;" TORCHRUN, LAUNCHER_TORCHRUN, 3, 4, 1, 2,
	 1, 2, "10.0.0.1", 29500, false, "job7.2", NULL, NULL, NULL},
	{"mpirun in a task of Flux",
	 "OMPI_COMM_WORLD_RANK=3;OMPI_COMM_WORLD_SIZE=8;OMPI_COMM_WORLD_LOCAL_SIZE=8;" FLUX
	 "FLUX_JOB_NNODES=4;PMIX_NAMESPACE=3",
	 LAUNCHER_OPENMPI, 3, 8, -1, 8, -1, -1, "127.0.0.1", -1, false, "3", NULL, NULL, NULL},
	{"mpirun of MPICH in a task of Flux",
	 "FLUX_TASK_RANK=0;FLUX_JOB_SIZE=1;PMI_RANK=2;PMI_SIZE=4;MPI_LOCALNRANKS=4;PMI_JOBID=5",
	 LAUNCHER_MPICH, 2, 4, -1, 4, -1, -1, "127.0.0.1", -1, false, "5", NULL, NULL, NULL},
	{"a shell of flux batch", "FLUX_URI=local:///x;FLUX_JOB_ID=f7", LAUNCHER_NONE, -1, -1, -1,
	 -1, -1, -1, NULL, 0, false, NULL, NULL, NULL, NULL},
	{"PALS", PALS "PMI_RANK=5;PMI_SIZE=8;PMI_LOCAL_RANK=1;PMI_LOCAL_SIZE=4;MASTER_ADDR=x1",
	 LAUNCHER_PALS, 5, 8, 1, 4, 1, -1, "x1", -1, false, "a1", NULL, NULL,
	 "PALS_RANKID, PMI_SIZE, PALS_LOCAL_RANKID, PMI_LOCAL_SIZE, PALS_NODEID"},
	{"PALS with PMIx", PALS "PMIX_RANK=5", LAUNCHER_PALS, 5, -1, 1, -1, 1, -1, NULL, -1, false,
	 "a1", "", "PMI_SIZE is not set beside PALS_RANKID", NULL},
	{"srun on a Cray", SRUN PALS "PMI_RANK=2;PMI_SIZE=4;PMI_LOCAL_RANK=0;PMI_LOCAL_SIZE=2",
	 LAUNCHER_SRUN, 2, 4, 0, -1, 1, 2, "gpu-07", -1, false, "42.0", NULL, NULL, NULL},
	{"jsrun, which speaks to Open MPI", JSRUN OMPI "OMPI_COMM_WORLD_LOCAL_SIZE=2",
	 LAUNCHER_JSRUN, 1, 4, 1, 2, -1, -1, NULL, -1, false, "88.315",
	 "jsrun does not say where rank 0 runs: add `-E MASTER_ADDR=HOST` to jsrun", NULL,
	 "JSM_NAMESPACE_RANK, JSM_NAMESPACE_SIZE"},

	{"AWS Batch, the main node", BATCH "AWS_BATCH_JOB_NODE_INDEX=0", LAUNCHER_AWS_BATCH, 0, 3,
	 0, 1, 0, 3, NULL, -1, false, "j-1", "one rank per node", NULL,
	 "AWS_BATCH_JOB_NODE_INDEX, AWS_BATCH_JOB_NUM_NODES"},
	{"AWS Batch, another",
	 BATCH "AWS_BATCH_JOB_NODE_INDEX=2;AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.1",
	 LAUNCHER_AWS_BATCH, 2, 3, 0, 1, 2, 3, "10.0.0.1", -1, false, "j-1", "one rank per node",
	 NULL, "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"},
	{"AWS Batch, the last node is the main one",
	 "AWS_BATCH_JOB_ID=j-1#0;AWS_BATCH_JOB_NUM_NODES=3;AWS_BATCH_JOB_MAIN_NODE_INDEX=2;"
	 "AWS_BATCH_JOB_NODE_INDEX=0;AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.1",
	 LAUNCHER_AWS_BATCH, 1, 3, 0, 1, 1, 3, "10.0.0.1", -1, false, "j-1", "one rank per node",
	 NULL, NULL},
	{"AWS Batch, torchrun in it", BATCH "AWS_BATCH_JOB_NODE_INDEX=1;" TORCHRUN,
	 LAUNCHER_TORCHRUN, 3, 4, 1, 2, 1, 2, "10.0.0.1", 29500, false, "job7.2", NULL, NULL, NULL},
	{"AWS Batch, a job of one node", "AWS_BATCH_JOB_ID=j-1;AWS_BATCH_CE_NAME=ce", LAUNCHER_NONE,
	 -1, -1, -1, -1, -1, -1, NULL, 0, false, NULL, NULL, NULL, NULL},

	{"SageMaker", SAGEMAKER "SM_CURRENT_HOST=algo-2", LAUNCHER_SAGEMAKER, 2, 3, 0, 1, 2, 3,
	 "algo-1", 7777, false, "t1", "one rank per host", NULL, "SM_HOSTS, SM_CURRENT_HOST"},
	{"SageMaker, ten before two", SAGEMAKER "SM_CURRENT_HOST=algo-10", LAUNCHER_SAGEMAKER, 1, 3,
	 0, 1, 1, 3, "algo-1", 7777, false, "t1", "one rank per host", NULL, NULL},
	{"SageMaker, torchrun in it", SAGEMAKER "SM_CURRENT_HOST=algo-2;" TORCHRUN,
	 LAUNCHER_TORCHRUN, 3, 4, 1, 2, 1, 2, "10.0.0.1", 29500, false, "job7.2", NULL, NULL, NULL},
	{"SageMaker, not one of them", SAGEMAKER "SM_CURRENT_HOST=b", LAUNCHER_SAGEMAKER, -1, -1,
	 -1, -1, -1, -1, NULL, 7777, false, "t1", "", "SM_CURRENT_HOST 'b'", NULL},
	{"SageMaker, no list", "SM_HOSTS={};SM_CURRENT_HOST=b", LAUNCHER_SAGEMAKER, -1, -1, -1, -1,
	 -1, -1, NULL, 7777, false, NULL, NULL, "SM_HOSTS is '{}'", NULL},

	{"Kubeflow v1",
	 "KUBERNETES_PORT=tcp://10.0.0.1:443;RANK=1;WORLD_SIZE=3;MASTER_ADDR=job-master-0;"
	 "MASTER_PORT=23456;PYTHONUNBUFFERED=0",
	 LAUNCHER_KUBEFLOW, 1, 3, 0, 1, 1, 3, "job-master-0", 23456, false, NULL,
	 "RANK and WORLD_SIZE count pods here", NULL, NULL},
	{"torchrun in a pod", "KUBERNETES_PORT=tcp://10.0.0.1:443;" TORCHRUN, LAUNCHER_TORCHRUN, 3,
	 4, 1, 2, 1, 2, "10.0.0.1", 29500, false, "job7.2", NULL, NULL, NULL},
	{"Kubeflow v2",
	 "PET_NNODES=2;PET_NPROC_PER_NODE=8;PET_NODE_RANK=1;PET_MASTER_ADDR=h;PET_MASTER_PORT="
	 "29400",
	 LAUNCHER_KUBEFLOW, 1, 2, 0, 1, 1, 2, "h", 29400, false, NULL,
	 "PET_NODE_RANK and PET_NNODES count pods here", NULL, NULL},
	{"PyTorchJob with eight processes in each of two pods",
	 "KUBERNETES_PORT=tcp://10.0.0.1:443;RANK=1;WORLD_SIZE=16;MASTER_ADDR=job-master-0;"
	 "MASTER_PORT=23456;PET_NNODES=2;PET_NPROC_PER_NODE=8;PET_NODE_RANK=1;"
	 "PET_MASTER_ADDR=job-master-0;PET_MASTER_PORT=23456",
	 LAUNCHER_KUBEFLOW, 1, 2, 0, 1, 1, 2, "job-master-0", 23456, false, NULL,
	 "PET_NODE_RANK and PET_NNODES count pods here", NULL, NULL},
	{"Ray Train's worker",
	 "KUBERNETES_PORT=tcp://10.0.0.1:443;RANK=3;WORLD_SIZE=4;LOCAL_RANK=1;LOCAL_WORLD_SIZE=2;"
	 "NODE_RANK=1;MASTER_ADDR=10.0.0.1;MASTER_PORT=29500",
	 LAUNCHER_ENV, 3, 4, 1, 2, -1, -1, "10.0.0.1", 29500, false, NULL, NULL, NULL, NULL},
	{"Kubeflow v2, elastic", "PET_NNODES=1:4;PET_NODE_RANK=0", LAUNCHER_KUBEFLOW, 0, -1, 0, 1,
	 0, -1, NULL, 0, false, NULL, "count pods", "PET_NNODES is '1:4'", NULL},

	{"by hand", "RANK=1;WORLD_SIZE=2;MASTER_ADDR=fd00::1;MASTER_PORT=29500", LAUNCHER_ENV, 1, 2,
	 -1, -1, -1, -1, "fd00::1", 29500, false, NULL, NULL, NULL,
	 "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT"},
	{"by hand under srun", SRUN "RANK=1;WORLD_SIZE=2;MASTER_ADDR=h;MASTER_PORT=29500",
	 LAUNCHER_ENV, 1, 2, -1, -1, -1, -1, "h", 29500, false, NULL, NULL, NULL, NULL},
	{"by hand, no master", "RANK=1;WORLD_SIZE=2", LAUNCHER_ENV, 1, 2, -1, -1, -1, -1, NULL, 0,
	 false, NULL, NULL, "MASTER_ADDR is not", NULL},
	{"by hand, alone", "RANK=0;WORLD_SIZE=1", LAUNCHER_ENV, 0, 1, -1, -1, -1, -1, NULL, 0,
	 false, NULL, NULL, NULL, NULL},
	{"RANK alone", "RANK=0", LAUNCHER_NONE, -1, -1, -1, -1, -1, -1, NULL, 0, false, NULL, NULL,
	 "RANK is set and WORLD_SIZE is not", NULL},
	{"ours",
	 "WINDSOCK_RANK=5;WINDSOCK_WORLD_SIZE=6;WINDSOCK_LOCAL_RANK=1;"
	 "WINDSOCK_LOCAL_SIZE=2;WINDSOCK_NODE_RANK=2;WINDSOCK_NODES=3;WINDSOCK_MASTER_ADDR=h;"
	 "WINDSOCK_MASTER_PORT=4;WINDSOCK_RUN=r;RANK=0;WORLD_SIZE=1",
	 LAUNCHER_WINDSOCK, 5, 6, 1, 2, 2, 3, "h", 4, false, "r", NULL, NULL, NULL},
};

/* What cannot be: the trouble names the variable. */
static const struct {
	const char *env, *trouble;
} absurd[] = {
	{"RANK=abc;WORLD_SIZE=2;MASTER_ADDR=h",
	 "RANK is 'abc', not a whole number of 0 to 1048576"},
	{"RANK=-1;WORLD_SIZE=2;MASTER_ADDR=h", "RANK is '-1'"},
	{"RANK=1.0;WORLD_SIZE=2;MASTER_ADDR=h", "RANK is '1.0'"},
	{"RANK= 1;WORLD_SIZE=2;MASTER_ADDR=h", "RANK is ' 1'"},
	{"RANK=0x1;WORLD_SIZE=2;MASTER_ADDR=h", "RANK is '0x1'"},
	{"RANK=2;WORLD_SIZE=2;MASTER_ADDR=h", "RANK is 2 and WORLD_SIZE is 2, so it can be 0 to 1"},
	{"RANK=0;WORLD_SIZE=0;MASTER_ADDR=h", "WORLD_SIZE is '0'"},
	{"RANK=0;WORLD_SIZE=99999999999999999999;MASTER_ADDR=h",
	 "WORLD_SIZE is '99999999999999999999'"},
	{"RANK=\033[31m;WORLD_SIZE=2;MASTER_ADDR=h", "RANK is '?[31m'"},
	{"RANK=0;WORLD_SIZE=2;LOCAL_RANK=2;LOCAL_WORLD_SIZE=2;MASTER_ADDR=h",
	 "LOCAL_RANK is 2 and"},
	{"RANK=0;WORLD_SIZE=2;LOCAL_RANK=0;LOCAL_WORLD_SIZE=4;MASTER_ADDR=h",
	 "LOCAL_WORLD_SIZE is 4 in a world of 2"},
	{"RANK=0;WORLD_SIZE=2;MASTER_ADDR=-oProxy", "MASTER_ADDR is '-oProxy'"},
	{"RANK=0;WORLD_SIZE=2;MASTER_ADDR=h:29500", "MASTER_ADDR is 'h:29500'"},
	{"RANK=0;WORLD_SIZE=2;MASTER_ADDR=h;MASTER_PORT=0", "MASTER_PORT is '0'"},
	{"RANK=0;WORLD_SIZE=2;MASTER_ADDR=h;MASTER_PORT=65536", "MASTER_PORT is '65536'"},
	{"OMPI_COMM_WORLD_RANK=4;OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK is 4 and"},
	{"OMPI_COMM_WORLD_RANK=4", "OMPI_COMM_WORLD_SIZE is not set beside OMPI_COMM_WORLD_RANK"},
	{"PMI_RANK=x;PMI_SIZE=4", "PMI_RANK is 'x'"},
	{"SLURM_STEP_ID=0;SLURM_PROCID=9;SLURM_NTASKS=4",
	 "SLURM_PROCID is 9 and SLURM_NTASKS is 4"},
};

/* As getenv() does: what was returned stays. */
static const char *keep(const char *s)
{
	static struct arena a;

	return arena_strdup(&a, s);
}

static const char *from_table(const char *name, void *arg)
{
	char value[512];
	size_t n = strlen(name);

	for (const char *s = arg; *s; s += *s == ';') {
		size_t len = strcspn(s, ";");

		if (len > n && !strncmp(s, name, n) && s[n] == '=') {
			snprintf(value, sizeof(value), "%.*s", (int)(len - n - 1), s + n + 1);
			return keep(value);
		}
		s += len;
	}
	return NULL;
}

static void same(const char *got, const char *want)
{
	if (want)
		assert_string_equal(got ? got : "(none)", want);
	else
		assert_null(got);
}

static void part(const char *what, const char *got, const char *want)
{
	if (!want && got)
		fail_msg("%s: not expected: %s", what, got);
	if (want && (*want ? !got || !strstr(got, want) : false))
		fail_msg("%s: wanted '%s', got '%s'", what, want, got ? got : "(none)");
}

static void t_launchers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		const struct row *r = &rows[i];
		struct world w;

		world_from_env(from_table, (void *)(uintptr_t)r->env, &a, &w);
		part(r->what, w.trouble, r->trouble);
		part(r->what, w.note, r->note);
		if (r->from)
			part(r->what, w.from, r->from);
		assert_string_equal(launcher_name(w.launcher), launcher_name(r->launcher));
		assert_int_equal(w.rank, r->rank);
		assert_int_equal(w.size, r->size);
		assert_int_equal(w.local_rank, r->local_rank);
		assert_int_equal(w.local_size, r->local_size);
		assert_int_equal(w.node_rank, r->node_rank);
		assert_int_equal(w.nodes, r->nodes);
		same(w.master_addr, r->addr);
		same(w.run, r->run);
		assert_int_equal(w.master_port_held, r->held);
		if (r->port >= 0)
			assert_int_equal(w.master_port, r->port);
		else
			assert_uint_in_range(w.master_port, 20000, 29999);
	}
}

static void t_absurd(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(absurd); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct world w;

		world_from_env(from_table, (void *)(uintptr_t)absurd[i].env, &a, &w);
		part(absurd[i].env, w.trouble, absurd[i].trouble);
	}
}

static const struct {
	const char *url;
	int rank, size;
	const char *env;
	int ret_rank, ret_size;
	const char *addr;
	int port;
	const char *file, *says; /* says: refused */
} inits[] = {
	{"tcp://10.0.0.1:29500", 1, 2, "", 1, 2, "10.0.0.1", 29500, NULL, NULL},
	{"tcp://[fd00::1]:29500", 0, 2, "", 0, 2, "fd00::1", 29500, NULL, NULL},
	{"tcp://h:1?rank=1&world_size=3", -1, -1, "", 1, 3, "h", 1, NULL, NULL},
	{"tcp://h:1?rank=1&world_size=3&timeout=x", 2, -1, "", 2, 3, "h", 1, NULL, NULL},
	{"tcp://h", 0, 2, "", 0, 0, NULL, 0, NULL, "the port is missing"},
	{"tcp://", 0, 2, "", 0, 0, NULL, 0, NULL, "no host and port"},
	{"tcp://h:99999", 0, 2, "", 0, 0, NULL, 0, NULL, "no host and port"},
	{"tcp://h:1", -1, 2, "", 0, 0, NULL, 0, NULL, "needs --rank"},
	{"tcp://h:1", 0, -1, "", 0, 0, NULL, 0, NULL, "needs --world-size"},
	{"tcp://h:1", 2, 2, "", 0, 0, NULL, 0, NULL, "rank 2 is not in a world of 2"},
	{"tcp://h:1?rank=x", -1, 2, "", 0, 0, NULL, 0, NULL, "whole numbers"},
	{"file:///shared/x", 1, 2, "", 1, 2, NULL, 0, "/shared/x", NULL},
	{"file://shared/x", 1, 2, "", 0, 0, NULL, 0, NULL, "three slashes"},
	{"http://x", 1, 2, "", 0, 0, NULL, 0, NULL, "unknown kind"},
	{"", 1, 2, "", 0, 0, NULL, 0, NULL, "unknown kind"},
	{"env://", -1, -1, TORCHRUN, 3, 4, "10.0.0.1", 29500, NULL, NULL},
	{"env://", 1, 2, "MASTER_ADDR=h;MASTER_PORT=5", 1, 2, "h", 5, NULL, NULL},
	{"env://", 1, 2, "", 0, 0, NULL, 0, NULL, "MASTER_ADDR is not set"},
	{"env://", -1, -1, "", 0, 0, NULL, 0, NULL, "needs --rank"},
	{"env://", -1, -1, "RANK=2;WORLD_SIZE=2;MASTER_ADDR=h", 0, 0, NULL, 0, NULL, "RANK is 2"},
};

static void t_init(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(inits); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct world w;
		struct err e = {0};
		const struct world_init said = {inits[i].url, inits[i].rank, inits[i].size};
		int rc = world_from_init(&said, from_table, (void *)(uintptr_t)inits[i].env, &a, &w,
					 &e);

		part(inits[i].url, rc ? e.msg : NULL, inits[i].says);
		if (rc) {
			assert_int_equal(e.kind, ERR_USAGE);
			continue;
		}
		assert_int_equal(w.rank, inits[i].ret_rank);
		assert_int_equal(w.size, inits[i].ret_size);
		same(w.master_addr, inits[i].addr);
		same(w.init_file, inits[i].file);
		assert_int_equal(w.master_port, inits[i].port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_launchers),
		cmocka_unit_test(t_absurd),
		cmocka_unit_test(t_init),
	};

	return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
