SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd', json_build_object('status', status, 'parent_id', parent)::text, 0)
    FROM (VALUES
        ('p', NULL, 'RUNNING'), ('p/a', 'p', 'DONE'), ('p/a/c', 'p/a', 'PENDING'), ('p/b', 'p', 'RUNNING'), ('q', NULL,
        'RUNNING')
    ) AS v (id, parent, status);
    PERFORM harel_publish(id, 'ev') FROM unnest('{p,p/a,p/a/c,p/b,q}'::text[]) id;
    PERFORM harel_suspend(id) FROM unnest('{p,q}'::text[]) id;
END
$$;

SELECT is(harel_resume('p'), true, 'an execution with children is resumed');
SELECT is(
    ARRAY(SELECT concat_ws(' ', id, status, version) FROM executions ORDER BY id),
    '{p RUNNING 3,p/a DONE 1,p/a/c PENDING 3,p/b RUNNING 3,q SUSPENDED 2}', 'and so are theirs, as what they were'
);
SELECT is(
    ARRAY(SELECT group_id FROM transport_groups WHERE available_at < 'Infinity' ORDER BY group_id), '{p,p/a,p/a/c,p/b}',
    'their messages can be claimed'
);

SELECT * FROM finish();
