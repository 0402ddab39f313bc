#!/usr/bin/env bats
# ncclwhy: what NCCL only warned of and went past, and what stands first where nothing is sure.
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
}

# The ids of the causes of the log on stdin, first to last.
ids() {
    "$why" --json - | jq -r '[.data.causes[] | .entry] | join(" ")'
}

@test "a plug-in without which NCCL went on is said, and is no failure" {
    {
        echo 'c0:27:27 [0] ofi_init:1134 NCCL WARN NET/OFI Only EFA provider is supported'
        echo 'c0:27:27 [0] NCCL INFO Using network Socket'
    } >over.log
    run -0 --separate-stderr "$why" over.log
    [[ ${lines[0]} == warn*EFA-003*"NCCL went on without it"* && $output != *"% sure"* ]]
    [[ $output == *" - nothing, where the instance has no EFA"* ]]
    head -1 over.log >alone.log
    run -1 --separate-stderr "$why" alone.log
    [[ ${lines[0]} == fail*EFA-003*"% sure"* && $output != *"went on"* ]]
}

@test "a warning before the network was chosen is past; the same one after it is not" {
    warn='n1:8:9 [0] NCCL WARN NET/IB : Unable to open device mlx5_3'
    chosen='n1:8:9 [0] NCCL INFO Using network IB'
    printf '%s\n' "$warn" "$chosen" >before.log
    printf '%s\n' "$chosen" "$warn" >after.log
    run -0 --separate-stderr "$why" before.log
    [[ ${lines[0]} == warn*IB-007*"NCCL went on without it; IB-024:"* ]]
    run -1 --separate-stderr "$why" after.log
    [[ ${lines[0]} == fail*"% sure"* ]]
    # of another process that did not get so far
    printf '%s\n' "$warn" "${chosen/:8:9/:7:7}" >other.log
    run -1 --separate-stderr "$why" other.log
}

@test "a transfer or connection that failed is not past because a next communicator begins" {
    ready='n1:8:9 [0] NCCL INFO comm 0x2 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 5d000 commId 0x2 - Init COMPLETE'
    chosen='n1:8:9 [0] NCCL INFO Using network IB'
    lost='n1:8:9 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got completion from peer 10.0.0.3<4791> with status=12 opcode=0 len=0 vendor err 129 (Recv)'
    refused='n1:8:9 [0] NCCL WARN socketStartConnect: Connect to 10.1.2.3<38847> failed : Connection refused'
    run -1 --separate-stderr "$why" - <<<"$chosen"$'\n'"$lost"$'\n'"$ready"
    [[ ${lines[0]} == fail*IB-001*"% sure"* && $output != *"went on"* ]]
    run -1 --separate-stderr "$why" - <<<"$chosen"$'\n'"$refused"$'\n'"$chosen"
    [[ ${lines[0]} == fail*CON-003*"% sure"* && $output != *"went on"* ]]
    # the second try was answered
    run -0 --separate-stderr "$why" - <<<"$chosen"$'\n'"$refused"$'\n'"$ready"
    [[ $output == *"NCCL went on without it"* ]]
}

@test "the card that a channel names is told with its process" {
    {
        echo 'n1:70:70 [0] NCCL INFO NET/Socket : Using [0]eno1:10.4.0.7<0> [1]veth5d:fe80::5%veth5d<0>'
        echo 'n1:70:81 [0] NCCL INFO Channel 00 : 1[18000] -> 0[18000] [send] via NET/Socket/1'
        echo 'n1:70:81 [0] NCCL INFO Call to connect returned Connection timed out, retrying'
    } >card.log
    run -1 --separate-stderr "$why" card.log
    [[ ${lines[0]} == fail*IF-005*veth5d*"GPU 0 of n1 has channels over its card 1, which is veth5d"* ]]
    [[ ${lines[1]} == *"-> export NCCL_SOCKET_IFNAME='=eno1'"* ]]
}

@test "channels over interfaces that the log does not list are doubted, not blamed" {
    {
        echo 'n1:70:81 [0] NCCL INFO Channel 00/0 : 0[9] -> 1[1] [send] via NET/Socket/0'
        echo 'n1:70:81 [0] NCCL INFO Channel 01/0 : 0[9] -> 1[1] [send] via NET/Socket/5'
        echo 'n1:70:82 [0] NCCL INFO transport/net.cc:515 -> 2'
    } >cards.log
    run -0 --separate-stderr "$why" cards.log
    [[ ${lines[0]} == warn*IF-004*"channels over 2 interfaces, and this log does not say which"* ]]
    sed -i 2d cards.log
    [[ $(ids <cards.log) != *IF-004* ]]
}

@test "hints: what is wrong with a GPU or card goes before an address, and before a rank that is alone" {
    gpu='h:7:8 [0] NCCL INFO ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856'
    link='h:7:8 [0] NCCL INFO NET/Socket : Using [0]e0:192.168.1.77<0> [1]e1:fe80::6%e1<0>'
    begun='h:7:8 [0] NCCL INFO comm 0x5 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1c000 commId 0x6 - Init START'
    rdma="h:7:8 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"
    [[ $(printf '%s\n' "$link" "$gpu" | ids) == "GPU-059 IF-005" ]]
    [[ $(printf '%s\n' "$begun" "$rdma" | ids) == "IB-009 HNG-001" ]]
    # two ranks of sixteen are no excerpt of one
    [[ $(printf '%s\n' "$begun" "${begun/rank 0/rank 1}" "$rdma" | sed '2s/:7:8 /:9:9 /; 2s/1c000/3d000/' | ids) == "HNG-001 IB-009" ]]
}

@test "an address that docker gives to containers is said where it cannot be reached" {
    echo 'n1:7:8 [0] NCCL WARN socketStartConnect: Connect to 172.17.0.2<38847> failed : Software caused connection abort' >docker.log
    [[ $(ids <docker.log) == *CON-005*IF-008* ]]
    [[ $(sed 's/172.17.0.2/172.40.0.2/' docker.log | ids) != *IF-008* ]]
    # one of them that refuses is there
    [[ $(sed 's/Software.*/Connection refused/' docker.log | ids) != *IF-008* ]]
}
