#include "bench/plugin/counters.h"

#include "bench/plugin/nvlink.h"
#include "bench/ranks/relay.h"
#include "lib/host/nvml_abi.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"

#include <math.h>

static const struct {
	const char *folder, *name, *meaning;
	bool severe;
} known[] = {
	{"counters", "symbol_error", "bits arrive wrong: the cable or a transceiver", true},
	{"counters", "link_error_recovery", "the link had to be trained again: the cable", true},
	{"counters", "link_downed", "the link went down: the cable, or the switch's port", true},
	{"counters", "port_rcv_errors", "packets arrive damaged: the cable", true},
	{"counters", "local_link_integrity_errors", "too many errors on the link: the cable", true},
	{"counters", "excessive_buffer_overrun_errors", "the receiver was overrun", false},
	{"counters", "port_xmit_discards", "packets were dropped before sending: congestion",
	 false},
	{"hw_counters", "local_ack_timeout_err", "no acknowledgement came: lost packets", false},
	{"hw_counters", "packet_seq_err", "packets were lost on the way and sent again", false},
	{"hw_counters", "out_of_sequence", "packets came out of order or were lost", false},
	{"hw_counters", "rnr_nak_retry_err", "the receiver was never ready", false},
	{"hw_counters", "rx_icrc_encapsulated", "packets arrive damaged: the cable", true},
	{"hw_counters", "roce_adp_retrans_to", "RoCE had to send again after a timeout", false},
	{"hw_counters", "retrans_pkts", "EFA had to send packets again", false},
	{"hw_counters", "retrans_timeout_events", "EFA waited in vain and sent again", false},
};

static void read_port(struct arena *a, const char *device, const char *port, counter_list *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		int64_t v = sysroot_int(a, -1, "/sys/class/infiniband/%s/ports/%s/%s/%s", device,
					port, known[i].folder, known[i].name);

		if (v >= 0)
			*LIST_ADD(a, ret) =
				(struct counter){.port = arena_printf(a, "%s/%s", device, port),
						 .name = known[i].name,
						 .meaning = known[i].meaning,
						 .severe = known[i].severe,
						 .value = (uint64_t)v};
	}
}

bool counters_may_be_here(void)
{
	struct nvml_api nvml;

	return sysroot_exists("/sys/class/infiniband") || (sysroot_is_real() && nvml_load(&nvml));
}

void counters_read(struct arena *a, uint64_t silence_ns, counter_list *ret)
{
	str_list devices = {0};

	sysroot_list(a, &devices, "/sys/class/infiniband");
	for (size_t d = 0; d < devices.n; d++) {
		str_list ports = {0};

		sysroot_list(a, &ports, "/sys/class/infiniband/%s/ports", devices.v[d]);
		for (size_t p = 0; p < ports.n; p++)
			read_port(a, devices.v[d], ports.v[p], ret);
	}
	if (sysroot_is_real())
		nvlink_read(a, silence_ns, ret);
}

static const struct counter *find(const counter_list *l, const struct counter *c)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].port, c->port) && streq(l->v[i].name, c->name))
			return &l->v[i];
	return NULL;
}

static const char *check_of(const struct counter *c)
{
	return starts_with(c->port, "GPU ") ? "nvlink.counter" : "rdma.counter";
}

static struct finding *grown_finding(const struct counter *c, uint64_t by, const char *host,
				     struct report *r)
{
	struct finding *f = report_find(r, check_of(c), c->port);

	f->host = host;
	finding_set(f, c->severe ? ST_FAIL : ST_WARN, "%s of %s grew by %zu during the run: %s",
		    c->name, c->port, (size_t)by, c->meaning);
	finding_value(f, (double)by, NULL);
	finding_expect(f, "0");
	if (starts_with(c->port, "GPU "))
		finding_fix(f, "nvidia-smi nvlink -e  # and reseat or replace that GPU or bridge");
	else if (c->severe)
		finding_fix(f, "mlxlink -d %.*s -c -e  # then reseat or replace the cable of %s",
			    (int)strcspn(c->port, "/"), c->port, c->port);
	else
		finding_fix(f, "rdma -p statistic show link %s", c->port);
	return f;
}

/* NVLinks that are up, and whose errors nobody tells. */
static size_t say_untold(const counter_list *l, const char *host, struct report *r,
			 void (*add)(struct report *r, struct finding *f))
{
	struct finding *f;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += !*l->v[i].name;
	if (!n)
		return 0;
	f = report_find(r, "nvlink.counter", "NVLinks");
	f->host = host;
	finding_set(f, ST_SKIP, "not compared: %zu are up, and the driver tells no errors of them",
		    n);
	add(r, f);
	return n;
}

void counters_judge(const counter_list *before, const counter_list *after, const char *host,
		    struct report *r, void (*add)(struct report *r, struct finding *f))
{
	size_t grown = 0, compared = 0, told = before->n - say_untold(before, host, r, add);
	struct finding *f;

	for (size_t i = 0; i < after->n; i++) {
		const struct counter *was = *after->v[i].name ? find(before, &after->v[i]) : NULL;

		compared += was != NULL;
		if (!was || after->v[i].value <= was->value) /* a smaller one was reset */
			continue;
		grown++;
		add(r, grown_finding(&after->v[i], after->v[i].value - was->value, host, r));
	}
	if (!told || grown)
		return;
	f = report_find(r, check_of(&before->v[0]), "all ports");
	f->host = host;
	if (compared)
		finding_set(f, ST_PASS, "%zu error counters, none grew during the run", compared);
	else
		finding_set(f, ST_SKIP,
			    "not compared: of %zu error counters none could be read again", told);
	add(r, f);
}

cJSON *counters_pack(const counter_list *before, const counter_list *after, const char *host)
{
	cJSON *o = relay_event("counters"), *list = json_array(o, "list");

	json_str(o, "host", host);
	for (size_t i = 0; i < before->n; i++) {
		const struct counter *c = &before->v[i], *is = find(after, c);
		cJSON *one = json_push_object(list);

		json_str(one, "port", c->port);
		json_str(one, "name", c->name);
		json_str(one, "meaning", c->meaning);
		json_num(one, "severe", c->severe);
		json_num(one, "before", (double)c->value);
		json_num(one, "after", is ? (double)is->value : NAN);
	}
	return o;
}

void counters_unpack(const cJSON *packed, struct arena *a, counter_list *before,
		     counter_list *after, const char **ret_host)
{
	const cJSON *o;

	*ret_host = json_copy(a, packed, "host") ?: "";
	cJSON_ArrayForEach (o, json_get(packed, "list")) {
		struct counter c = {.port = json_copy(a, o, "port") ?: "",
				    .name = json_copy(a, o, "name") ?: "",
				    .meaning = json_copy(a, o, "meaning") ?: "",
				    .severe = json_get_num(o, "severe", 0) > 0};

		c.value = json_get_count(o, "before", 0);
		*LIST_ADD(a, before) = c;
		if (!json_get(o, "after"))
			continue;
		c.value = json_get_count(o, "after", 0);
		*LIST_ADD(a, after) = c;
	}
}
