SELECT plan(18);

CREATE FUNCTION pg_temp.detail(p_call text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_detail text;
BEGIN
    EXECUTE p_call;
    RETURN 'nothing raised';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL;
    RETURN v_detail;
END
$$;

SELECT ok(pg_temp.detail('SELECT ' || call) ~ 'exe-7', call || ': ' || pg_temp.detail('SELECT ' || call))
FROM (VALUES
    ($$harel_commit_cas('exe-7', NULL, '{}', 0)$$),
    ($$harel_commit_cas('exe-7', 'd', '{}', 0, repeat('x', 1001))$$),
    ($$harel_commit_cas('exe-7', 'd', '{}', -1)$$),
    ($$harel_commit_cas('exe-7', 'd', NULL, 0)$$),
    ($$harel_commit_cas('exe-7', 'd', '{', 0)$$),
    ($$harel_commit('exe-7', 'd', '{}', 0, NULL, '{x}', '{a,b}')$$),
    ($$harel_commit('exe-7', 'd', '{}', 0, NULL, '{""}', '{a}')$$),
    ($$harel_commit('exe-7', 'd', '{}', 0, NULL, NULL, NULL, '{""}', '{p}', '{k}')$$),
    ($$harel_commit('exe-7', 'd', '{}', 0, p_timer_actions => '{start}', p_timer_paths => '{a}', p_timer_fire_ats => '{1}')$$),
    ($$harel_commit('exe-7', 'd', '{}', 0, p_timer_actions => '{schedule}', p_timer_paths => '{a}', p_timer_fire_ats => '{NaN}')$$),
    ($$harel_commit('exe-7', 'd', '{}', 0, p_timer_actions => '{cancel}', p_timer_paths => ARRAY[repeat('x', 1001)], p_timer_fire_ats => '{1}')$$),
    ($$harel_commit('exe-7', 'd', '{}', 0, p_trace => 's', p_trace_max => -1)$$),
    ($$harel_commit_batch('{a,exe-7}', '{d,d}', '{1,1}', '{0,-1}')$$),
    ($$harel_commit_batch('{a,exe-7}', '{d,d}', '{1,1}', '{0,0}', p_emit_commits => '{2}', p_emit_targets => '{""}', p_emit_events => '{a}')$$),
    ($$harel_append_trace('exe-7', NULL)$$),
    ($$harel_append_trace('exe-7', 'a', -1)$$),
    ($$harel_delete_timer('exe-7', NULL, 1)$$),
    ($$harel_delete_timer('exe-7', 'a', NULL)$$)
) AS m (call);

SELECT * FROM finish();
