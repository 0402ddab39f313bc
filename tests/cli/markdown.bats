#!/usr/bin/env bats
# --format markdown: what is pasted into an issue says the verdict first, has every measurement, and
# the commands to type as they are typed.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    PATH=$BIN:$PATH
}

@test "markdown: the verdict, what is wrong, what to type, and the command in it mends it" {
    export NCCL_SOCKET_IFNAME=nosuch0
    run -1 --separate-stderr ifprobe --check --format markdown
    [ "${lines[0]}" = "## ifprobe: FAIL" ]
    grep -qF '| :x: fail | lint.ifname.nomatch | NCCL\_SOCKET\_IFNAME (environment) |' <<<"$output"
    [ "$(sed -n '/^```sh$/,/^```$/p' <<<"$output" | sed '1d;$d')" = \
        "# lint.ifname.nomatch NCCL_SOCKET_IFNAME (environment)"$'\n''eval "$(ifprobe --suggest)"' ]
}

@test "markdown: the rows that ncclbench measured, as many columns in each" {
    run -0 --separate-stderr ncclbench -b 1K -e 4K -n 2 --format markdown
    [ "${lines[0]}" = "## ncclbench: PASS" ]
    rows=$(sed -n '/^### results$/,$p' <<<"$output" | grep '^| all')
    [ "$(wc -l <<<"$rows")" = 6 ] # three sizes, out of place and in place
    columns=$(sed -n '/^### results$/,$p' <<<"$output" | grep '^| coll |')
    [ "$(tr -dc '|' <<<"$rows" | wc -c)" = $((6 * $(tr -dc '|' <<<"$columns" | wc -c))) ]
    [ "$(awk -F'|' '{ print $3 + 0 }' <<<"$rows" | sort -nu | paste -sd' ')" = "1024 2048 4096" ]
}

@test "markdown: advice on what is not wrong is there, too; quiet leaves it out" {
    run -0 --separate-stderr windsock --here --budget 2500ms --format markdown
    grep -q '^| :fast_forward: skip | stage.training ' <<<"$output"
    grep -q '^windsock --here --budget [0-9]*s   # or without a budget$' <(sed -n '/^### What to type$/,$p' <<<"$output")
    run -0 --separate-stderr windsock --here --budget 2500ms --format markdown --quiet
    run ! grep -- '--budget' <<<"$output"
}

@test "markdown: quiet leaves what is wrong" {
    run -0 --separate-stderr ifprobe --format markdown --quiet
    run ! grep white_check_mark <<<"$output"
}

@test "markdown: a picture made of letters stays one" {
    "$ROOT/scripts/lab" run 1 -- true 2>/dev/null || skip "no network namespaces can be made here"
    run -0 --separate-stderr "$ROOT/scripts/lab" run 2 -- env PATH="$PATH" portcheck --hosts lab --format markdown
    [ "$(sed -n '/^```$/,/^```$/p' <<<"$output" | sed '1d;$d' | head -n 3)" = \
        "from \\ to  0 1"$'\n  0 node0  . +\n  1 node1  + .' ]
    grep -qxF '| from | to | state | ms | path\_mtu |' <<<"$output"
    grep -qx '| node0 | node1 | ok | [0-9.e-]* | 1500 |' <<<"$output"
}
