SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('urgent', 'd', '{"priority": 4}', 0);
    PERFORM harel_commit_cas('plain', 'd', '{}', 0);
    PERFORM harel_commit(
        'e', 'd', '{"priority": 2}', 0, p_emit_targets => '{urgent,plain,unknown}', p_emit_events => '{a,b,c}'
    );
END
$$;

SELECT is(harel_relay(p_now => 100), 3, 'three are moved');
SELECT is(
    ARRAY(SELECT group_id || priority FROM transport_groups ORDER BY group_id), '{plain0,unknown0,urgent4}',
    'at the priority of the execution that each is for, 0 where there is none'
);

SELECT * FROM finish();
