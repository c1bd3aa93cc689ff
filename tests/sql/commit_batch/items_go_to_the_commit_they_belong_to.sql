SELECT plan(8);

CREATE TEMP TABLE answer AS
SELECT row_number() OVER () AS place, b.* FROM harel_commit_batch(
    '{c,a,b}', '{d,d,d}', '{1,1,1}', '{0,0,0}', '{ev1,NULL,""}',
    '{1,1,3}', '{x,NULL,y}', '{c1,c2,b1}',
    '{2,3}', '{k1,k2}', '{p1,p2}', '{x1,x2}',
    '{1,3,3,3}', '{schedule,schedule,cancel,schedule}', '{t1,t2,t2,t3}', '{1,2,0,3}',
    '{sc,NULL,sb}', 5
) b;
CREATE TEMP TABLE emitted AS SELECT seq, event FROM outbox;

SELECT is(ARRAY(SELECT committed FROM answer ORDER BY place), '{t,t,t}', 'all commit');
SELECT is(
    ARRAY(SELECT concat_ws(' ', source_id, coalesce(target_id, '-'), event) FROM outbox ORDER BY source_id, seq),
    '{b y b1,c x c1,c - c2}', 'events'
);
SELECT is(
    ARRAY(
        SELECT (SELECT array_agg(o.event ORDER BY s.place)::text FROM unnest(a.outbox_seqs) WITH ORDINALITY AS s (seq, place) JOIN emitted o ON o.seq = s.seq)
        FROM answer a ORDER BY a.place
    ),
    ARRAY['{c1,c2}', NULL, '{b1}'], 'the seqs of each, in the order of its events'
);
SELECT is((SELECT outbox_seqs FROM answer WHERE place = 2), '{}', 'none for the one without events');
SELECT is(
    ARRAY(SELECT concat_ws(' ', parent_id, child_id, root_path, context) FROM spawns ORDER BY parent_id),
    '{a k1 p1 x1,b k2 p2 x2}', 'spawns'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', execution_id, path, fire_at) FROM timers ORDER BY fire_at), '{c t1 1,b t3 3}',
    'timers, in their order'
);
SELECT is(
    ARRAY(SELECT concat_ws(' ', execution_id, idx, entry) FROM trace ORDER BY execution_id), '{b 0 sb,c 0 sc}', 'trace entries'
);
SELECT is(ARRAY(SELECT execution_id || ' ' || event_id FROM processed_events), '{c ev1}', 'and marks');

SELECT * FROM finish();
