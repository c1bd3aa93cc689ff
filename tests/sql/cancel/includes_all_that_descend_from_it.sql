SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit(
        id, 'd', json_build_object('status', status,
        'parent_id', parent)::text, 0, NULL, NULL, NULL, ARRAY[id || '/new'],
        '{r}', '{1}', '{schedule}', '{t}', '{100}'
    ) FROM (VALUES
        ('p', NULL, 'RUNNING'), ('p/a', 'p', 'DONE'), ('p/a/c', 'p/a', 'SUSPENDED'), ('p/b', 'p', 'PENDING'),
        ('q', NULL, 'RUNNING')
    ) AS v (id, parent, status);
    PERFORM harel_publish(id, 'ev', p_now => 100) FROM unnest('{p,p/a,p/a/c,p/b,q}'::text[]) id;
END
$$;

SELECT is(harel_cancel('p'), true, 'an execution with children is cancelled');
SELECT is(
    ARRAY(SELECT concat_ws(' ', id, status, version) FROM executions ORDER BY id),
    '{p CANCELLED 2,p/a DONE 1,p/a/c CANCELLED 2,p/b CANCELLED 2,q RUNNING 1}',
    'and so are theirs, but for those at their end'
);
SELECT is(ARRAY(SELECT execution_id FROM timers ORDER BY 1), '{p/a,q}', 'their timers are removed');
SELECT is(ARRAY(SELECT parent_id FROM spawns ORDER BY 1), '{p/a,q}', 'the children they asked for are not created');
SELECT is(
    ARRAY(SELECT group_id FROM harel_dead_letters() ORDER BY 1), '{p,p/a/c,p/b}', 'their messages are dead letters'
);
SELECT is(ARRAY(SELECT group_id FROM transport_groups ORDER BY 1), '{p/a,q}', 'the others wait on');

SELECT * FROM finish();
