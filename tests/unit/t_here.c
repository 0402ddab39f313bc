/*
 * here.c, and what a report does with it: a fix that root is to type here, where there is no sudo.
 * In a user namespace of its own, where everybody is root.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "lib/host/sysroot.h"
#include "lib/report/envelope.h"
#include "lib/report/here.h"
#include "lib/report/json.h"
#include "lib/report/report.h"
#include "probes/tally/tally.h"

#include <cmocka.h>

#include "tests/unit/report_sample.h"

static char folder[] = "/tmp/t_here.XXXXXX", with_sudo[64], output[64];

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	assert_int_equal(close(fd), 0);
}

/* The PATH has a sudo, or none. */
static void sudo_is(bool here)
{
	assert_int_equal(setenv("PATH", here ? with_sudo : "/nonexistent:/proc", 1), 0);
}

static int make_folder(void **state)
{
	char map[64];
	uid_t uid = geteuid();

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(with_sudo, sizeof(with_sudo), "/nonexistent::%s", folder);
	snprintf(output, sizeof(output), "%s/sudo", folder);
	write_file(output, "#!/bin/sh\n", 0755);
	snprintf(output, sizeof(output), "%s/out", folder);
	if (!uid)
		return 0;
	snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
	if (unshare(CLONE_NEWUSER)) /* these are root's lines: others see nothing of it */
		return 0;
	write_file("/proc/self/uid_map", map, 0);
	return 0;
}

static int remove_folder(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/sudo", folder);
	(void)unlink(path);
	(void)unlink(output);
	return rmdir(folder);
}

static void needs_root(void)
{
	if (geteuid())
		skip();
}

static void lines(void **state)
{
	static const struct {
		const char *line, *here; /* NULL: as it is */
	} cases[] = {
		{"sudo ip link set eth0 up", "ip link set eth0 up"},
		{"sudo sysctl -w a=1   # for good: sudo tee /etc/x",
		 "sysctl -w a=1   # for good: tee /etc/x"},
		{"sudo ip addr add A dev e   # or: sudo ip link set e down; it's gone",
		 "ip addr add A dev e   # or: ip link set e down; it's gone"},
		{"sudo a && sudo b || sudo c; sudo d | sudo e", "a && b || c; d | e"},
		{"echo '10.0.0.1 n' | sudo tee -a /etc/hosts",
		 "echo '10.0.0.1 n' | tee -a /etc/hosts"},
		{"for b in 1 2; do sudo setpci -s $b; done", "for b in 1 2; do setpci -s $b; done"},
		{"h=$(sudo cat x); printf '%s' \"$h\" | sudo tee x",
		 "h=$(cat x); printf '%s' \"$h\" | tee x"},
		{"sudo sh -c 'sudo x && echo \"sudo y\"'", "sh -c 'sudo x && echo \"sudo y\"'"},
		{"sudo nft list ruleset   # here and on node2",
		 "nft list ruleset   # here and on node2"},
		{"\tsudo x", NULL},
		{"", NULL},
		{"sudo", NULL},
		{"ip link", NULL},
		{"pseudo x; echo pseudo sudo x", NULL},
		{"do-it sudo x", NULL},
		{"undo sudo x", NULL},
		{"sudo -u app x", NULL},
		{"apt-get install sudo # sudo", NULL},
		{"windsock on 'n[1-8]' 'sudo sysctl -w a=1'", NULL},
		{"ssh node2 sudo date", NULL},
		{"ssh node2 \"sudo a; sudo b\"", NULL},
		{"echo 'unended; sudo x", NULL},
		{"echo \"unended; sudo x", NULL},
		{"echo \\'; echo \\", NULL},
		{"sudo nft insert rule inet t c accept   # on node2", NULL},
		{"sudo ufw allow 1   # on node2, if ufw runs there", NULL},
	};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	needs_root();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		sudo_is(false);
		assert_string_equal(here_line(&a, cases[i].line), cases[i].here ?: cases[i].line);
		if (!cases[i].here)
			assert_ptr_equal(here_line(&a, cases[i].line), cases[i].line);
		sudo_is(true);
		assert_ptr_equal(here_line(&a, cases[i].line), cases[i].line);
	}
	sudo_is(false);
	assert_null(here_line(&a, NULL));
	sysroot_set("/recorded"); /* that machine is another one */
	assert_ptr_equal(here_line(&a, cases[0].line), cases[0].line);
	sysroot_set(NULL);
	assert_string_equal(here_line(&a, cases[0].line), cases[0].here);
}

/* The findings of what @fill says, as programs read them. */
static cJSON *told(void (*fill)(struct report *r))
{
	struct report *r = open_report((struct report_opts){.format = "json", .output = output});
	char text[8192] = "";
	struct err e = {0};
	cJSON *doc;
	int fd;

	fill(r);
	assert_int_equal(report_end(r, &e), 1);
	fd = open(output, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	(void)close(fd);
	doc = json_parse(text, strlen(text), 16, &e);
	assert_non_null(doc);
	return doc;
}

static const char *fix_of(const cJSON *doc, int finding, int line)
{
	const cJSON *f = cJSON_GetArrayItem(json_get(doc, "findings"), finding);

	return cJSON_GetStringValue(cJSON_GetArrayItem(json_get(f, "fix"), line));
}

/* Of this host under each of its names, and of another. */
static void of_hosts(struct report *r)
{
	static const char *const hosts[] = {NULL, "node0", "node1"};

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct finding *f = report_find(r, "link.up", "eth0");

		finding_set(f, ST_FAIL, "is down");
		finding_fix(f, "ethtool eth0");
		finding_fix(f, "sudo ip link set eth0 up");
		f->host = hosts[i];
		report_add(r, f);
	}
}

static void findings(void **state)
{
	cJSON *doc;
	const cJSON *bits;

	(void)state;
	needs_root();
	sudo_is(false);
	doc = told(of_hosts);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(fix_of(doc, i, 0), "ethtool eth0");
		assert_string_equal(fix_of(doc, i, 1),
				    i < 2 ? "ip link set eth0 up" : "sudo ip link set eth0 up");
		bits = json_get(cJSON_GetArrayItem(json_get(doc, "findings"), i), "as_root");
		assert_int_equal(cJSON_GetArraySize(bits), i < 2);
		if (bits)
			assert_int_equal((int)cJSON_GetNumberValue(bits->child), 1);
	}
	cJSON_Delete(doc);
	sudo_is(true);
	doc = told(of_hosts);
	for (int i = 0; i < 3; i++) {
		assert_string_equal(fix_of(doc, i, 1), "sudo ip link set eth0 up");
		assert_null(json_get(cJSON_GetArrayItem(json_get(doc, "findings"), i), "as_root"));
	}
	cJSON_Delete(doc);
}

/* What hosts without sudo say alike is still known to change them: one line does it on all. */
static void on_all(void **state)
{
	static const char said[] =
		"{\"check\":\"link.up\",\"status\":\"fail\",\"message\":\"is down\","
		"\"fix\":[\"ip link set eth0 up\",\"ethtool eth0\"],"
		"\"as_root\":[0,-1,64,1e300,\"x\"]}";
	const struct host_way way = {.n = 2};
	struct report *r = open_report((struct report_opts){.format = "table", .output = output});
	struct tally t = {.a = report_arena(r), .r = r, .way = &way, .fold = true};
	struct err e = {0};
	cJSON *doc = json_parse(said, strlen(said), 8, &e);
	item_list all;

	(void)state;
	tally_take(&t, 0, "network", "n1", doc);
	tally_take(&t, 0, "network", "n2", doc);
	cJSON_Delete(doc);
	all = tally_folded(&t, 0, true);
	assert_int_equal(all.n, 1);
	assert_true(all.v[0].f->as_root == 1);
	assert_string_equal(tally_on_all(&t, all.v, all.v->f->fix.v[0]),
			    "windsock on 'n[1-2]' 'ip link set eth0 up'");
	assert_null(tally_on_all(&t, all.v, all.v->f->fix.v[1]));
	assert_int_equal(report_end(r, &e), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(findings),
		cmocka_unit_test(on_all),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
