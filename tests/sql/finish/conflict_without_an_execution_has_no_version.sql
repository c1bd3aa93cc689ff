SELECT plan(2);

DO $$ BEGIN PERFORM harel_publish('e', 'ev', p_now => 100); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 30, p_now => 100);

SELECT results_eq(
    $$SELECT f.* FROM lease l, harel_finish('{e}', ARRAY[l.token], '{d}', '{1}', '{1}', p_now => 101) f$$,
    $$VALUES ('e', 'conflict', NULL::integer, '{}'::bigint[])$$, 'it is a conflict, as the execution has gone'
);
SELECT is((SELECT harel_ack('e', token, 102) FROM lease), true, 'the lease still holds');

SELECT * FROM finish();
