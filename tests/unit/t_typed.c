/* Which fixes are commands: only these may stand where one pastes. */
#include "bench/ranks/relay.h"
#include "lib/core/err.h"
#include "lib/core/fix.h"
#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "lib/report/report.h"
#include "lib/report/typed.h"
#include "probes/log/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void who_writes_it_says_which(void **state UNUSED)
{
	static const struct {
		const char *fix, *shown, *mark;
	} fixes[] = {
		{"sudo reboot", "sudo reboot", "->"},
		{"- reboot, or replace it", "reboot, or replace it", " -"},
		{"- --trust-remote-code", "--trust-remote-code", " -"},
		{"nvidia-smi says more", "nvidia-smi says more", "->"}, /* nobody guesses */
		{"-", "-", "->"},
		{"", "", "->"},
	};

	for (size_t i = 0; i < ARRAY_LEN(fixes); i++) {
		assert_string_equal(fix_text(fixes[i].fix), fixes[i].shown);
		assert_string_equal(fix_mark(fixes[i].fix), fixes[i].mark);
		assert_int_equal(fix_is_typed(fixes[i].fix), *fixes[i].mark == '-');
	}
}

static void capitals_are_filled_in(void **state UNUSED)
{
	static const struct {
		const char *fix;
		bool has;
	} rows[] = {
		{"srun --exclude=node2 ...", true},
		{"docker run --gpus all ...   # again", true},
		{"NCCL_DEBUG=INFO ... 2>&1 | ncclwhy", true},
		{"eval \"$(ifprobe --suggest --peer PEER)\"   # pins it", true},
		{"sudo ip link set DEV up", true},
		{"sudo firewall-cmd --zone=trusted --add-source=CLUSTER-SUBNET", true},
		{"export MASTER_ADDR=ADDRESS-OF-RANK-0", true},
		{"export MASTER_ADDR=ADDRESS_OF_RANK_0", true},
		{"portcheck GPU-01", false},
		{"export MASTER_ADDR=ADDRESS", true},
		{"curl -sI https://NODE/v2/", true},
		{"portcheck HEAD:8265", true},
		{"ls\nssh HOST true", true},
		{"export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH", false},
		{"sudo iptables -t mangle -A POSTROUTING -p tcp --syn -j TCPMSS", false},
		{"sudo iptables -D KUBE-FIREWALL 1; sudo iptables -D DOCKER-USER 2", false},
		{"export NCCL_NET=\"AWS Libfabric\"", false},
		{"env | grep SLURM_.*TASKS", false},
		{"windsock --hosts GPU-A,GPU-B", false},
		{"ssh ALPHA true", false},
		{"NCCL_DEBUG=INFO ncclbench --np 2 -N 3 2>&1 | ncclwhy", false},
		{"unset NCCL_SOCKET_IFNAME NCCL_IB_HCA", false},
		{"echo $HOME ${PATH} >/data/MODEL/x", false},
		{"dmesg | grep -E 'Xid|AER ...|OOM'   # of HOST ...", false},
		{"sudo iptables -I INPUT -s 10.0.0.0/8 -j ACCEPT", false},
		{"ps -eo stat,pid; ls -lS ../x; ping -M do 10.0.0.2; LC_ALL=C ls", false},
		{"cat >f <<'E'\nHOST ...\nE", false},
		{"- drain HOST ...", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (fix_has_hole(rows[i].fix) != rows[i].has)
			fail_msg("%s", rows[i].fix);
}

/* Of an error, and on the way to another process. */
static void a_hint_keeps_its_kind(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0}, there = {0};
	cJSON *event;

	assert_null(err_fix(&e, &a));
	(void)err_set(&e, ERR_SYS, "x");
	(void)err_command(&e, "ss -ltn   # at %s", "a");
	assert_string_equal(err_fix(&e, &a), "ss -ltn   # at a");
	event = relay_error("error", &e);
	relay_error_take(event, &there);
	cJSON_Delete(event);
	assert_true(there.typed);
	assert_string_equal(there.hint, e.hint);
	(void)err_hint(&e, "nvidia-smi says more");
	assert_string_equal(err_fix(&e, &a), "- nvidia-smi says more");
	(void)err_take_fix(&there, err_fix(&e, &a));
	assert_false(there.typed);
	assert_string_equal(there.hint, "nvidia-smi says more");
	(void)err_command(&e, "ls");
	(void)err_set(&e, ERR_SYS, "another");
	assert_false(e.typed);
}

static struct report *quiet(const char *format)
{
	struct report_opts o = {.command = "t", .format = format, .host = "n"};
	struct err e = {0};
	struct report *r = report_new(&o, &e);

	assert_non_null(r);
	return r;
}

/* What users read has no mark; who reads it back knows which is which. */
static void json_says_which_are_words(void **state UNUSED)
{
	struct report *r = quiet("json");
	struct finding *f = report_find(r, "a.b", NULL), *back = report_find(r, "a.b", NULL);
	cJSON *list = cJSON_CreateArray();
	struct err none = {.kind = ERR_USAGE}; /* nothing is printed then */
	const cJSON *o;

	finding_set(f, ST_WARN, "x");
	finding_fix(f, "sudo reboot");
	finding_fix(f, "- replace %s", "it");
	finding_fix(f, "ls");
	finding_fix(f, "- ask");
	finding_fix(f, "ssh HOST true");
	finding_json(list, f, "n");
	o = list->child;
	assert_string_equal(json_get(o, "fix")->child->next->valuestring, "replace it");
	assert_int_equal(cJSON_GetArraySize(json_get(o, "as_words")), 2);
	assert_int_equal(json_get(o, "as_words")->child->valueint, 1);
	assert_int_equal(cJSON_GetArraySize(json_get(o, "has_hole")), 1);
	assert_int_equal(json_get(o, "has_hole")->child->valueint, 4);
	envelope_finding(back, o);
	assert_int_equal(back->fix.n, 5);
	for (size_t i = 0; i < f->fix.n; i++)
		assert_string_equal(back->fix.v[i], f->fix.v[i]);
	cJSON_Delete(list);
	(void)report_end(r, &none);
}

/* A document of others: all that it has are commands, and what is no number is none. */
static void foreign_json_is_read(void **state UNUSED)
{
	static const char text[] = "{\"fix\":[\"ls\",\"\",7,\"smaller\"],"
				   "\"as_words\":[3,-1,1e300,\"0\",99]}";
	AUTO(arena_done) struct arena a = {0};
	cJSON *o = cJSON_Parse(text);
	str_list got = {0};

	fix_from_json(o, &a, &got);
	assert_int_equal(got.n, 2);
	assert_string_equal(got.v[0], "ls");
	assert_string_equal(got.v[1], "- smaller");
	cJSON_DeleteItemFromObjectCaseSensitive(o, "as_words");
	got.n = 0;
	fix_from_json(o, &a, &got);
	assert_string_equal(got.v[1], "smaller");
	cJSON_Delete(o);
	fix_from_json(NULL, &a, &got);
	assert_int_equal(got.n, 2);
}

/* Of its lines some are none: which of them are for root is not known then. */
static void lines_for_root_are_told_by_number(void **state UNUSED)
{
	static const struct {
		const char *text;
		uint64_t bits;
	} rows[] = {{"{\"fix\":[\"ls\",\"id\"],\"as_root\":[1]}", 2},
		    {"{\"fix\":[\"\",\"ls\",\"id\"],\"as_root\":[1]}", 0}};
	struct report *r = quiet("json");
	struct err none = {.kind = ERR_USAGE};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct finding *f = report_find(r, "a.b", NULL);
		cJSON *o = cJSON_Parse(rows[i].text);

		envelope_finding(f, o);
		assert_true(f->as_root == rows[i].bits);
		cJSON_Delete(o);
	}
	(void)report_end(r, &none);
}

static void what_two_checks_say_is_one_command(void **state UNUSED)
{
	assert_true(fix_is_same("nft add x", "node1", "sudo nft add x   # on node1", "node0"));
	assert_true(fix_is_same("ls   # here", "n", "ls", "n"));
	assert_true(fix_is_same("ls   # on n, if it is there", "m", "ls   # on n: look", "m"));
	assert_false(fix_is_same("ls", "node1", "ls", "node10"));
	assert_false(fix_is_same("ls   # on node1", "m", "ls   # on node2", "m"));
	assert_false(fix_is_same("ls a", "m", "ls ab", "m"));
	assert_false(fix_is_same("echo '# on n'", "m", "echo", "n"));
	assert_false(fix_is_same("ls   # here\nrm a", "n", "ls   # here\nrm b", "n"));
	assert_true(fix_is_same("ls   # here\nrm a", "n", "ls   # here\nrm a", "n"));
}

static void a_place_stands_in_the_remark(void **state UNUSED)
{
	static const struct {
		const char *fix, *placed;
	} rows[] = {
		{"ls", "ls   # on n1"},
		{"ls   # if it is old", "ls   # if it is old; on n1"},
		{"sed '/^[^#]/s/x/y/' /etc/hosts", "sed '/^[^#]/s/x/y/' /etc/hosts   # on n1"},
		{"echo \"a # b\"", "echo \"a # b\"   # on n1"},
		{"ls   # first\nrm x", "# on n1\nls   # first\nrm x"},
		{"cat >f <<'E'\nx\nE", "# on n1\ncat >f <<'E'\nx\nE"},
		{"- reboot,\nor replace it", "- reboot,\nor replace it (on n1)"},
		{"- reboot, or replace it", "- reboot, or replace it (on n1)"},
	};
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(fix_placed(&a, rows[i].fix, "on n1"), rows[i].placed);
		assert_string_equal(fix_placed(&a, rows[i].placed, "on n1"), rows[i].placed);
	}
}

/* A shell's grammar is the judge of all that the catalogue of failures has us print. */
static void a_shell_takes_what_is_typed(void **state UNUSED)
{
	size_t typed = 0, words = 0;
	FILE *sh = popen("bash -n", "w");

	assert_non_null(sh);
	for (size_t i = 0; i < signature_count; i++) {
		const char *line = signatures[i].fix;

		while (line && *line) {
			size_t n = strcspn(line, "\n");
			char one[1024];

			assert_true(n < sizeof(one));
			snprintf(one, sizeof(one), "%.*s", (int)n, line);
			if (fix_is_typed(one)) {
				fprintf(sh, "%s\n", one);
				typed++;
			} else {
				words++;
			}
			line += n + (line[n] == '\n');
		}
	}
	assert_int_equal(pclose(sh), 0);
	assert_true(typed > 100 && words > 100); /* neither of the two is all */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_writes_it_says_which),
		cmocka_unit_test(capitals_are_filled_in),
		cmocka_unit_test(a_hint_keeps_its_kind),
		cmocka_unit_test(json_says_which_are_words),
		cmocka_unit_test(foreign_json_is_read),
		cmocka_unit_test(lines_for_root_are_told_by_number),
		cmocka_unit_test(what_two_checks_say_is_one_command),
		cmocka_unit_test(a_place_stands_in_the_remark),
		cmocka_unit_test(a_shell_takes_what_is_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
