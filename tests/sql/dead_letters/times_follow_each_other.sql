SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('g', 'd', '{"status": "RUNNING", "version": 1}', 0);
    PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1);
    PERFORM harel_claim('w', 10, p_now => 2);
    PERFORM harel_cancel('g');
END
$$;

SELECT is(
    ARRAY(SELECT published_at < delivered_at AND delivered_at < dead_at FROM harel_dead_letters() WHERE event = 'a'),
    '{t}',
    'published, delivered, dead'
);
SELECT results_eq(
    $$SELECT delivered_at, attempts FROM harel_dead_letters() WHERE event = 'b'$$, 'VALUES (NULL::timestamptz, 0)',
    'one that was never delivered has no such time'
);

SELECT * FROM finish();
