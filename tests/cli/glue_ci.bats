#!/usr/bin/env bats
# The files for GitHub and GitLab: their own lines are run, as a runner would.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load glue.sh

@test "GitLab: the job's own lines write a JUnit report, also for a failure" {
    file=$S/gitlab/windsock.gitlab-ci.yml
    from "$file" '"\n".join(d["windsock"]["script"])' >job.sh
    from "$file" '"\n".join(f"export {k}=\"{v}\"" for k, v in d["windsock"]["variables"].items())' >env.sh
    run -0 bash -euc '. ./env.sh; . ./job.sh'
    run -0 xmllint --noout --schema "$ROOT/tests/golden/junit.xsd" windsock.xml
    [ "$(from "$file" 'd["windsock"]["artifacts"]["reports"]["junit"]')" = windsock.xml ]
    run -1 env NCCL_SOCKET_IFNAME=eth77 bash -euc '. ./env.sh; . ./job.sh'
    grep -q '<failure' windsock.xml
    [ "$(from "$file" 'd["windsock"]["allow_failure"]["exit_codes"]')" = '[3, 4]' ]
}

@test "GitLab: the options of the file's own example reach windsock, as they are" {
    file=$S/gitlab/windsock.gitlab-ci.yml
    sed -n 's/^#   \(windsock: {.*}\) *#.*/\1/p' "$file" >example.yml
    # as an including file's job is merged: what a job sets goes before what is global
    from example.yml 'd["windsock"]["variables"]["WINDSOCK_OPTIONS"]' >options
    [ "$(cat options)" = '--hosts node[1-4]' ]
    stand_in windsock 'echo "$*" >words'
    touch node1 node4
    run -0 env WINDSOCK_OPTIONS="$(cat options)" WINDSOCK_BUDGET=2m \
        sh -euc "$(from "$file" '"\n".join(d["windsock"]["script"])')"
    [ "$(cat words)" = '--budget 2m --hosts node[1-4] --format junit --output windsock.xml' ]
}

@test "GitLab: a training that tests its own runner first stops for a sick one alone" {
    sed -n 's/^#   train: {before_script: \(\[.*\]\), tags.*/\1/p' "$S/gitlab/windsock.gitlab-ci.yml" >example.yml
    from example.yml 'd[0]' >before.sh
    for code in 0 3 4; do
        stand_in windsock "exit $code"
        run -0 sh -eu before.sh
    done
    for code in 1 2; do
        stand_in windsock "exit $code"
        run ! sh -eu before.sh
    done
}

@test "GitHub: the action is well formed and takes its inputs through the environment" {
    [ "$(from "$S/github/action.yml" 'd["runs"]["using"]')" = composite ]
    [[ $(from "$S/github/action.yml" 'd["runs"]["steps"][0]["run"]') != *'${{'* ]]
    [ -x "$S/github/step" ]
    export GITHUB_ACTION_PATH=$S/github
    run -0 env OPTIONS='--here --quick' bash -c "$(from "$S/github/action.yml" 'd["runs"]["steps"][0]["run"]')"
    [[ $output == *"windsock: PASS"* || $output == *"windsock: WARN"* ]]
    # before the training, and in its own job: another one may be another runner's
    from "$S/github/example.yml" '[s.get("uses", s.get("run", "")).split()[0] for s in d["jobs"]["train"]["steps"]]' >steps
    [[ $(cat steps) == *"/scripts/github@"*"'torchrun'"* ]]
}

@test "GitHub: annotations, summary, outputs; the code is windsock's, but for trouble of ours" {
    export GITHUB_STEP_SUMMARY=$PWD/summary GITHUB_OUTPUT=$PWD/outputs
    run -1 env NCCL_SOCKET_IFNAME='e|x<b>*`_$a$' "$S/github/step"
    [[ $output == *"::error title=lint.ifname.nomatch"* ]]
    grep -q '^## windsock: FAIL$' summary
    row=$(grep '^| :x: | lint.ifname.nomatch' summary)
    [[ $row == *'is &#91;e&#124;x&lt;b&gt;&#42;&#96;&#95;&#36;a&#36;]'*'<code>eval "&#36;(ifprobe --suggest)"</code> |' ]]
    [ "$(awk -F'|' '/^\|/ { print NF }' summary | sort -u)" = 6 ] # no row has lost its shape
    [ "$(cat outputs)" = $'verdict=FAIL\nexit-code=1' ]
    rm summary outputs
    stand_in windsock 'exit 3'
    run -0 env IGNORE_TROUBLE=true "$S/github/step"
    [[ $output == *"::warning title=windsock::could not do its job (exit code 3)"* ]]
    [ "$(cat outputs)" = $'verdict=ERROR\nexit-code=3' ]
    run -3 env IGNORE_TROUBLE=false "$S/github/step"
    stand_in windsock 'echo "$@" >words; exit 1'
    run -1 env IGNORE_TROUBLE=true OPTIONS='--hosts node[1-4] $(touch pwned)' "$S/github/step"
    [ ! -e pwned ]
    grep -qF -- '--budget 2m --hosts node[1-4] $(touch pwned) --format github' words
    run -1 env OPTIONS=$'--hosts node[1-4]\n--quick\n' "$S/github/step" # of "options: |" no line is lost
    grep -qF -- '--hosts node[1-4] --quick --format' words
}

@test "GitHub: a run that passes with warnings says so, as the example's condition has it" {
    export GITHUB_OUTPUT=$PWD/outputs GITHUB_STEP_SUMMARY=$PWD/summary
    grep -qF "outputs.verdict == 'WARN'" "$S/github/example.yml"
    stand_in ifprobe 'exit 0'
    for status in warning notice; do
        stand_in windsock "echo '::$status title=a.b c::is odd'; echo 'windsock: PASS  2 checks'"
        run -0 "$S/github/step"
    done
    [ "$(grep ^verdict outputs | paste -sd,)" = verdict=WARN,verdict=PASS ]
    grep -q '^## windsock: WARN$' summary
}

@test "GitHub: a summary that would be larger than GitHub takes is cut at a row, and says so" {
    export GITHUB_STEP_SUMMARY=$PWD/summary
    stand_in windsock "seq 1 9000 | sed 's/.*/::error title=a.b n&::is wrong, and these words are long enough to make a large page: a name, a number, and the reason%0A-> what is typed/'; echo 'windsock: FAIL  9000 checks'; exit 1"
    run -1 "$S/github/step"
    [ "$(stat -c %s summary)" -lt 1048576 ]
    [ "$(stat -c %s summary)" -gt 500000 ]
    [ "$(awk -F'|' '/^\|/ { print NF }' summary | sort -u)" = 6 ]
    shown=$(grep -c '^| :x: ' summary)
    [[ $(tail -n 1 summary) == "| | | and $((9000 - shown)) more: the step's log has them all | |" ]]
}

@test "GitHub, GitLab: no action at a branch, no token left behind, no artifact for everybody" {
    from "$S/github/example.yml" '"\n".join(s["uses"] for s in d["jobs"]["train"]["steps"] if "uses" in s)' >uses
    run ! grep -vE '^[^@]+@(v[0-9]+|COMMIT)$' uses
    [ "$(grep -c . uses)" = 2 ]
    run ! grep -rn 'github@main' "$S/github"
    [ "$(from "$S/github/example.yml" '[s["with"]["persist-credentials"] for s in d["jobs"]["train"]["steps"] if "checkout" in s.get("uses", "")]')" = '[False]' ]
    [ "$(from "$S/gitlab/windsock.gitlab-ci.yml" 'd["windsock"]["artifacts"]["public"]')" = False ] # names, addresses
    [[ $(sed -n 's/^#   include: //p' "$S/gitlab/windsock.gitlab-ci.yml") == *"ref: COMMIT"* ]]
}

@test "GitHub: options are quoted as in a shell, and a --budget of theirs counts more than the input" {
    stand_in windsock 'printf "[%s]" "$@" >words'
    run -0 env OPTIONS='--rsh '"'ssh -i \"my key\"'"' --hosts a\ b "" --budget 9m' "$S/github/step"
    [ "$(cat words)" = '[--budget][2m][--rsh][ssh -i "my key"][--hosts][a b][][--budget][9m][--format][github]' ]
    rm words
    run -2 env OPTIONS="--rsh 'ssh" "$S/github/step"
    [[ $output == *"::error title=windsock::the options have a quote without its other one: --rsh 'ssh"* && ! -e words ]]
    rm tools/windsock
    run -0 env OPTIONS='--budget 5m --here --quick --json' "$S/github/step"
    [[ $output == *"windsock: PASS"* ]]
}

@test "GitHub: with --output the verdict is that of the exit code; what went wrong is an annotation" {
    export GITHUB_OUTPUT=$PWD/outputs
    stand_in ifprobe 'exit 0'
    for code in 0 1; do
        stand_in windsock "exit $code"
        run -$code env OPTIONS='--here --output o.xml' "$S/github/step"
        [[ $output != *::error* ]]
    done
    [ "$(grep ^verdict outputs | paste -sd,)" = verdict=PASS,verdict=FAIL ]
    stand_in windsock 'echo "windsock: begins" >&2; echo "windsock: 100% wrong" >&2; exit $CODE'
    CODE=4 run -4 "$S/github/step"
    [[ $output == *"::error title=windsock::could not do its job (exit code 4): 100%25 wrong" ]]
    CODE=3 IGNORE_TROUBLE=true run -0 "$S/github/step"
    [[ $output == *"::warning title=windsock::could not do its job (exit code 3): 100%25 wrong" ]]
    rm tools/windsock
    OPTIONS=--nonsense run -2 "$S/github/step"
    [[ $output == *"::error title=windsock::"*--nonsense* ]]
    run -127 env PATH=/usr/bin:/bin "$S/github/step"
    [[ $output == *"::error title=windsock::command not found" || $output == *"::error title=windsock::"*"not found" ]]
}
