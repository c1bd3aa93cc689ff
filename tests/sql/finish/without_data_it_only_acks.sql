SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0);
    PERFORM harel_publish('e', 'ev' || n, p_now => 100) FROM generate_series(1, 2) n;
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);

SELECT results_eq(
    $$SELECT f.* FROM lease l, harel_finish('{e}', ARRAY[l.token], '{NULL}', '{NULL}', '{NULL}', p_now => 101) f$$,
    $$VALUES ('e', 'finished', NULL::integer, '{}'::bigint[])$$, 'it is finished, and no version was stored'
);
SELECT is((SELECT data || version FROM executions), '{"n": 1}1', 'the execution stays as it is');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{ev2}', 'the message is gone');

SELECT * FROM finish();
