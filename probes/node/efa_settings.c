/* Variables that keep NCCL from EFA, or make it slow or stop there. */
#include "probes/node/efa.h"

#include <strings.h>

/* Adapters of the first generation cannot read remote memory. */
static bool reads_remote(const struct efa *e)
{
	static const char *const first[] = {"p3dn.", "g4dn.", "c5n.",  "m5n.",
					    "m5dn.", "r5n.",  "i3en.", "inf1."};

	for (size_t i = 0; e->instance && i < ARRAY_LEN(first); i++)
		if (starts_with(e->instance, first[i]))
			return false;
	return true;
}

static struct finding *wrong(struct efa *e, const char *name, const char *value, enum status st,
			     const char *why)
{
	struct finding *f = efa_note(e, "efa.setting", arena_printf(e->v->a, "%s=%s", name, value));

	finding_set(f, st, "%s", why);
	finding_fix(f, "unset %s", name);
	return f;
}

static bool provider(struct efa *e, const char *v)
{
	bool out = *v == '^', named = strcasestr(v, "efa") != NULL;

	if (out != named)
		return false;
	finding_expect(wrong(e, "FI_PROVIDER", v, efa_grave(e),
			     "keeps libfabric from EFA: the plug-in finds no adapter"),
		       "efa, or unset");
	return true;
}

static bool net(struct efa *e, const char *v)
{
	if (strcasecmp(v, "Socket") && strcasecmp(v, "IB"))
		return false;
	finding_expect(wrong(e, "NCCL_NET", v, efa_grave(e),
			     strcasecmp(v, "IB") ? "keeps NCCL from EFA: it uses TCP"
						 : "keeps NCCL from EFA: IB verbs cannot use it"),
		       "\"AWS Libfabric\", or unset");
	return true;
}

static bool net_plugin(struct efa *e, const char *v)
{
	if (strcasecmp(v, "none"))
		return false;
	finding_expect(
		wrong(e, "NCCL_NET_PLUGIN", v, efa_grave(e), "keeps NCCL from EFA: it uses TCP"),
		"unset");
	return true;
}

static bool rdma(struct efa *e, const char *v)
{
	if (streq(v, "1") && !reads_remote(e)) {
		finding_expect(wrong(e, "FI_EFA_USE_DEVICE_RDMA", v, ST_FAIL,
				     "asks for what the adapters of this instance type cannot do: "
				     "libfabric stops"),
			       "unset");
		return true;
	}
	if (streq(v, "0") && reads_remote(e)) {
		finding_expect(
			wrong(e, "FI_EFA_USE_DEVICE_RDMA", v, ST_WARN,
			      "keeps the adapters from reading remote memory: NCCL copies more"),
			"unset");
		return true;
	}
	return false;
}

static bool proto(struct efa *e, const char *v)
{
	if (*v != '^' && !strcasestr(v, "simple") && strcasestr(v, "LL")) {
		finding_expect(
			wrong(e, "NCCL_PROTO", v, ST_WARN,
			      "leaves out the protocol for large messages: a fraction of EFA's "
			      "bandwidth"),
			"unset");
		return true;
	}
	return false;
}

static bool log_level(struct efa *e, const char *v)
{
	if (strcasecmp(v, "debug") && strcasecmp(v, "trace"))
		return false;
	finding_expect(wrong(e, "FI_LOG_LEVEL", v, ST_WARN, "writes a line for each message: slow"),
		       "warn, or unset");
	return true;
}

void efa_settings(struct efa *e)
{
	static const struct {
		const char *name;
		bool (*judge)(struct efa *e, const char *v);
	} known[] = {
		{"FI_PROVIDER", provider},	 {"NCCL_NET", net},
		{"NCCL_NET_PLUGIN", net_plugin}, {"FI_EFA_USE_DEVICE_RDMA", rdma},
		{"NCCL_PROTO", proto},		 {"FI_LOG_LEVEL", log_level},
	};
	size_t bad = 0;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const char *v = getenv(known[i].name);

		bad += v && *v && known[i].judge(e, v);
	}
	if (!bad)
		finding_set(efa_note(e, "efa.setting", "this environment"), ST_PASS,
			    "nothing keeps NCCL from EFA");
}
