#!/usr/bin/env bash
# A worker in shell: psql calls harel's SQL functions, and jq decides. It polls, as psql cannot wait for a notification.
set -uo pipefail
cd "$(dirname "$0")" || exit

batch=20 # messages, each of another execution
lease=30 # seconds; harel_extend() prolongs the leases of steps that take longer
me="shell:$(uname -n):$$"

end() {
    echo "$2" >&2
    exit "$1"
}

# Runs the script on stdin; the JSON that is for it comes on descriptor 3. To be called in $(): Ctrl-C goes to all
# processes of a terminal, and must end none of them in the middle of a batch.
sql() {
    trap '' INT
    setsid --wait psql "$HAREL_DSN" --no-psqlrc --quiet --tuples-only --no-align 2>"$errors" \
        --set ON_ERROR_STOP=1 --set VERBOSITY=verbose --set me="$me" --set lease="$lease" --set batch="$batch"
}

next() {
    sql <<'SQL'
SELECT coalesce(json_agg(m), '[]') FROM harel_next(:'me', :lease, :batch) m;
SQL
}

decide() {
    trap '' INT
    jq --compact-output -L . --arg me "$me" --from-file decide.jq <<<"$1"
}

# Settles what has been decided, and prints the messages that are to be decided anew.
settle() {
    sql 3<<<"$1" <<'SQL'
\set decided `cat <&3`
-- Later and later; after 20 deliveries a message is a dead letter, for this reason.
SELECT harel_nack(group_id, token, least(60, 0.1 * 2 ^ attempts), error)
FROM json_to_recordset(:'decided'::json -> 'failed') AS f (group_id text, token uuid, attempts integer, error text)
\g /dev/null
SELECT coalesce(array_agg(group_id) FILTER (WHERE result = 'conflict'), '{}') AS lost
FROM json_to_record(:'decided'::json -> 'columns') AS c (
    group_ids text[], tokens uuid[], defns text[], datas text[], olds bigint[], events text[], traces text[],
    emit_commits integer[], emit_targets text[], emit_events text[],
    timer_commits integer[], timer_actions text[], timer_paths text[], timer_fire_ats double precision[]
), harel_finish(
    group_ids, tokens, defns, datas, olds, events, p_traces => traces, p_trace_max => 200,
    p_emit_commits => emit_commits, p_emit_targets => emit_targets, p_emit_events => emit_events,
    p_timer_commits => timer_commits, p_timer_actions => timer_actions, p_timer_paths => timer_paths,
    p_timer_fire_ats => timer_fire_ats
) \gset
-- finished is done, and expired: another has the message now.
SELECT coalesce(json_agg(m), '[]')
FROM (
    SELECT s.*, l.data, l.version, l.already_processed
    FROM json_to_recordset(:'decided'::json -> 'steps') AS s (
        group_id text, token uuid, attempts integer, definition_id text, event text, event_id text
    ), harel_load_for_event(group_id, event_id) AS l
    WHERE group_id = ANY (:'lost')
) m;
SQL
}

# Fires timers and moves what waits elsewhere, and prints for how many seconds there is nothing more to do.
tick() {
    sql <<'SQL'
SELECT CASE WHEN spawned + relayed + fired > 0 THEN 0
    ELSE greatest(0.01, least(1, next_at - extract(epoch FROM clock_timestamp()))) END
FROM harel_tick();
SQL
}

sqlstate() {
    sed -n 's/^.*\(ERROR\|FATAL\):  \([0-9A-Z]\{5\}\): .*$/\2/p' "$errors"
}

reason() {
    head -n 1 "$errors" | sed 's/^.*\(ERROR\|FATAL\):  //'
}

handle() {
    local messages=$1 decided code
    while [ "$messages" != '[]' ]; do
        decided=$(decide "$messages") || return
        messages=$(settle "$decided") && continue
        code=$?
        [[ $(sqlstate) = ST* ]] || return $code
        # One of the steps was refused, and so none is settled: each by itself.
        if [ "$(jq '.steps | length' <<<"$decided")" = 1 ]; then
            decided=$(jq --arg error "$(reason)" '{failed: (.steps | map(.error = $error))}' <<<"$decided")
            messages=$(settle "$decided")
        else
            jq --compact-output '.steps[] | [.]' <<<"$decided" | while read -r message; do
                handle "$message" || exit
            done
        fi
        return
    done
}

# A batch, or a look at what is due. Leaves in `pause` for how long there is nothing to do.
turn() {
    local messages due=0
    messages=$(next) || return
    begun=1
    handle "$messages" || return
    if [ "$messages" = '[]' ] || [ $((SECONDS - ticked)) -ge 1 ]; then
        due=$(tick) || return
        ticked=$SECONDS
    fi
    pause=0
    [ "$messages" != '[]' ] || pause=$due
}

[ -n "${HAREL_DSN:-}" ] || end 2 'HAREL_DSN is not set: it names the database, as in postgresql://localhost/app'
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
trap 'stopping=1' TERM INT
stopping='' begun='' ticked=0 pause=0
until [ "$stopping" ]; do
    turn
    code=$?
    if [ $code != 0 ]; then
        [ "$(sqlstate)" != 42883 ] || end 1 'there is no harel in this database: CREATE EXTENSION harel'
        # Lost connections (2), servers that end or are full, and deadlocks pass. The leases come back by themselves.
        [[ $begun && ($code = 2 || $(sqlstate) =~ ^(08|40|53|57)) ]] || end 1 "the database says: $(reason)"
        echo "$(reason); once more in a second" >&2
        pause=1
    fi
    [ "$stopping" ] || sleep "$pause"
done
