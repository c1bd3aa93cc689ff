SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd', json_build_object('status', 'RUNNING', 'parent_id', parent)::text, 0)
    FROM (VALUES
        ('p', NULL), ('p/a', 'p'), ('p/b', 'p'), ('p/a/c', 'p/a'), ('p/a/c/d', 'p/a/c'),
        ('q', NULL), ('q/a', 'q'), ('pp', 'other')
    ) AS v (id, parent);
    PERFORM harel_commit_cas('p/b', 'd', '{"status": "DONE", "parent_id": "p"}', 1);
    PERFORM harel_commit_cas('p/b/c', 'd', '{"status": "PENDING", "parent_id": "p/b"}', 0);
    PERFORM harel_publish(id, 'ev', p_now => 100)
    FROM unnest('{p,p/a,p/b,p/a/c,p/a/c/d,q,q/a,pp,p/b/c}'::text[]) id;
END
$$;

SELECT is(harel_suspend('p'), true, 'an execution with children is suspended');
SELECT is(
    ARRAY(SELECT id FROM executions WHERE status = 'SUSPENDED' ORDER BY id), '{p,p/a,p/a/c,p/a/c/d,p/b/c}',
    'and so are theirs, also below one at its end'
);
SELECT is(
    ARRAY(SELECT id || version FROM executions WHERE status <> 'SUSPENDED' ORDER BY id), '{p/b2,pp1,q1,q/a1}',
    'all others stay as they are'
);
SELECT is(
    ARRAY(SELECT group_id FROM transport_groups WHERE available_at = 'Infinity' ORDER BY group_id),
    '{p,p/a,p/a/c,p/a/c/d,p/b/c}',
    'the messages of these are parked'
);

SELECT * FROM finish();
