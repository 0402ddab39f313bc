#!/usr/bin/env bats
# ncclbench --analyze on what other tests of a network wrote: perftest, iperf3, OSU. The figures are
# made up, the forms are theirs.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load analyze.sh

setup() { cd "$BATS_TEST_TMPDIR" || exit; }

no_nccl_tests() { # nothing that is of nccl-tests' tables alone
    jq -e 'all(.findings[]; .check | startswith("link."))' <<<"$output"
}

perftest() { # TITLE HEAD ROW...
    local rule=---------------------------------------------------------------------------------------
    printf '%s\n                    %s\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 1\t\tTransport type : IB\n Mtu             : 4096[B]\n Link type       : IB\n%s\n' $rule "$1" $rule
    printf ' local address: LID 0x0a QPN 0x017f PSN 0x3a5e58\n%s\n %s\n' $rule "$2"
    printf ' %s\n' "${@:3}" $rule
}
band='#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]'
times='#bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] '

@test "perftest's bandwidth: against the card's rate, its own or that of --nic" {
    perftest 'RDMA_Write BW Test' "$band" '2          5000             8.10               7.90        4.1' \
        '65536      5000             23250.1            23240.5		   0.371848' >writes
    judged 0 writes
    finds link.bandwidth info '195 Gb/s (24.4 GB/s) at 64 KiB: 97 % of 200 Gb/s, which is normal of a card of that rate'
    no_nccl_tests
    judged 0 writes --nic 200
    finds link.bandwidth pass '97 % of the 200 Gb/s of --nic'
    judged 1 writes --nic 400
    finds link.bandwidth fail '49 % of the 400 Gb/s of --nic'
    jq -e '.findings[0] | .unit == "GB/s" and .expected == ">= 42.5 GB/s"' <<<"$output"
    jq -e '.findings[0].fix | any(startswith("ncclbench --hosts HOSTS --pairs"))' <<<"$output"
    judged 0 writes --expect 24
    finds link.bandwidth pass 'expected 24 GB/s'
    judged 1 writes --expect 25
    run -0 "$BIN/ncclbench" --analyze writes
    [[ $output == *"RDMA_Write BW Test: it measured one RDMA card's link"*"ncclbench --hosts A,B -b 8 -e 1G"* ]]
}

@test "perftest in gigabits, both ways, for a time, and of a rate that no card has" {
    perftest 'Send Bidirectional BW Test' "${band//MB/Gb}" '65536      5000             380.20            378.00		   0.72' >both
    judged 0 both --nic 200
    finds link.bandwidth pass '378 Gb/s (47.2 GB/s) both ways together at 64 KiB: 94 % of the 200 Gb/s'
    perftest 'RDMA_Read BW Test' '#bytes       #iterations       BW average[MB/sec]      MsgRate[Mpps]' '1048576      93205             7500.26                0.0075' >short
    judged 0 short
    finds link.bandwidth info 'no card has a rate of about that (the next is 100 Gb/s)'
}

@test "perftest's latency: what RDMA takes, and what is too long" {
    perftest 'Send Latency Test' "$times" '2       1000          1.61           4.40         1.65     	       1.67        	0.04   		1.80    		4.40' >quick
    judged 0 quick
    finds link.latency pass '1.65 us for the smallest message: normal over RDMA'
    perftest 'RDMA_Write Latency Test' "$times" '2       1000          21.61           44.40         22.65     	       23.67        	0.04   		25.80    		44.40' >slow
    judged 0 slow
    finds link.latency warn '22.6 us for the smallest message'
    no_nccl_tests
}

iperf() { # STREAMS GBITS RETR
    local i
    echo "Connecting to host 10.0.0.2, port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.10 GBytes  9.45 Gbits/sec    0   1.61 MBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr"
    for ((i = 0; i < $1; i++)); do
        echo "[  $((5 + 2 * i))]   0.00-10.00  sec  11.0 GBytes  $(jq -n "$2/$1") Gbits/sec  $3             sender
[  $((5 + 2 * i))]   0.00-10.04  sec  11.0 GBytes  $(jq -n "$2/$1") Gbits/sec                  receiver"
    done
    (($1 == 1)) || echo "[SUM]   0.00-10.00  sec  88.0 GBytes  $2 Gbits/sec  $(($1 * $3))             sender
[SUM]   0.00-10.04  sec  88.0 GBytes  $2 Gbits/sec                  receiver"
    echo
    echo "iperf Done."
}

@test "iperf3: all streams together; one alone does not judge a fast card" {
    iperf 1 9.41 17 >one
    judged 0 one
    finds link.bandwidth info '9.41 Gb/s (1.18 GB/s), 17 segments sent again: 94 % of 10 Gb/s'
    iperf 8 93.6 2 >eight
    judged 0 eight --nic 100
    finds link.bandwidth pass '93.6 Gb/s (11.7 GB/s), 16 segments sent again: 94 % of the 100 Gb/s'
    iperf 1 24 0 >alone
    judged 0 alone --nic 100
    finds link.bandwidth warn '24 % of the 100 Gb/s of --nic, by one stream of TCP'
    jq -e '.findings[0].fix[0] | contains("iperf3 -P 8")' <<<"$output"
    iperf 8 24 0 >few # by iperf3 before 3.16 that is one processor, too
    judged 0 few --nic 100
    finds link.bandwidth warn ', by one processor, if iperf3 is older than 3.16'
    { echo 'iperf 3.17'; cat few; } >verbose
    judged 1 verbose --nic 100
    judged 0 verbose --nic 400 # 20 Gb/s each is what a processor carries
    finds link.bandwidth warn ', by few streams of TCP'
    no_nccl_tests
}

@test "iperf3's JSON; one that failed" {
    jq -n '{start: {version: "iperf 3.12", test_start: {protocol: "TCP", num_streams: 4}}, intervals: [],
        end: {sum_sent: {bits_per_second: 23.6e9, retransmits: 3}, sum_received: {bits_per_second: 23.5e9}}}' >ok.json
    judged 0 ok.json --nic 25
    finds link.bandwidth pass '23.5 Gb/s (2.94 GB/s), 3 segments sent again: 94 % of the 25 Gb/s'
    jq -n '{start: {connected: []}, intervals: [], end: {}, error: "unable to connect to server: Connection refused"}' >failed.json
    judged 2 failed.json
    [[ $stderr == *"unable to connect to server"* ]]
}

@test "iperf3's --json-stream: of its events what -J has; one without an end" {
    { jq -nc '{event: "start", data: {version: "iperf 3.17", test_start: {protocol: "TCP", num_streams: 4}}}'
      jq -nc '{event: "interval", data: {sum: {bits_per_second: 1e9}}}'
      jq -nc '{event: "end", data: {sum_sent: {bits_per_second: 23.6e9, retransmits: 3}, sum_received: {bits_per_second: 23.5e9}}}'; } >stream
    judged 0 stream --nic 25
    finds link.bandwidth pass '23.5 Gb/s (2.94 GB/s), 3 segments sent again: 94 % of the 25 Gb/s'
    jq -c 'if .event == "interval" then {event: "error", data: "interrupt - the client has terminated"} else . end' stream >broken
    judged 0 broken
    finds link.bandwidth warn 'not judged: it ended with: interrupt'
    head -2 stream >part
    judged 2 part
    [[ -z $output && $stderr == *"part has no end of iperf3's --json-stream: it was cut off"* ]]
}

@test "a part of iperf3's JSON, perftest's JSON, iperf 2: known by their marks, and what is read instead" {
    jq -n '{start: {version: "iperf 3.12", test_start: {protocol: "TCP", num_streams: 4}}, intervals: []}' | head -n -2 >part
    judged 2 part
    [[ $stderr == *"part is not all of a JSON document"*"iperf3 -J is complete when its test has ended"* ]]
    jq -n '{test_info: {test: "RDMA_Write BW Test"}, results: {MsgSize: 65536, n_iterations: 5000, BW_peak: 97.1, BW_average: 97.0, MsgRate: 0.18}}' >perf
    judged 2 perf
    [[ $stderr == *"perf has no result of "*"this is perftest's JSON; its table is read"* ]]
    printf -- '------------------------------------------------------------\nClient connecting to 10.0.0.2, TCP port 5001\nTCP window size: 85.0 KByte (default)\n[  1] local 10.0.0.1 port 40000 connected with 10.0.0.2 port 5001\n[  1] 0.0000-10.0150 sec  10.9 GBytes  9.37 Gbits/sec\n' >two
    judged 2 two
    [[ $stderr == *"two has no result of "*"this is of iperf 2; iperf3's output is read"* ]]
}

@test "what ncclbench wrote to be read by others than itself" {
    "$BIN/ncclbench" --np 2 -b 1M -e 1M -n 1 -J x.csv --save-baseline base.json >table
    judged 2 x.csv
    [[ $stderr == *"x.csv has no result of "*"; this is ncclbench's -J FILE.csv, for a spreadsheet; its table, -J FILE.json and --json are read" ]]
    judged 2 base.json
    [[ $stderr == *"base.json has no result of "*"; this is ncclbench's --save-baseline: --baseline FILE compares a run with it" ]]
    judged 0 table
    echo nothing >none
    judged 2 none
    [[ $stderr == *"; save all of its output: ncclbench ... > FILE, or -J FILE.json" ]]
}

@test "iperf3 -u: how many datagrams were lost, of all streams and both ways" {
    printf '[  5]   0.00-10.00  sec  1.16 GBytes  1000 Mbits/sec  0.000 ms  0/863297 (0%%)  sender\n[  5]   0.00-10.04  sec   987 MBytes   827 Mbits/sec  0.008 ms  150000/863297 (17%%)  receiver\n' >lossy
    judged 0 lossy
    finds link.bandwidth warn '0.827 Gb/s (0.103 GB/s), 17.4 % of the datagrams were lost; not judged: UDP'
    jq -e '.findings[0].fix[0] | startswith("nstat -az UdpRcvbufErrors")' <<<"$output"
    judged 0 lossy --expect 0.1
    finds link.bandwidth warn '17.4 % of the datagrams were lost, expected 0.1 GB/s'
    sed 's/150000/800/' lossy >few
    judged 0 few
    finds link.bandwidth info '0.0927 % of the datagrams were lost; not judged'
    { cat lossy; sed 's/^\[  5\]/[  7]/; s/150000/0/' lossy; } >streams
    judged 0 streams
    finds link.bandwidth warn '8.69 % of the datagrams were lost'
    { cat streams; sed 's/^\[  5\]/[SUM]/; s/150000/100000/' lossy; } >sum
    judged 0 sum
    finds link.bandwidth warn '11.6 % of the datagrams were lost'
    jq -n '{start: {test_start: {protocol: "UDP", num_streams: 1}}, end: {sum: {bits_per_second: 827e6, lost_packets: 150000, packets: 863297, lost_percent: 17.4}}}' >json
    judged 0 json
    finds link.bandwidth warn '17.4 % of the datagrams were lost'
    jq '.end += {sum_sent: {bits_per_second: 1e9, lost_packets: 0, packets: 863297}, sum_received: (.end.sum | .packets = 600000)}' json >new
    judged 0 new
    finds link.bandwidth warn '0.827 Gb/s (0.103 GB/s), 25 % of the datagrams were lost'
}

@test "OSU: of a collective that does not block, the communication alone" {
    printf '# OSU MPI Non-blocking Allreduce Latency Test v7.3\n# Datatype: MPI_CHAR.\n# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%%)\n4                    21.10             10.90              8.63             0.00\n16777216          17640.20           8800.10           8630.58            12.00\n' >all
    judged 0 all
    finds link.latency info 'from 8.63 us for the smallest message to 1.94 GB/s (size by time) at 16 MiB'
    sed 's/    Pure Comm/  Coll. Init(us)      MPI_Test(us)      MPI_Wait(us)&/; s/ 8\.63/ 1.0 2.0 3.0&/; s/ 8630\.58/ 1.0 2.0 3.0&/' all >full
    judged 0 full
    finds link.latency info 'from 8.63 us for the smallest message to 1.94 GB/s'
}

@test "OSU: a link by MPI, and a collective that nobody can judge" {
    printf '# OSU MPI-CUDA Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n1                       0.90\n4194304             12010.42\n' >bw
    judged 0 bw --nic 100
    finds link.bandwidth pass '96.08 Gb/s (12 GB/s) at 4 MiB: 96 % of the 100 Gb/s'
    printf '\n# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0                       1.26\n8                       1.31\n4194304               400.10\n' >lat
    judged 0 lat
    finds link.latency info '1.26 us for the smallest message, which is normal over RDMA; that the ranks are on two hosts it does not say'
    printf '[1,0]<stdout>:# OSU MPI Allreduce Latency Test v7.0\n[1,0]<stdout>:# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n[1,0]<stdout>:4              8.63           8.50           8.70         1000\n[1,0]<stdout>:16777216             8630.58           8619.50           8642.46         10\n' >all
    judged 0 all
    finds link.latency info 'from 8.63 us for the smallest message to 1.94 GB/s (size by time) at 16 MiB'
    jq -e '.findings[0].fix[0] | startswith("ncclbench --hosts HOSTS --backend mpi")' <<<"$output"
    cat bw lat >two
    judged 0 two --nic 100
    jq -e '[.findings[].check] == ["link.bandwidth", "link.latency"]' <<<"$output"
}

@test "what says nothing of the card is not held against it: sizes, EFA, another host's end, what -b says" {
    perftest 'RDMA_Write Latency Test' "$times" '1048576 1000  45.1  60.0  46.2  47.0  1.0  48.0  49.0' >large
    judged 0 large
    finds link.latency info '46.2 us for 1 MiB; not judged'
    perftest 'Send Latency Test' "$times" '2 1000  15.9  60.0  16.2  17.0  1.0  18.0  19.0' >efa
    judged 0 efa
    finds link.latency warn '16.2 us'
    sed -i 's/^ Mtu .*/ Connection type : SRD\t\tUsing SRQ      : OFF/' efa
    judged 0 efa
    finds link.latency info "EFA's SRD takes longer"
    perftest 'RDMA_Write BW Test' "$band" '2 5000 8.10 7.90 4.1' >small
    judged 0 small --nic 200
    finds link.bandwidth info 'at 2 B: too small to judge by'
    perftest 'RDMA_Write BW Test' "$band" '65536 5000 46500 46480 0.7' >within
    judged 0 within --nic 200
    finds link.bandwidth warn '195 % of the 200 Gb/s of --nic, more than that card carries'
    jq -n '{start: {test_start: {protocol: "TCP", num_streams: 1, target_bitrate: 1e9}},
        end: {sum_sent: {bits_per_second: 1e9}, sum_received: {bits_per_second: 1e9}}}' >paced
    judged 0 paced --nic 10
    finds link.bandwidth info 'not judged: it sent as much as -b says'
    jq -n '{start: {test_start: {protocol: "UDP", num_streams: 1}}, end: {sum: {bits_per_second: 1048000}}}' >udp
    judged 0 udp --nic 10
    finds link.bandwidth info 'not judged: UDP sends as much as -b says'
    printf '[  5]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.00%d ms  0/906 (0%%)  %s\n' 0 sender 5 receiver >text
    judged 0 text --nic 10
    finds link.bandwidth info 'not judged: UDP'
}

@test "iperf3 that was interrupted: the sender's figure, not judged; what nothing came of fails all the same" {
    iperf 1 9.4 3 | sed '/receiver$/s/[0-9.]* GBytes  *[0-9.]* Gbits/0.00 Bytes  0.00 bits/; s/^iperf Done.*/iperf3: interrupt - the client has terminated/' >stopped
    grep -q ' 0.00 bits/sec .* receiver' stopped
    { tail -1 stopped; head -n -1 stopped; } >first # of two streams into one file
    for file in stopped first; do
        judged 0 $file
        finds link.bandwidth warn '9.4 Gb/s'
        finds link.bandwidth warn 'not judged: it ended with: interrupt - the client has terminated'
    done
    head -n -1 stopped >out # without stderr
    judged 0 out --expect 1
    finds link.bandwidth warn 'not judged: it has no figure of the receiver'
    sed 's/9.4 Gbits/940 Kbits/' out >hole # buffers took it
    judged 1 hole
    finds link.bandwidth fail 'nothing came through'
    jq -n '{start: {version: "iperf 3.12", test_start: {protocol: "TCP", num_streams: 1}}, intervals: [],
        end: {sum_sent: {bits_per_second: 23.5e9, retransmits: 0}, sum_received: {bits_per_second: 0}},
        error: "interrupt - the client has terminated"}' >json
    judged 0 json
    finds link.bandwidth warn '23.5 Gb/s'
    finds link.bandwidth warn 'not judged: it ended with: interrupt'
    jq 'del(.error) | .end.sum_sent.bits_per_second = 1e6' json >json.hole
    judged 1 json.hole
    finds link.bandwidth fail 'nothing came through'
}

@test "iperf3 in one text twice, both ways, as the server tells it, cut off, in 3.9's JSON" {
    { iperf 1 3 5; iperf 1 9.4 1; } >twice
    judged 1 twice --nic 10
    jq -e '[.findings[].status] == ["fail", "pass"]' <<<"$output"
    finds link.bandwidth pass '9.4 Gb/s (1.18 GB/s), 1 segment sent again: 94 %'
    { iperf 1 9.4 1 | sed 's/^\[  5\]/&[TX-C]/'; iperf 1 4 2 | sed '/^Connecting/d; s/^\[  5\]/[  7][RX-C]/'; } >both
    judged 0 both --nic 10
    finds link.bandwidth warn '13.4 Gb/s (1.68 GB/s) both ways together, 1 segment sent again: 67 %'
    { echo 'Accepted connection from 10.0.0.1, port 40000'; iperf 1 30 0 | grep receiver; } >server
    judged 0 server --nic 100
    finds link.bandwidth warn '30 % of the 100 Gb/s of --nic, by one stream of TCP'
    jq -n '{start: {version: "iperf 3.9", test_start: {protocol: "TCP", num_streams: 8}},
        end: {sum_sent: {bits_per_second: 34e9}, sum_received: {bits_per_second: 34e9}}}' >old
    judged 0 old --nic 100
    finds link.bandwidth warn 'older than 3.16'
    jq '.start.version = "iperf 3.17"' old >new
    judged 1 new --nic 100
    jq '.error = "control socket has closed unexpectedly"' new >broken
    judged 0 broken --nic 40
    finds link.bandwidth warn 'not judged: it ended with: control socket has closed unexpectedly'
}

@test "OSU on one host, one-sided, of messages a second; a table of nccl-tests behind it" {
    printf '# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n1 0.21\n8 0.22\n' >host
    judged 0 host
    finds link.latency info 'less than any network takes: both ranks are on one host'
    printf '# OSU MPI_Accumulate latency Test v5.8\n# Window creation: MPI_Win_allocate\n# Size          Latency (us)\n1 2.58\n8 2.61\n' >put
    judged 0 put --nic 100
    finds link.latency info '2.58 us for the smallest message, which is normal over RDMA'
    printf '# OSU OpenSHMEM Put Message Rate Test v7.0\n# Size          Messages/s\n1 4000000\n8 3900000\n' >rate
    judged 2 rate --nic 100
    [[ $stderr == *"rate has no result of nccl-tests, ncclbench, perftest, iperf3, OSU, nvbandwidth or SuperBench"* ]]
    { printf '# OSU MPI Bandwidth Test v7.0\n# Size      Bandwidth (MB/s)\n4194304 12010.42\n'
      printf '# nThread 1 nGpus 1 minBytes 8 maxBytes 8G\n#       size         count      type   redop    root     time   algbw   busbw #wrong\n  8589934592    2147483648     float     sum      -1   100.0   10.0   18.0  0\n# Avg bus bandwidth    : 18\n'; } >two
    judged 0 two --nic 100
    finds link.bandwidth pass '96.08 Gb/s (12 GB/s) at 4 MiB'
    finds coll.bandwidth info 'up to 18.00 GB/s at 8 GiB'
    # of one rank, which is said of the world; the other tool's is judged nevertheless
    sed -i '/minBytes/a #  Rank  0 Group  0 Pid   9500 on      node0 device  0 [0000:53:00] NVIDIA H100' two
    judged 1 two --nic 100
    finds world.size fail 'a single rank'
    finds link.bandwidth pass '96.08 Gb/s'
}

table() { # two hosts of eight, 80 GB/s
    local i
    {
        echo '# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0'
        for i in {0..15}; do
            echo "#  Rank $i Group  0 Pid   10$i on node$((i / 8)) device  $((i % 8)) [0x00] NVIDIA A100-SXM4-40GB"
        done
        echo '#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong'
        echo '  4294967296    1073741824     float     sum      -1   100663   42.67   80.00      0   100663   42.67   80.00      0'
        echo '# Out of bounds values : 0 OK'
        echo '# Avg bus bandwidth    : 80'
    } >table
}

@test "--nic as people write a rate, of one card or of several; --instance near its name" {
    perftest 'RDMA_Write BW Test' "$band" '65536      5000             23250.1            23240.5		   0.371848' >writes
    for rate in 200 200G 200g 200Gb 200gbit 200Gb/s 200Gbps 200Gbit/s '200 Gb/s' 2x100 0.2T 0.2Tb/s 200000Mb/s; do
        judged 0 writes --nic "$rate"
        finds link.bandwidth pass '97 % of the 200 Gb/s of --nic'
    done
    for rate in 25GB 25GB/s; do
        judged 2 writes --nic "$rate"
        [[ -z $output && $stderr == *"bytes"*"--nic 200"* ]]
    done
    for rate in fast -5 0 200X nan inf 1e9; do
        judged 2 writes --nic "$rate"
        [[ -z $output && $stderr == *"'$rate'"*"--nic 400"* ]]
    done
    judged 2 writes --instance p5
    [[ -z $output && $stderr == *"--instance: 'p5'"*"did you mean p5.4xlarge or p5.48xlarge?"* ]]
    judged 2 writes --instance p5.48xlrge
    [[ -z $output && $stderr == *"did you mean p5.4xlarge or p5.48xlarge?"* ]]
    table
    for type in p4d p4d-24xlarge P4D.24XLARGE; do
        judged 0 table --instance $type
        finds coll.bandwidth pass 'p4d.24xlarge has 4 network cards of 100 Gb/s'
    done
    for type in ND96isr a3-mega m9i.large p5.24xlarge my-own-machine a2-highgpu-8g; do # of one kind; new, perhaps
        judged 0 writes --instance "$type"
    done
}
