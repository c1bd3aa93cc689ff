SELECT plan(7);

DO $$
BEGIN
    PERFORM harel_publish('wait', e, p_now => 900) FROM unnest('{1,2}'::text[]) e;
    PERFORM harel_publish('leased', '3', 2, p_now => 800);
    PERFORM harel_publish('later', '4', p_now => 700);
    PERFORM harel_commit_cas('held', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_publish('held', '5', p_now => 1e9);
    PERFORM harel_suspend('held');
    -- The groups that have waited for longest, one after the other.
    PERFORM harel_nack(c.group_id, c.token, 600, 'r', p_now => 990) FROM harel_claim('w', 30, 1, p_now => 990) c;
    PERFORM harel_claim('the worker', 50, 1, p_now => 990);
    UPDATE transport_groups SET claimed_at = to_timestamp(990);
END
$$;
SELECT results_eq(
    $$SELECT group_id, state, seconds, messages, attempts, priority::integer, worker, event FROM harel_queue(p_now => 1000)$$,
    $$VALUES
        ('wait', 'waiting', 100::float8, 2::bigint, 0, 0, NULL, '1'),
        ('leased', 'leased', 10, 1, 1, 2, 'the worker', '3'),
        ('later', 'delayed', 590, 1, 1, 0, NULL, '4'),
        ('held', 'held', NULL, 1, 0, 0, NULL, '5')$$,
    'waiting for, leased for, delayed for, and held'
);
SELECT results_eq(
    $$SELECT s, (SELECT string_agg(group_id, ',') FROM harel_queue(p_state => s, p_now => 1000))
    FROM unnest('{waiting,leased,delayed,held}'::text[]) s$$,
    $$VALUES ('waiting', 'wait'), ('leased', 'leased'), ('delayed', 'later'), ('held', 'held')$$,
    'those in one state'
);
SELECT results_eq(
    $$SELECT group_id, state FROM harel_queue('later', p_now => 1600)$$, $$VALUES ('later', 'waiting')$$, 'one group'
);
SELECT is_empty($$SELECT * FROM harel_queue('later', 'held')$$, 'one group that is in another state');
SELECT is_empty($$SELECT * FROM harel_queue('unknown')$$, 'nobody');
SELECT results_eq($$SELECT group_id FROM harel_queue(p_limit => 1, p_now => 1000)$$, $$VALUES ('wait')$$, 'no more than asked for');
SELECT throws_ok(
    $$SELECT * FROM harel_queue(p_state => 'odd')$$, 'ST015', 'unknown state of a group', 'a state that there is not'
);

SELECT * FROM finish();
