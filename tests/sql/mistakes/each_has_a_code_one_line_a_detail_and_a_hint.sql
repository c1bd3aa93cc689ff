SELECT plan(54);

-- The SQLSTATE that a call raises, with a remark where message, detail or hint are not what a caller can count on.
CREATE FUNCTION pg_temp.complaint(p_call text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_message text;
    v_detail text;
    v_hint text;
BEGIN
    EXECUTE p_call;
    RETURN 'nothing raised';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS v_message = MESSAGE_TEXT, v_detail = PG_EXCEPTION_DETAIL, v_hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(
        ', ', sqlstate,
        CASE WHEN v_message !~ '^[^\n\r]+$' THEN format('the message is not one line: %L', v_message) END,
        CASE WHEN coalesce(v_detail, '') = '' THEN 'no detail' END,
        CASE WHEN coalesce(v_hint, '') = '' THEN 'no hint' END
    );
END
$$;
CREATE ROLE harel_test_role;

SELECT is(pg_temp.complaint('SELECT ' || m.call), m.code, m.call)
FROM (VALUES
    ('ST001', $$harel_commit_cas(NULL, 'd', '{}', 0)$$),
    ('ST001', $$harel_commit_cas('', 'd', '{}', 0)$$),
    ('ST001', $$harel_commit_cas(repeat('x', 1001), 'd', '{}', 0)$$),
    ('ST001', $$harel_commit_cas('e', NULL, '{}', 0)$$),
    ('ST001', $$harel_commit_cas('e', repeat('x', 1001), '{}', 0)$$),
    ('ST001', $$harel_commit_cas('e', 'd', '{}', 0, repeat('x', 1001))$$),
    ('ST001', $$harel_commit('e', 'd', '{}', 0, NULL, '{""}', '{a}')$$),
    ('ST001', $$harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{NULL}', '{p}', '{k}')$$),
    ('ST001', $$harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, NULL, NULL, NULL, '{cancel}', ARRAY[repeat('x', 1001)], '{1}')$$),
    ('ST001', $$harel_append_trace(NULL, 'a')$$),
    ('ST001', $$harel_append_trace('', 'a')$$),
    ('ST001', $$harel_ack_outbox(NULL)$$),
    ('ST001', $$harel_ack_spawn(NULL)$$),
    ('ST001', $$harel_delete_timer(NULL, 'a', 1)$$),
    ('ST001', $$harel_delete_timer('e', NULL, 1)$$),
    ('ST002', $$harel_commit_cas('e', 'd', '{}', -1)$$),
    ('ST002', $$harel_commit_cas('e', 'd', '{}', NULL)$$),
    ('ST002', $$harel_commit_cas('e', 'd', '{}', 2147483647)$$),
    ('ST002', $$harel_commit('e', 'd', '{}', -1)$$),
    ('ST002', $$harel_commit('e', 'd', '{}', 0, p_trace => 's', p_trace_max => -1)$$),
    ('ST002', $$harel_append_trace('e', 'a', -1)$$),
    ('ST003', $$harel_commit_cas('e', 'd', NULL, 0)$$),
    ('ST003', $$harel_commit_cas('e', 'd', '', 0)$$),
    ('ST003', $$harel_commit_cas('e', 'd', E'{\n\n', 0)$$),
    ('ST003', $$harel_commit_cas('e', 'd', '{"x": NaN}', 0)$$),
    ('ST003', $$harel_commit_cas('e', 'd', repeat('[', 1000000), 0)$$),
    ('ST003', $$harel_append_trace('e', NULL)$$),
    ('ST004', $$harel_commit('e', 'd', '{}', 0, NULL, '{x}', '{a,b}')$$),
    ('ST004', $$harel_commit('e', 'd', '{}', 0, NULL, NULL, '{a}')$$),
    ('ST004', $$harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{c}', '{p}')$$),
    ('ST004', $$harel_commit('e', 'd', '{}', 0, p_timer_actions => '{cancel}')$$),
    ('ST004', $$harel_commit_batch('{e}', '{}', '{}', '{}')$$),
    ('ST004', $$harel_commit_batch('{{e}}', '{{d}}', '{{1}}', '{{0}}')$$),
    ('ST004', $$harel_commit_batch('{e}', '{d}', '{1}', '{0}', p_emit_commits => '{1}')$$),
    ('ST004', $$harel_commit_batch('{e}', '{d}', '{1}', '{0}', p_emit_commits => '{2}', p_emit_targets => '{x}', p_emit_events => '{a}')$$),
    ('ST004', $$harel_commit_batch('{e}', '{d}', '{1}', '{0}', p_emit_commits => '{NULL}', p_emit_targets => '{x}', p_emit_events => '{a}')$$),
    ('ST005', $$harel_commit('e', 'd', '{}', 0, p_timer_actions => '{start}', p_timer_paths => '{a}', p_timer_fire_ats => '{1}')$$),
    ('ST005', $$harel_commit('e', 'd', '{}', 0, p_timer_actions => '{NULL}', p_timer_paths => '{a}', p_timer_fire_ats => '{1}')$$),
    ('ST006', $$harel_commit('e', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{NaN}')$$),
    ('ST006', $$harel_commit('e', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{NULL}')$$),
    ('ST006', $$harel_due_timers(NULL)$$),
    ('ST006', $$harel_due_timers('NaN')$$),
    ('ST006', $$harel_delete_timer('e', 'a', NULL)$$),
    ('ST007', $$harel_list(p_cursor => 'x')$$),
    ('ST007', $$harel_list(p_cursor => '')$$),
    ('ST008', $$harel_list(p_limit => 0)$$),
    ('ST008', $$harel_pending_outbox(-1)$$),
    ('ST008', $$harel_pending_spawns(-1)$$),
    ('ST008', $$harel_due_timers(1, -1)$$),
    ('ST009', $$harel_grant('harel_no_such_role', 'worker')$$),
    ('ST009', $$harel_grant(NULL, 'worker')$$),
    ('ST009', $$harel_grant('harel_test_role', 'admin')$$),
    ('ST009', $$harel_grant('harel_test_role', NULL)$$),
    ('ST009', $$harel_grant(NULL, NULL)$$)
) AS m (code, call);

SELECT * FROM finish();
