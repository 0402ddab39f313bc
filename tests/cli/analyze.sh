# shellcheck shell=bash disable=SC2154
# What ncclbench --analyze makes of a file.
judged() { # CODE FILE [OPTIONS]
    run --separate-stderr "$BIN/ncclbench" --analyze "$2" "${@:3}" --json
    ((status == $1)) || { echo "exit code $status"; echo "$output$stderr"; return 1; }
}
finds() { # CHECK STATUS TEXT
    jq -e --arg c "$1" --arg s "$2" --arg t "$3" \
        'any(.findings[]; .check == $c and .status == $s and (.message | contains($t)))' <<<"$output" ||
        { echo "$output"; return 1; }
}
