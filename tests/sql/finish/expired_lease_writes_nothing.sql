SELECT plan(8);

CREATE FUNCTION pg_temp.everything() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(
        ' / ',
        (SELECT array_agg(t::text ORDER BY t.id)::text FROM executions t),
        (SELECT array_agg(t::text ORDER BY t.seq)::text FROM outbox t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.event_id)::text FROM processed_events t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.path)::text FROM timers t),
        (SELECT array_agg(t::text ORDER BY t.seq)::text FROM spawns t),
        (SELECT array_agg(t::text ORDER BY t.execution_id, t.idx)::text FROM trace t),
        (SELECT array_agg(t::text ORDER BY t.group_id)::text FROM transport_groups t),
        (SELECT array_agg(t::text ORDER BY t.group_id, t.seq)::text FROM transport_messages t)
    )
$$;
DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
PREPARE step AS SELECT f.result, f.stored_version FROM harel_finish(
    '{e}', ARRAY[$1::uuid], '{d}', '{3}', '{1}', '{id}', '{1,1}', '{x,NULL}', '{to x,to all}', '{1}', '{c}', '{r}',
    '{1}', '{1}', '{schedule}', '{t}', '{5}', '{step}', p_now => $2
) f;
CREATE TEMP TABLE before AS SELECT pg_temp.everything() AS content;

SELECT results_eq(
    format('EXECUTE step(%L, 130)', token), $$VALUES ('expired', NULL::integer)$$, 'at its deadline it is over'
) FROM lease;
SELECT results_eq(
    format('EXECUTE step(%L, 1000)', token), $$VALUES ('expired', NULL::integer)$$, 'and after it'
) FROM lease;
SELECT results_eq(
    'EXECUTE step(gen_random_uuid(), 101)', $$VALUES ('expired', NULL::integer)$$, 'another token is no lease'
);
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'nothing is written');
CREATE TEMP TABLE other AS SELECT * FROM harel_next('w2', 30, p_now => 130);
DELETE FROM before;
INSERT INTO before SELECT pg_temp.everything();
SELECT results_eq(
    format('EXECUTE step(%L, 131)', token), $$VALUES ('expired', NULL::integer)$$, 'nor is one that another took over'
) FROM lease;
SELECT is(pg_temp.everything(), (SELECT content FROM before), 'nothing is written');
SELECT results_eq(
    format('EXECUTE step(%L, 159.9)', token), $$VALUES ('finished', 2)$$,
    'whose own lease holds just before its deadline'
) FROM other;
SELECT results_eq(
    format('EXECUTE step(%L, 159.9)', token), $$VALUES ('expired', NULL::integer)$$, 'and is over once it is settled'
) FROM other;

SELECT * FROM finish();
