#!/usr/bin/env bats
# ncclwhy: what NCCL set up, of a job that works, and where that is poor.
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    logs=$ROOT/tests/logs
    cd "$BATS_TEST_TMPDIR" || return
}

# said HOST RANK LINE...: what NCCL says there
said() {
    local head="$1:4$2:5$2 [$(($2 % 2))] NCCL INFO"
    shift 2
    printf "$head %s\n" "$@"
}

# world: of rank $r on host $h, one of four on two hosts
world() {
    said "$h" "$r" "ncclCommInitRankConfig comm 0x5$r rank $r nranks 4 cudaDev $((r % 2)) nvmlDev $((r % 2)) busId 5d000 commId 0x1 - Init START" \
        "comm 0x5$r rank $r nRanks 4 nNodes 2 localRanks 2 localRank $((r % 2)) MNNVL 0" \
        '24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer' \
        "ncclCommInitRankConfig comm 0x5$r rank $r nranks 4 cudaDev $((r % 2)) nvmlDev $((r % 2)) busId 5d000 commId 0x1 - Init COMPLETE" \
        "Init timings - ncclCommInitRankConfig: rank $r nranks 4 total 2.00 (kernels 0.15, alloc 0.36, bootstrap 0.55, allgathers 0.00, topo 0.88, graphs 0.00, connections 0.05, rest 0.01)"
}

# channels SEND RECEIVE [NEAR]: the ways between the hosts, as each end says them, and within one
channels() {
    for c in 00 01; do
        said n0 1 "Channel $c/0 : 1[1] -> 2[0] [send] via $1"
        said n1 2 "Channel $c/0 : 1[1] -> 2[0] [receive] via $2"
        said n1 3 "Channel $c/0 : 3[1] -> 0[0] [send] via $1"
        said n0 0 "Channel $c/0 : 3[1] -> 0[0] [receive] via $1"
        said n0 0 "Channel $c/0 : 0[0] -> 1[1] via ${3:-P2P/CUMEM}"
        said n1 2 "Channel $c/0 : 2[0] -> 3[1] via ${3:-P2P/CUMEM}"
    done
}

# job NETWORK LINE...: what all ranks say
job() {
    local net=$1 h r
    shift
    for r in 0 1 2 3; do
        h=n$((r / 2))
        said "$h" "$r" "Bootstrap: Using ens5:10.0.0.$r<0>" 'NCCL version 2.28.9+cuda12.4' "$@" "Using network $net"
        world
    done
    printf 'epoch 0 step %d loss 3.1 grad_norm 1.0\n' 1 2 3 4
}

ib='NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB ens5:10.0.0.4<0>'
none='NET/IB : No device found.'

# warned CHECK SUBSTRING [STATUS]: log has this finding, and is no failure for it
warned() {
    run -0 --separate-stderr "$why" --json log
    jq -e --arg c "$1" --arg s "$2" --arg st "${3:-warn}" \
        '[.findings[] | select(.check == $c)] | length == 1 and (.[0] | .status == $st and (.message | contains($s)))' <<<"$output"
}

# unwarned CHECK: ... and it has not
unwarned() {
    run -0 --separate-stderr "$why" --json log
    jq -e --arg c "$1" '[.findings[] | select(.check == $c)] == []' <<<"$output"
}

@test "a job that works: the section, the finding and the data" {
    { job IB 'NET/Plugin: Could not find: libnccl-net.so' 'NCCL_SOCKET_IFNAME set by environment to ens5' "$ib" \
        'NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)' 'Connected all rings, use ring PXN 0 GDR 1' 'Connected all trees'
        channels NET/IB/0/GDRDMA NET/IB/0/GDRDMA; } >log
    run -0 --separate-stderr "$why" log
    [[ $output == *"info  log.setup "*"NCCL 2.28.9 (CUDA 12.4) on 4 ranks of 2 hosts, 4 channels NET/IB with GPUDirect, 4 channels P2P/CUMEM"* ]]
    [[ $output == *"
What NCCL set up
NCCL 2.28.9 (CUDA 12.4) on 4 ranks of 2 hosts; network plug-in: none
Ranks meet over ens5; network IB: mlx5_0:1/RoCE, mlx5_1:1/RoCE
Between hosts: 4 channels NET/IB with GPUDirect
Within a host: 4 channels P2P/CUMEM
24 channels, NVLS on 16 of its own, rings and trees connected
Init took 2.00 s (slowest rank 0 on n0: 2.00 s: kernels 0.15, alloc 0.36, bootstrap 0.55, topo 0.88, connections 0.05, rest 0.01)
Settings it read: NCCL_SOCKET_IFNAME=ens5
"*"PASS"* ]]
    run -0 --separate-stderr "$why" --json log
    jq -e '.verdict == "pass" and all(.findings[]; .status == "info") and
        (.data.setup | .version == "2.28.9" and .ranks == 4 and .hosts == 2 and .interfaces == ["ens5"] and .networks == ["IB"] and
        .cards == ["mlx5_0:1/RoCE", "mlx5_1:1/RoCE"] and .channels == 24 and .nvls_channels == 16 and .nvls_available and
        .connections == [{way: "NET/IB", count: 4, gpudirect: 4, example: {from: 1, to: 2, host: "n0"}},
            {way: "P2P/CUMEM", count: 4, example: {from: 0, to: 1, host: "n0"}}] and
        .init.ranks == 4 and .init.mean_s == 2 and .init.parts.topo == 0.88 and .settings == {NCCL_SOCKET_IFNAME: "ens5"})' <<<"$output"
    run -0 --separate-stderr "$why" --strict log
}

@test "beside a failure it stands below the causes; a log without NCCL's lines has none" {
    { job Socket "$none"; echo 'n0:40:50 [0] misc/socket.cc:484 NCCL WARN Call to posix_fallocate failed : No space left on device'; } >log
    run -1 --separate-stderr "$why" log
    [[ $output == *"fail  log.cause"*"What NCCL set up"*"Ranks meet over ens5; network sockets (TCP)"*"FAIL"* ]]
    echo 'Traceback of nothing: NCCL INFO' >log
    run -0 --separate-stderr "$why" --json log
    jq -e '.data.setup == null and all(.findings[]; .check != "log.setup")' <<<"$output"
    run -0 --separate-stderr "$why" log
    [[ $output != *"What NCCL"* ]]
}

@test "a log of 2.4, and one of EFA's plug-in" {
    printf 'h0:7:8 [0] NCCL INFO %s\n' 'NET/Socket : Using [0]eth0:10.0.0.5<0>' 'Ring 00 : 1 -> 0 [receive] via NET/Socket/0' \
        'Ring 00 : 0 -> 1 [send] via NET/Socket/0' 'comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init COMPLETE' >log
    run -0 --separate-stderr "$why" log
    [[ $output == *"NCCL on 2 ranks of 1 host"*"Over the network: 1 channel NET/Socket"* ]]
    { job 'AWS Libfabric' 'NET/Plugin: Loaded net plugin AWS Libfabric (v8)' 'NET/OFI Selected Provider is efa (found 4 nics)'
        channels 'NET/AWS Libfabric/0/GDRDMA' 'NET/AWS Libfabric/0/GDRDMA' P2P/MNNVL; } >log
    run -0 --separate-stderr "$why" log
    [[ $output == *"network plug-in: AWS Libfabric"*"network AWS Libfabric, provider efa"*"Between hosts: 4 channels NET/AWS Libfabric with GPUDirect, 4 channels P2P/MNNVL"* ]]
    [[ $output != *"Within a host"* && $output != *log.setup.* ]]
}

@test "sockets although something better was there: the card, the provider, the setting, the plug-in" {
    { job Socket "$ib"; channels NET/Socket/0 NET/Socket/0; } >log
    warned log.setup.socket 'found the RDMA ports mlx5_0:1 mlx5_1:1'
    { job Socket "$ib" 'NCCL_NET set by environment to Socket'; channels NET/Socket/0 NET/Socket/0; } >log
    warned log.setup.socket 'NCCL_NET is Socket'
    jq -e 'any(.findings[] | select(.check == "log.setup.socket") | .fix[]; startswith("unset NCCL_NET "))' <<<"$output"
    run -1 --separate-stderr "$why" --strict log # a warning all the same
    { job Socket "$none" 'NCCL_IB_HCA set by environment to mlx5_9'; channels NET/Socket/0 NET/Socket/0; } >log
    warned log.setup.socket 'NCCL_IB_HCA is mlx5_9, and NCCL found no such card'
    { job Socket 'NET/OFI Selected provider is efa, fabric is efa (found 1 nics)'; channels NET/Socket/0 NET/Socket/0; } >log
    warned log.setup.socket 'the provider efa'
    { job 'AWS Libfabric' 'NET/OFI Selected Provider is tcp;ofi_rxm'; channels 'NET/AWS Libfabric/0' 'NET/AWS Libfabric/0'; } >log
    warned log.setup.socket 'no EFA'
    { job Socket 'NCCL_NET_PLUGIN set by environment to ofi' 'NET/Plugin: Could not find: ofi libnccl-net-ofi.so.'; channels NET/Socket/0 NET/Socket/0; } >log
    warned log.setup.socket 'NCCL_NET_PLUGIN is ofi, and NCCL could not use it'
}

@test "sockets where nothing better is known: said, not warned of" {
    { job Socket "$none"; channels NET/Socket/0 NET/Socket/0; } >log
    unwarned log.setup.socket
    run -0 --separate-stderr "$why" log
    [[ $output == *"NCCL found no InfiniBand"*"Between hosts: 4 channels NET/Socket
"* ]]
    { job Socket 'NCCL_IB_DISABLE set by environment to 1.'; channels NET/Socket/0 NET/Socket/0; } >log
    warned log.setup.socket 'because NCCL_IB_DISABLE=1 is set' info
    { job Socket 'NET/Plugin: Loaded net plugin NCCL RDMA Plugin v9 (v9)' "$none"; channels NET/Socket/0 NET/Socket/0; } >log # as NVIDIA's containers have it
    unwarned log.setup.socket
    { job Socket "$none" 'NCCL_IB_HCA set by environment to mlx5' 'NCCL_IB_DISABLE set by environment to 0.'
        said n0 0 'Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM'; } >log # they are not used
    unwarned log.setup.socket
}

@test "GPUDirect at one end alone, or nowhere; where NCCL says why, that" {
    { job IB "$ib"; channels NET/IB/0/GDRDMA NET/IB/0; } >log
    warned log.setup.gpudirect 'at the end of rank 1 on n0 alone, not of rank 2 on n1'
    jq -e '(.findings[] | select(.check == "log.setup.gpudirect") | .subject == "rank 1 -> 2") and
        (.data.setup.connections[0] | .count == 4 and .gpudirect == 2)' <<<"$output"
    run -0 --separate-stderr "$why" log
    [[ $output == *"4 channels NET/IB with GPUDirect but for 2 of them (rank 1 -> 2 on n1)"* ]]
    { job IB "$ib"; channels NET/IB/0 NET/IB/0; } >log
    warned log.setup.gpudirect 'no connection between hosts has GPUDirect RDMA'
    jq -e 'any(.findings[] | select(.check == "log.setup.gpudirect") | .fix[]; contains("NCCL_DEBUG_SUBSYS"))' <<<"$output"
    { job IB "$ib" 'NCCL_NET_GDR_LEVEL set by environment to LOC'; channels NET/IB/0 NET/IB/0; } >log
    warned log.setup.gpudirect 'no connection'
    jq -e 'any(.findings[] | select(.check == "log.setup.gpudirect") | .fix[]; startswith("unset NCCL_NET_GDR_LEVEL"))' <<<"$output"
    { job IB "$ib" 'GPU Direct RDMA Disabled for GPU 0 / HCA 1 (distance 9 > 4)'; channels NET/IB/0 NET/IB/0; } >log
    warned log.setup.gpudirect '(GPU Direct RDMA Disabled for GPU 0 / HCA 1 (distance 9 > 4))'
    jq -e 'any(.findings[] | select(.check == "log.setup.gpudirect") | .fix[]; contains("NCCL_TOPO_FILE"))' <<<"$output"
    # of a job that did nothing yet a cause says it already
    { job IB "$ib" "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'" | sed /^epoch/d; channels NET/IB/0 NET/IB/0; } >log
    unwarned log.setup.gpudirect
    jq -e 'any(.findings[]; .status == "warn" and .subject == "IB-009")' <<<"$output"
}

@test "GPUDirect on some channels, or of two groups' ranks: no warning" {
    # another group of the same ranks goes another way
    { job IB "$ib"; channels NET/IB/0/GDRDMA NET/IB/0/GDRDMA; said n1 9 'Channel 00/0 : 1[1] -> 2[0] [receive] via NET/IB/0'; } >log
    unwarned log.setup.gpudirect
    { job IB "$ib"; channels NET/IB/0/GDRDMA NET/IB/0/GDRDMA; channels NET/IB/1 NET/IB/1; } >log
    unwarned log.setup.gpudirect
    run -0 --separate-stderr "$why" log
    [[ $output == *"8 channels NET/IB with GPUDirect but for 4 of them (rank 1 -> 2 on n0)"* ]]
}

@test "shared memory in place of peer-to-peer: by a setting, by NCCL's word, on one host of two" {
    { job IB "$ib" 'NCCL_P2P_DISABLE set by environment to 1.'; channels NET/IB/0/GDRDMA NET/IB/0/GDRDMA SHM/direct/direct; } >log
    warned log.setup.shm NCCL_P2P_DISABLE=1
    jq -e 'any(.findings[] | select(.check == "log.setup.shm") | .fix[]; startswith("unset NCCL_P2P_DISABLE"))' <<<"$output"
    { job IB "$ib" 'P2P is disabled between connected GPUs 0 and 1. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.'
        channels NET/IB/0/GDRDMA NET/IB/0/GDRDMA SHM/direct/direct; } >log
    warned log.setup.shm 'disabled between connected GPUs 0 and 1'
    { job IB "$ib"; for c in {0..9}; do said n0 0 "Channel 0$c : 0[0] -> 1[1] via SHM/direct/direct"; said n1 2 "Channel 0$c/0 : 2[0] -> 3[1] via P2P/CUMEM"; done; } >log
    warned log.setup.shm 'the GPUs of n0 talk through its memory, those of n1 peer-to-peer'
    # GPUs of two sockets have no other way
    { job IB "$ib"; channels NET/IB/0/GDRDMA NET/IB/0/GDRDMA; channels NET/IB/0/GDRDMA NET/IB/0/GDRDMA SHM/direct/direct; } >log
    unwarned log.setup.shm
    { job IB "$ib" 'NCCL_P2P_DISABLE set by environment to 0.'; channels NET/IB/0/GDRDMA NET/IB/0/GDRDMA SHM/direct/direct; } >log
    unwarned log.setup.shm
}

@test "ranks that differ: a setting, NVLS, the interface; what may differ does" {
    { job IB "$ib"; said n0 0 'NCCL_ALGO set by environment to Ring'; said n1 2 'NCCL_ALGO set by environment to Tree'; } >log
    warned log.setup.alike 'rank 0 on n0 has NCCL_ALGO=Ring, and rank 2 on n1 has Tree'
    { job IB "$ib"; said n0 0 'NCCL_IB_HCA set by environment to mlx5_0'; said n1 2 'NCCL_IB_HCA set by environment to mlx5_4'; } >log
    unwarned log.setup.alike
    { job IB "$ib"; said n0 0 'NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)'; said n1 2 'NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)'; } >log
    warned log.setup.alike 'is available on rank 0 on n0, and not on rank 2 on n1'
    { job IB "$ib" | sed '/^n1/s/ens5:/eth1:/'; } >log
    warned log.setup.alike 'bootstraps over ens5, but rank 2 on n1 over eth1' info
}

@test "a start that takes long: the part, and who came last" {
    job IB "$ib" | sed 's/total 2.00 (kernels 0.15/total 55.20 (kernels 52.30/' >log
    warned log.setup.slow "NCCL's start took 55.2 s of 4 ranks: 52.3 s of it for kernels"
    jq -e '.findings[] | select(.check == "log.setup.slow") | .value == 55.2 and any(.fix[]; contains("built for this GPU"))' <<<"$output"
    job IB "$ib" | sed '/rank [012] nranks 4 total/{s/total 2.00/total 92.00/; s/bootstrap 0.55/bootstrap 90.50/}' >log
    warned log.setup.slow '90.5 s of it for bootstrap; rank 3 on n1 waited 0.6 s there: it came last'
    job IB "$ib" | sed '/rank 3 nranks 4 total/s/total 2.00/total 12.00/' >log
    unwarned log.setup.slow # not thrice the mean of 4.5 s
    job IB "$ib" | sed '/rank [0-2] nranks 4 total/s/total 2.00/total 0.50/; /rank 3 nranks 4 total/s/total 2.00 (kernels 0.15/total 24.00 (kernels 22.10/' >log
    warned log.setup.slow 'in the mean: 22.1 s of it for kernels'
    job IB "$ib" | sed 's/total 2.00/total 29.90/' >log
    unwarned log.setup.slow
}

@test "200 clean logs: nothing of the set-up warns" {
    "$logs/make-clean" clean 200 11
    for f in clean/*; do
        run -0 --separate-stderr "$why" --json "$f"
        jq -e '[.findings[] | select(.check | startswith("log.setup.")) | select(.status != "info")] == []' <<<"$output"
    done
}
