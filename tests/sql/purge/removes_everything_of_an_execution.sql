SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit(
        e, 'd', '{}', 0, 'ev', ARRAY['x', NULL, 'e',
        'other'], ARRAY[e || ' to x', e || ' to all', e || ' to e', e || ' to other'],
        ARRAY[e || '/c'], '{r}', '{1}', '{schedule}', '{t}', '{100}', 'step'
    ) FROM unnest('{e,other}'::text[]) e;
    PERFORM harel_publish(e, 'dead', p_now => 100) FROM unnest('{e,other}'::text[]) e;
    PERFORM harel_nack(c.group_id, c.token, p_max_attempts => 1, p_now => 101)
    FROM harel_claim('w', 30, 2, p_now => 100) c;
    PERFORM harel_publish(e, 'ev' || n, p_now => 100) FROM unnest('{e,other}'::text[]) e, generate_series(1, 2) n;
END
$$;
CREATE FUNCTION pg_temp.everything(p_id text) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY[
        (SELECT count(*) FROM executions WHERE id = p_id),
        (SELECT count(*) FROM processed_events WHERE execution_id = p_id),
        (SELECT count(*) FROM timers WHERE execution_id = p_id),
        (SELECT count(*) FROM spawns WHERE parent_id = p_id),
        (SELECT count(*) FROM trace WHERE execution_id = p_id),
        (SELECT count(*) FROM transport_groups WHERE group_id = p_id),
        (SELECT count(*) FROM transport_messages WHERE group_id = p_id),
        (SELECT count(*) FROM dead_letters WHERE group_id = p_id)
    ];
END
$$;

SELECT is(pg_temp.everything('e'), '{1,1,1,1,1,1,2,1}', 'it has something in all tables');
SELECT is(harel_purge('e', 1), true, 'it is removed');
SELECT is(pg_temp.everything('e'), '{0,0,0,0,0,0,0,0}', 'and nothing of it stays');
SELECT is(pg_temp.everything('other'), '{1,1,1,1,1,1,2,1}', 'all of another does');
SELECT is(
    ARRAY(SELECT event FROM outbox ORDER BY seq), '{e to x,e to all,e to other,other to x,other to all,other to other}',
    'so does what it emitted for others and for all; what waited for it is gone'
);

SELECT * FROM finish();
