/* Names that NCCL does not read: who does, or which one was meant. */
#include "lib/core/near.h"
#include "probes/rules/nccl_known.h"
#include "probes/rules/torch.h"

#include <stdint.h>

/* With an underscore at their end: all names that begin so. */
static const char *const elsewhere[] = {
	/* Google's fast socket, GPUDirect-TCPX, -TCPXO and gIB */
	"NCCL_FASTRAK_",
	"NCCL_FAST_SOCKET_",
	"NCCL_GPUDIRECTTCPX_",
	"NCCL_SHIMNET_",
	"NCCL_GPUVIZ_",
	"NCCL_DYNAMIC_CHUNK_SIZE",
	"NCCL_FLOW_PLACEMENT_ENABLE",
	"NCCL_INLINE_THRESHOLD",
	"NCCL_MIN_ZCOPY_SIZE",
	"NCCL_NUM_FLOW_ENGINE",
	"NCCL_QUEUE_SKIP",
	"NCCL_RX_CPU_START",
	"NCCL_TX_CPU_START",
	"NCCL_SOCK_BUSY_POLL",
	"NCCL_SOCK_NOTSENT_LOWAT",
	"NCCL_SOCK_SEND_BUF",
	"NCCL_THREAD_SPIN_ENABLE",
	/* NVIDIA's plug-ins and examples of some, HPC-X's */
	"NCCL_SHARP_",
	"NCCL_UCX_",
	"NCCL_IBEXT_",
	"NCCL_IB_IS_GLOBAL",
	"NCCL_PLUGIN_P2P",
	"NCCL_INSPECTOR_",
	"NCCL_PROFILE_",
	"NCCL_PROFILER_CE_",
	"NCCL_PROFILER_LATENCY_",
	"NCCL_TUNER_CONFIG_",
	"NCCL_EP_",
	"NCCL_RESHARD_",
	"NCCL_CHECKPOINT_",
	"NCCL_OFI_",
	/* RCCL, Meta's NCCLX */
	"NCCL_NCHANNELS_PER_PEER",
	"NCCL_RINGS_REMAP",
	"NCCL_IB_SOCK_",
	"NCCL_CTRAN_",
	"NCCL_COLLTRACE_",
	"NCCL_CVARS_",
	"NCCL_TESTS_",
	/* where it is, for those who build with it */
	"NCCL_DIR",
	"NCCL_HOME",
	"NCCL_INCLUDE",
	"NCCL_INCLUDE_DIR",
	"NCCL_INCLUDE_DIRS",
	"NCCL_INSTALL_PATH",
	"NCCL_LIB",
	"NCCL_LIBRARIES",
	"NCCL_LIBRARY",
	"NCCL_LIBRARY_DIR",
	"NCCL_LIBRARY_PATH",
	"NCCL_LIB_DIR",
	"NCCL_LIB_DIRS",
	"NCCL_LIB_PATH",
	"NCCL_PATH",
	"NCCL_ROOT",
	"NCCL_ROOT_DIR",
	"NCCL_SO_PATH",
	"NCCL_SRC_DIR",
	"NCCL_VERSION",
};

/* What many call it, and the letters of which are far from its name. */
static const struct {
	const char *said, *meant;
} said[] = {
	{"NCCL_ALGORITHM", "NCCL_ALGO"},
	{"NCCL_DEBUG_LEVEL", "NCCL_DEBUG"},
	{"NCCL_DISABLE_IB", "NCCL_IB_DISABLE"},
	{"NCCL_DISABLE_P2P", "NCCL_P2P_DISABLE"},
	{"NCCL_DISABLE_SHM", "NCCL_SHM_DISABLE"},
	{"NCCL_HCA", "NCCL_IB_HCA"},
	{"NCCL_IB_DEVICE", "NCCL_IB_HCA"},
	{"NCCL_IB_DEVICES", "NCCL_IB_HCA"},
	{"NCCL_IFNAME", "NCCL_SOCKET_IFNAME"},
	{"NCCL_INTERFACE", "NCCL_SOCKET_IFNAME"},
	{"NCCL_LOG_LEVEL", "NCCL_DEBUG"},
	{"NCCL_NET_IFNAME", "NCCL_SOCKET_IFNAME"},
	{"NCCL_PROTOCOL", "NCCL_PROTO"},
	{"NCCL_SOCKET_IF", "NCCL_SOCKET_IFNAME"},
	{"NCCL_SOCKET_INTERFACE", "NCCL_SOCKET_IFNAME"},
	{"NCCL_TOPOLOGY_FILE", "NCCL_TOPO_FILE"},
};

bool nccl_known_elsewhere(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(elsewhere); i++) {
		const char *one = elsewhere[i];

		if (one[strlen(one) - 1] == '_' ? starts_with(name, one) : streq(name, one))
			return true;
	}
	return torch_knows_short(name);
}

/* Of a short word one letter may be wrong, of a longer one two. */
static bool is_nearer(const char *got, const char *word, size_t letters, size_t *best)
{
	size_t d = typing_errors(got, word);

	if (d > (letters < 8 ? 1 : 2) || d >= *best)
		return false;
	*best = d;
	return true;
}

const char *nccl_known_meant(const char *name)
{
	const char *meant = NULL;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		if (streq(said[i].said, name))
			return said[i].meant;
	for (size_t i = 0; i < nccl_known_n; i++)
		if (!nccl_known[i].gone &&
		    is_nearer(name, nccl_known[i].name,
			      strlen(nccl_known[i].name) - strlen("NCCL_"), &best))
			meant = nccl_known[i].name;
	return meant;
}

const char *nccl_word_meant(const char *got, const char *const *words, size_t n)
{
	const char *meant = NULL;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		if (!strcasecmp(got, words[i]))
			return words[i];
		if (strlen(words[i]) > 3 && is_nearer(got, words[i], strlen(words[i]), &best))
			meant = words[i];
	}
	return meant;
}
