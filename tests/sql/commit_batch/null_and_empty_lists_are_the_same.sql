SELECT plan(3);

SELECT is(
    ARRAY(SELECT committed FROM harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{0,0}', NULL, NULL, '{}', '{}', '{}', NULL, '{}')),
    '{t,t}', 'NULL beside empty'
);
SELECT is(
    ARRAY(SELECT committed FROM harel_commit_batch('{a,b}', '{d,d}', '{1,1}', '{1,1}', p_events => '{}', p_traces => '{}')),
    '{t,t}', 'events and traces may be empty too'
);
SELECT is(
    (SELECT count(*) FROM processed_events) + (SELECT count(*) FROM trace) + (SELECT count(*) FROM outbox), 0::bigint,
    'and nothing is written for them'
);

SELECT * FROM finish();
