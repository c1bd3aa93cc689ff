SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
END
$$;
SELECT is(harel_receive_events('south', '{1,2,5}', '{a,b,a}', '{a1,b1,a2}'), '{1,2,5}', 'all are taken');
SELECT is(
    harel_receive_events('south', '{1,2,5,7}', '{a,b,a,a}', '{a1,b1,a2,a3}'), '{1,2,5,7}',
    'those known before are to be settled too'
);
SELECT is(
    ARRAY(SELECT event FROM transport_messages ORDER BY group_id, seq), '{a1,a2,a3,b1}', 'and were taken once, in order'
);
SELECT is(harel_receive_events('south', '{1}', '{a}', '{another}'), '{1}', 'a seq of something else is something else');
SELECT is((SELECT count(*) FROM transport_messages), 5::bigint, 'and is taken');
SELECT is(harel_receive_events('south', '{}', '{}', '{}'), '{}', 'nothing is nothing');

SELECT * FROM finish();
