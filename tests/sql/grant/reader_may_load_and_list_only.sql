SELECT plan(17);

CREATE ROLE harel_test_role;
DO $$
BEGIN
    PERFORM harel_commit('e', 'd', '{"n": 1}', 0, 'ev', '{x}', '{hello}', '{c}', '{p}', '{k}', '{schedule}', '{a}', '{1}', 'step');
    PERFORM harel_grant('harel_test_role', 'reader');
END
$$;
SET LOCAL ROLE harel_test_role;

SELECT is(harel_load('e'), '{"n": 1}', 'it loads');
SELECT is((SELECT already_processed FROM harel_load_for_event('e', 'ev')), true, 'for an event too');
SELECT is(ARRAY(SELECT id FROM harel_list(p_statuses => '{""}', p_limit => 1)), '{e}', 'it lists');
SELECT is((SELECT count(*) FROM harel_read_trace('e')), 1::bigint, 'it reads traces');
SELECT is((SELECT count(*) FROM harel_pending_outbox(5)), 1::bigint, 'it sees what is pending: events');
SELECT is((SELECT count(*) FROM harel_pending_spawns(5)), 1::bigint, 'spawns');
SELECT is((SELECT count(*) FROM harel_due_timers(1, 5)), 1::bigint, 'and timers');
SELECT is(harel_version(), '1.1', 'it asks for the version');
SELECT throws_ok($$SELECT harel_commit_cas('e', 'd', '{}', 1)$$, '42501', NULL, 'it does not commit');
SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 1)$$, '42501', NULL, 'in no way');
SELECT throws_ok($$SELECT harel_commit_batch('{e}', '{d}', '{1}', '{1}')$$, '42501', NULL, 'of three');
SELECT throws_ok($$SELECT harel_append_trace('e', 'a')$$, '42501', NULL, 'it does not append to a trace');
SELECT throws_ok('SELECT harel_ack_outbox(1)', '42501', NULL, 'it does not settle events');
SELECT throws_ok('SELECT harel_ack_spawn(1)', '42501', NULL, 'spawns');
SELECT throws_ok($$SELECT harel_delete_timer('e', 'a', 1)$$, '42501', NULL, 'or timers');
SELECT throws_ok('DELETE FROM executions', '42501', NULL, 'nor write to a table by itself');
SELECT throws_ok($$SELECT harel_grant('harel_test_role', 'worker')$$, '42501', NULL, 'it lets in nobody');

SELECT * FROM finish();
