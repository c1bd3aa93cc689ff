SELECT plan(10);

CREATE ROLE harel_test_role;
DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0);
    PERFORM harel_grant('harel_test_role', 'worker');
END
$$;
SET LOCAL ROLE harel_test_role;

SELECT is(harel_load('e'), '{"n": 1}', 'it loads');
SELECT is(ARRAY(SELECT id FROM harel_list()), '{e}', 'it lists');
SELECT is(harel_commit_cas('e', 'd', '{"n": 2}', 1, 'ev'), true, 'it commits');
SELECT is(
    (SELECT committed FROM harel_commit(
        'e', 'd', '{}', 2, 'ev2', '{x}', '{hello}', '{c}', '{p}', '{k}', '{schedule,schedule,cancel}', '{a,b,b}', '{1,1,1}', 'step', 1
    )), true, 'and all that a step causes'
);
SELECT is(ARRAY(SELECT committed FROM harel_commit_batch('{e,f}', '{d,d}', '{1,1}', '{3,0}')), '{t,t}', 'and many at once');
SELECT is(harel_append_trace('e', 'more', 1), 1, 'it appends to a trace');
SELECT is((SELECT sum(harel_ack_outbox(seq)) FROM harel_pending_outbox()), 1::bigint, 'it settles events');
SELECT is((SELECT sum(harel_ack_spawn(seq)) FROM harel_pending_spawns()), 1::bigint, 'spawns');
SELECT is((SELECT sum(harel_delete_timer(execution_id, path, fire_at)) FROM harel_due_timers(1)), 1::bigint, 'and timers');
SELECT throws_ok($$SELECT harel_grant('harel_test_role', 'worker')$$, '42501', NULL, 'it lets in no other');

SELECT * FROM finish();
