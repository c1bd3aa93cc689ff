SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING", "n": 1}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT results_eq(
    $$SELECT f.* FROM lease l, harel_finish(
        '{e}', ARRAY[l.token], '{d2}', ARRAY['{"status": "DONE", "n": 2}'], '{1}', p_now => 101
    ) f$$,
    $$VALUES ('e', 'finished', 2, '{}'::bigint[])$$, 'it is finished, and told the version now stored'
);
SELECT is(
    (SELECT concat_ws(' ', definition_id, data, version, status) FROM executions),
    'd2 {"status": "DONE", "n": 2} 2 DONE', 'the step is committed'
);
SELECT is_empty('SELECT * FROM transport_messages', 'the message is gone');
SELECT is_empty('SELECT * FROM transport_groups', 'and with it the group, which has no other');
SELECT is_empty('SELECT * FROM harel_dead_letters()', 'it is no dead letter');

SELECT * FROM finish();
