/* The catalogue is well formed, and every signature fires where it must and
 * nowhere near. tests/logs/lines.tsv has the lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/file.h"
#include "probes/log/catalogue.h"
#include "probes/log/extract.h"
#include "probes/log/line.h"
#include "probes/node/xid.h"
#include "tests/unit/told.h"

static bool has_anchor(const struct signature *g, const char *line)
{
	for (const char *p = g->anchors; *p;) {
		size_t n = strcspn(p, "|");

		if (memmem(line, strlen(line), p, n))
			return true;
		p += n + (p[n] == '|');
	}
	return false;
}

static bool fires(const struct signature *g, const char *raw)
{
	AUTO(arena_done) struct arena a = {0};
	struct signature_re re;
	struct log_line l;

	line_parse(raw, strlen(raw), &l);
	assert_int_equal(signature_compile(&a, g, &re), 0);
	return signature_match(g, &re, l.text, l.body);
}

static void ids_are_unique(void **state UNUSED)
{
	assert_true(signature_count >= 200);
	for (size_t i = 0; i < signature_count; i++) {
		const char *id = signatures[i].id, *dash = strchr(id, '-');

		assert_non_null(dash);
		assert_int_equal(strspn(dash + 1, "0123456789"), 3);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(id, signatures[j].id);
		assert_int_equal(signature_find(id), (int)i);
	}
	assert_int_equal(signature_find("NO-000"), -1);
}

static void check_anchors(const char *whose, const char *anchors)
{
	for (const char *p = anchors; *p;) {
		size_t n = strcspn(p, "|");

		if (n < ANCHOR_MIN)
			fail_msg(
				"%s: the anchor '%.*s' is shorter than %d bytes and is never found",
				whose, (int)n, p, ANCHOR_MIN);
		p += n + (p[n] == '|');
	}
}

static void anchors_are_long_enough(void **state UNUSED)
{
	for (size_t i = 0; i < signature_count; i++)
		check_anchors(signatures[i].id, signatures[i].anchors);
	for (size_t i = 0; i < log_fact_count; i++)
		check_anchors("a fact of facts.c", log_facts[i].anchors);
}

static void weights_fit_tiers(void **state UNUSED)
{
	for (size_t i = 0; i < signature_count; i++) {
		const struct signature *g = &signatures[i];
		int low = g->tier == TIER_ROOT ? 45 : g->tier == TIER_EFFECT ? CONFIDENT : 1;
		int high = g->tier == TIER_HINT || g->tier == TIER_WRAPPER ? CONFIDENT - 1 : 98;

		if (g->weight < low || g->weight > high)
			fail_msg("%s: weight %d", g->id, g->weight);
	}
}

/* Every element of a template must name only what there is. */
static void check_template(const char *id, const char *s)
{
	AUTO(arena_done) struct arena a = {0};
	struct term_value v[16];
	size_t n = 0;

	for (; template_names[n]; n++)
		v[n] = (struct term_value){template_names[n], "x"};
	for (const char *p = s; (p = strchr(p, '{')); p++) {
		if (p[1] == '{') {
			p++;
		} else if (p[1] >= '1' && p[1] <= '9') {
			if (p[2] != '|')
				fail_msg("%s: a group needs an else: %s", id, p);
		}
	}
	for (const char *p = s; *p;) {
		size_t len = strcspn(p, "\n");
		const char *one = arena_strndup(&a, p, len);

		if (!strstr(one, "{1") && !strstr(one, "{2") &&
		    !fill_template(&(struct filling){.a = &a, .v = v, .n = n}, one, true))
			fail_msg("%s: unknown placeholder in: %s", id, one);
		p += len + (p[len] == '\n');
	}
}

static void texts_are_there(void **state UNUSED)
{
	for (size_t i = 0; i < signature_count; i++) {
		const struct signature *g = &signatures[i];
		const char *all[] = {g->component, g->meaning, g->causes, g->confirm, g->fix};
		AUTO(arena_done) struct arena a = {0};

		for (size_t k = 0; k < ARRAY_LEN(all); k++) {
			assert_non_null(all[k]);
			if (!*all[k] || strstr(all[k], "\n\n") ||
			    all[k][strlen(all[k]) - 1] == '\n')
				fail_msg("%s: text %zu is empty or has an empty line", g->id, k);
			if (strstr(all[k], "{rank|unknown}"))
				fail_msg("%s: 'rank unknown' is no answer: {who|a rank}", g->id);
			check_template(g->id, all[k]);
		}
		/* with nothing known there must still be a meaning */
		if (!fill_template(&(struct filling){.a = &a}, g->meaning, false))
			fail_msg("%s: the meaning needs an else", g->id);
	}
}

/* A command, or several with "; " between them, up to its remark, that is refused where who types
 * it is not root. What stands in the file of an image is root's anyway. */
static void check_sudo(const char *id, const char *line)
{
	static const char *const roots[] = {
		"apt-get install", "dmesg -",		"firewall-cmd -", "ip link set",
		"modprobe",	   "sysctl -w ",	"systemctl edit", "systemctl enable",
		"systemctl start", "systemctl restart", "systemctl stop", "ufw allow",
		"usermod -"};
	AUTO(arena_done) struct arena a = {0};
	const char *remark = strstr(line, "   #");
	const char *typed =
		arena_strndup(&a, line, remark ? (size_t)(remark - line) : strlen(line));

	if (strstr(line, "# in the image"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		if (starts_with(typed, roots[i]) || streq(typed, "reboot"))
			fail_msg("%s: without sudo: %s", id, line);
	if (strstr(typed, "> /etc/"))
		fail_msg("%s: the shell that opens that file is not root's: %s", id, line);
	if (strstr(typed, "tee -a /etc/hosts") && strstr(typed, "ADDRESS"))
		fail_msg("%s: typed as it stands it writes a word for an address: %s", id, line);
}

static void what_root_types_begins_with_sudo(void **state UNUSED)
{
	for (size_t i = 0; i < signature_count; i++) {
		const char *const lists[] = {signatures[i].confirm, signatures[i].fix};

		for (size_t k = 0; k < ARRAY_LEN(lists); k++)
			for (const char *p = lists[k]; *p;) {
				AUTO(arena_done) struct arena a = {0};
				size_t n = strcspn(p, "\n");

				check_sudo(signatures[i].id, arena_strndup(&a, p, n));
				p += n + (p[n] == '\n');
			}
	}
}

static void lines_fire(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	size_t n, *good = arena_alloc(&a, signature_count * sizeof(*good));
	size_t *bad = arena_alloc(&a, signature_count * sizeof(*bad));
	struct err e = {0};
	char *text;

	assert_int_equal(file_read("tests/logs/lines.tsv", 1 << 20, &a, &text, &n, &e), 0);
	for (char *line = text, *next; *line; line = next) {
		char *end = strchr(line, '\n'), *sign, *rest;
		int sig;
		bool want;

		assert_non_null(end);
		next = end + 1;
		*end = '\0';
		if (*line == '#')
			continue;
		sign = strchr(line, '\t');
		assert_non_null(sign);
		*sign++ = '\0';
		rest = strchr(sign, '\t');
		assert_non_null(rest);
		*rest++ = '\0';
		sig = signature_find(line);
		if (sig < 0)
			fail_msg("lines.tsv: no signature is called %s", line);
		want = *sign == '+';
		if (fires(&signatures[sig], rest) != want)
			fail_msg("%s %s: %s", line, want ? "does not fire on" : "fires on", rest);
		if (want && !has_anchor(&signatures[sig], rest))
			fail_msg("%s matches, but has no anchor in: %s", line, rest);
		(want ? good : bad)[sig]++;
	}
	for (size_t i = 0; i < signature_count; i++)
		if (!good[i] || !bad[i])
			fail_msg("%s has no line that %s", signatures[i].id,
				 good[i] ? "must not fire" : "fires");
}

/* What a job prints before it fails, and the echoes of a failure. */
static const char before[] =
	"node0:4711:4720 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.5<0>\n"
	"node1:4711:4720 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.6<0>\n"
	"node0:4711:4720 [0] NCCL INFO NET/IB : No device found.\n"
	"node0:4711:4720 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.5<0>\n"
	"node0:4711:4720 [0] NCCL INFO Using network Socket\n"
	"node1:4711:4720 [0] NCCL INFO Using network Socket\n"
	"node0:4711:4720 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
	"node1:4711:4720 [0] NCCL WARN socketProgress: Connection closed by remote peer node0<5>\n";
static const char after[] =
	"node1:4711:4720 [0] NCCL WARN Socket recv failed while polling for opId=0x7f1\n"
	"RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled system error\n"
	"[rank1]:[E1015 13:30:53.1 ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective "
	"operation timeout: WorkNCCL(SeqNum=6, OpType=ALLREDUCE, Timeout(ms)=600000) ran for "
	"600083 "
	"milliseconds before timing out.\n"
	"Sending process 4711 closing signal SIGTERM\n"
	"Traceback (most recent call last):\n"
	"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
	"srun: error: node0: task 0: Exited with exit code 1\n";

/* By it, or by another of its family that stands for it. */
static bool is_told(const struct cause *c, const char *id, size_t id_n)
{
	bool found = strncmp(c->sig->id, id, id_n) == 0;

	for (size_t i = 0; i < c->kin.n; i++)
		found |= strncmp(c->kin.v[i].sig->id, id, id_n) == 0;
	return found;
}

/* Where @id stands among the causes of a log that is @line between the two. */
static size_t place_of(const char *id, size_t id_n, const char *line, bool amid_noise)
{
	AUTO(told_done) struct told t;
	struct why_stream s;

	told_begin(&t, &s);
	if (amid_noise)
		why_feed(&s, before, strlen(before));
	why_feed(&s, line, strcspn(line, "\n") + 1);
	if (amid_noise)
		why_feed(&s, after, strlen(after));
	told_end(&t, &s);
	for (size_t i = 0; i < t.x.causes.n; i++)
		if (is_told(&t.x.causes.v[i], id, id_n))
			return i;
	return SIZE_MAX;
}

static bool takes_two_lines(const char *line)
{
	static const char *const ids[] = {
		"MPI-001", "PT-076",  "PT-100",	 "PT-101",  "RAY-022", "IF-027",  "CON-038",
		"IB-050",  "PT-103",  "PT-104",	 "PT-107",  "PT-108",  "PT-109",  "PT-110",
		"GPU-094", "GPU-095", "HNG-006", "EFA-022", "PT-112",  "PT-121",  "PT-123",
		"PT-124",  "PT-125",  "PT-127",	 "PT-128",  "PT-129",  "PT-130",  "PT-131",
		"GPU-105", "CTR-045", "CON-044", "SHM-017", "CTR-074", "PT-203",  "PT-204",
		"GPU-130", "GPU-132", "CON-045", "NET-014", "CON-046", "MPI-099", "DAT-039",
		"IB-068",  "NVS-018", "EFA-034", "PT-218",  "K8S-062", "GPU-139", "GPU-140",
		"IF-029",  "NET-016", "JAX-023", "CTR-076", "GPU-150", "GPU-151", "PT-230",
		"PT-231",  "IF-035",  "IF-036",	 "IF-037",  "IF-038",  "CON-050", "IB-072",
		"K8S-069", "K8S-070", "EFA-035", "PT-222",  "PT-223",  "K8S-077", "IB-073",
		"LIM-018", "LIM-019", "PT-240",	 "PT-241",  "PT-242",  "PT-243",  "PT-244"};

	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		if (starts_with(line, ids[i]))
			return true;
	return false;
}

/* Each good line alone is among the first three; what says what is wrong is the first amid noise.
 */
static void lines_explain(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	char *text;
	size_t n;

	assert_int_equal(file_read("tests/logs/lines.tsv", 1 << 20, &a, &text, &n, &e), 0);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		const char *sign = strchr(line, '\t'), *rest = sign + 3;
		size_t id_n = (size_t)(sign - line);
		const struct signature *g;

		if (*line == '#' || sign[1] != '+' || takes_two_lines(line))
			continue;
		g = &signatures[signature_find(arena_strndup(&a, line, id_n))];
		if (place_of(line, id_n, rest, false) > 2)
			fail_msg("%s is not among the first of: %.60s", g->id, rest);
		if (g->tier == TIER_ROOT && place_of(line, id_n, rest, true) != 0)
			fail_msg("%s is not the first amid noise: %.60s", g->id, rest);
		if (g->tier == TIER_EFFECT && place_of(line, id_n, rest, true) > 2)
			fail_msg("%s is not among the first amid noise: %.60s", g->id, rest);
	}
}

static bool fires_on_xid(const char *id, int code)
{
	char line[80];

	(void)snprintf(line, sizeof(line), "NVRM: Xid (PCI:0000:3b:00): %d, pid=45, x", code);
	return fires(&signatures[signature_find(id)], line);
}

/* What the table of the kernel's numbers says of one, the catalogue says too. */
static void numbers_agree(void **state UNUSED)
{
	static const char *const ids[] = {"XID-013", "XID-048", "XID-074", "XID-119", "GPU-011"};

	for (int code = 0; code < 250; code++) {
		const struct xid *x = xid_find(code);
		const char *want = !x				       ? NULL
				   : x->action == XID_PROGRAM	       ? "XID-013"
				   : x->is_memory		       ? "XID-048"
				   : code == 79			       ? "GPU-011"
				   : x->action < XID_RESET	       ? NULL
				   : strstr(x->meaning, "its NVLinks") ? "XID-074"
								       : "XID-119";
		/* of these the table says to look, or nothing: they hurt a job all the same */
		bool may = code == 45 || code == 61 || code == 122 || code == 123;
		const char *also = code == 45 ? "XID-013" : "XID-119";

		for (size_t i = 0; i < ARRAY_LEN(ids); i++)
			if (fires_on_xid(ids[i], code) !=
			    ((want && streq(want, ids[i])) || (may && streq(also, ids[i]))))
				fail_msg("%d: %s, and the table wants %s", code, ids[i],
					 want ? want : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_unique),
		cmocka_unit_test(anchors_are_long_enough),
		cmocka_unit_test(weights_fit_tiers),
		cmocka_unit_test(texts_are_there),
		cmocka_unit_test(lines_fire),
		cmocka_unit_test(lines_explain),
		cmocka_unit_test(numbers_agree),
		cmocka_unit_test(what_root_types_begins_with_sudo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
