SELECT plan(2);

SELECT is(
    (SELECT s::text FROM harel_stats(1000) s), (('{}'::jsonb, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, 0, 0))::text,
    'nothing in an empty store'
);
DO $$
BEGIN
    PERFORM harel_commit(
        'a', 'd', '{"status": "RUNNING"}', 0, 'ev', '{x,y,NULL}', '{1,2,3}', '{c,d}', '{r,r}', '{1,2}',
        '{schedule,schedule,schedule}', '{p,q,r}', '{990,995,1001}'
    );
    PERFORM harel_commit_cas(e, 'd', '{"status": "DONE"}', 0) FROM unnest('{b,c}'::text[]) e;
    PERFORM harel_commit_cas('d', 'd', '{}', 0);
    PERFORM harel_publish('a', e, p_now => 970) FROM unnest('{1,2}'::text[]) e;
    PERFORM harel_publish('b', '1', p_now => 980);
    PERFORM harel_claim('w', 500, 1, p_now => 990);
    PERFORM harel_publish('dead', '1', p_now => 1);
    PERFORM harel_next('w', 30, 1, p_now => 2);
END
$$;
SELECT is(
    (SELECT s::text FROM harel_stats(1000) s),
    (('{"": 1, "DONE": 2, "RUNNING": 1}'::jsonb, 3, 20, 1, 2, 1, 2, 3, 2, 10, 1, 1))::text,
    'executions, messages, their wait, leases, outbox, broadcasts, spawns, timers, overdue, since when, dead, ledger'
);

SELECT * FROM finish();
