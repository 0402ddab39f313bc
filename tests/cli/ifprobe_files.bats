#!/usr/bin/env bats
# --check: files that settings name, and that are not here, are none of that kind, or were made for
# another machine.
bats_require_minimum_version 1.5.0
load ifprobe.sh

fix() { jq -r '.findings[] | select(.check | startswith("lint.")).fix[]' <<<"$output"; }

@test "files: what an image's nccl.conf names and does not have" {
    printf '%s\n' '# of the image' NCCL_TOPO_FILE=/nope.xml NCCL_GRAPH_FILE=/nope2.xml NCCL_NET_PLUGIN=/nope.so >conf
    export NCCL_CONF_FILE=$PWD/conf
    run -1 ifprobe --check
    [[ $output == *"lint.file"*"NCCL_TOPO_FILE ($PWD/conf:2)"*"/nope.xml is not here"* ]]
    [[ $output == *"NCCL_GRAPH_FILE ($PWD/conf:3)"*"/nope2.xml is not here"*"NCCL ends"* ]]
    run -1 ifprobe --check --json
    [ "$(found lint.file "NCCL_TOPO_FILE ($PWD/conf:2)")" = fail ]
    [ "$(found lint.file "NCCL_GRAPH_FILE ($PWD/conf:3)")" = fail ]
    [ "$(found lint.plugin)" = warn ]
    bash -c "$(fix)" # each at its own line
    run -0 ifprobe --check --json
    [ -z "$(found lint.file)$(found lint.plugin)" ]
    [ "$(grep -c '^#' conf)" = 4 ]
}

@test "files: a plug-in in a folder that is built into libnccl is none that is missing" {
    command -v cc >/dev/null || skip "no compiler"
    mkdir -p lib/plug
    echo 'const char said[] = "NCCL version 2.28.9+cuda12.8";' >nccl.c
    cc -shared -fPIC -o lib/libnccl.so.2 -Wl,-rpath,'$ORIGIN/plug' nccl.c
    cp lib/libnccl.so.2 lib/plug/libnccl-net-mine.so
    export WINDSOCK_NCCL=$PWD/lib/libnccl.so.2 NCCL_NET_PLUGIN=mine
    run -0 ifprobe --check --json
    [ -z "$(found lint.plugin)" ]
    NCCL_NET_PLUGIN=other run -0 ifprobe --check
    [[ $output == *"other (or libnccl-net-other.so) is not on the loader's path here: NCCL says so"*"or in a folder built into libnccl"* ]]
}

@test "files: the line that NCCL's parser would refuse" {
    printf '%s\n' '<?xml version="1.0"?>' '<system version="1"/>' >topo.xml
    NCCL_TOPO_FILE=$PWD/topo.xml run -1 ifprobe --check
    [[ $output == *"line 1: it begins with <?xml"* ]]
    [[ $output == *"-> unset NCCL_TOPO_FILE"* ]]
    sed -i 1d topo.xml
    NCCL_TOPO_FILE=$PWD/topo.xml run -0 ifprobe --check --json
    [ -z "$(found lint.file)" ]
}

@test "files: one that this user may not read" {
    [ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
    dir=$(mktemp -d /tmp/ifprobe_files.XXXXXX) # which that one can reach, as the build and this test's folder need not be
    export NCCL_TOPO_FILE=$dir/topo.xml
    chmod 755 "$dir"
    cp "$BIN/ifprobe" "$dir"
    echo '<system version="1"/>' >"$dir/topo.xml"
    chmod 600 "$dir/topo.xml"
    run -0 ifprobe --check --json
    [ -z "$(found lint.file)" ]
    run -1 --separate-stderr setpriv --reuid 65534 --clear-groups "$dir/ifprobe" --check --json
    [ "$(jq -r '.findings[] | select(.check == "lint.file").message' <<<"$output" | cut -d: -f1)" = \
        "$dir/topo.xml may not be read by this user" ]
}

teardown() {
    [ ! "${dir-}" ] || rm -rf "$dir"
}

@test "files: a topology of another machine" {
    local top=$BATS_FILE_TMPDIR/hgx-h100 pci
    topology() { # PCI ADDRESSES OF GPUS...
        echo '<system version="1"><cpu numaid="0">'
        printf '<pci busid="%s" class="0x030200"/>\n' "$@"
        sed -n 's/^rdma .*pci=\([^ ]*\).*/<pci busid="\1" class="0x020700"\/>/p' "$ROOT/tests/sysroot/hgx-h100.host"
        echo '</cpu></system>'
    }
    mapfile -t pci < <(grep -o '[^/ ]* class=0x0302' "$ROOT/tests/sysroot/hgx-h100.host" | cut -d' ' -f1)
    [ "${#pci[@]}" = 8 ]
    export NCCL_TOPO_FILE=/topo.xml
    topology "${pci[@]}" >"$top/topo.xml"
    run -0 on hgx-h100 --check --json
    [ -z "$(found lint.file)$(found lint.file.machine)" ]
    topology "${pci[@]:0:4}" >"$top/topo.xml"
    run -0 on hgx-h100 --check --json
    [ "$(found lint.file.machine)" = warn ]
    [[ $(jq -r '.findings[] | select(.check == "lint.file.machine").message' <<<"$output") == \
        "/topo.xml has 4 GPUs and this host 8 (${pci[4]} is not in it): "* ]]
    topology "${pci[@]}" 0001:00:00.0 >"$top/topo.xml"
    run -0 on hgx-h100 --check --json
    [[ $(jq -r '.findings[] | select(.check == "lint.file.machine").message' <<<"$output") == \
        "/topo.xml has 9 GPUs and this host 8 (0001:00:00.0 is not here): "* ]]
}

@test "files: a log and dumps that cannot be made" {
    export NCCL_DEBUG=INFO NCCL_DEBUG_FILE=$PWD/none/%h.%p NCCL_TOPO_DUMP_FILE=$PWD/none/topo.xml
    run -0 ifprobe --check --json
    [ "$(found lint.file "NCCL_DEBUG_FILE (environment)")" = warn ]
    [ "$(found lint.file "NCCL_TOPO_DUMP_FILE (environment)")" = warn ]
    bash -c "$(fix)"
    run -0 ifprobe --check --json
    [ -z "$(found lint.file)" ]
}

@test "files: a plug-in's path that leads to no library" {
    local f
    : >empty.so
    printf '<html>not found</html>' >page.so # as a download may leave
    for f in empty.so page.so; do
        NCCL_NET_PLUGIN=$PWD/$f run -0 ifprobe --check
        [[ $output == *"warn  lint.plugin "*"/$f is no shared library: NCCL says so at NCCL_DEBUG=INFO alone"* ]]
    done
    NCCL_NET_PLUGIN=$(readlink -f /bin/sh) run -0 ifprobe --check
    [[ $output != *lint.plugin* ]]
}
