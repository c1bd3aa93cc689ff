SELECT plan(4);

CREATE TEMP TABLE answer AS
SELECT row_number() OVER () AS place, b.* FROM harel_commit_batch(
    '{a,b,a,a,a}', '{d,d,d,d,d}', '{1,1,2,"\"late\"",3}', '{0,0,1,1,2}',
    p_emit_commits => '{1,3,4,5}', p_emit_targets => '{x,x,x,x}', p_emit_events => '{1,2,late,3}',
    p_traces => '{s1,t1,s2,late,s3}'
) b;

SELECT is(
    ARRAY(SELECT concat_ws(' ', id, committed, stored_version) FROM answer ORDER BY place),
    '{a t 1,b t 1,a t 2,a f 2,a t 3}', 'each builds on the one before'
);
SELECT is(harel_load('a'), '3', 'the last stays');
SELECT is(ARRAY(SELECT event FROM outbox ORDER BY seq), '{1,2,3}', 'events are in their order');
SELECT is(ARRAY(SELECT entry FROM harel_read_trace('a')), '{s1,s2,s3}', 'and so is the trace');

SELECT * FROM finish();
