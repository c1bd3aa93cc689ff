SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_join_shards('{north,south}', 'north');
    PERFORM harel_receive_events('south', '{1,2,3}', '{a,a,a}', '{1,2,3}');
    UPDATE shard_receipts SET received_at = to_timestamp(seq * 10);
END
$$;
SELECT is(harel_purge_receipts(100, 1, 1000), 1, 'up to a limit');
SELECT is(ARRAY(SELECT seq FROM shard_receipts ORDER BY seq), '{2,3}', 'the oldest first');
SELECT is(harel_purge_receipts(75, NULL, 100), 1, 'those that are older');
SELECT is(ARRAY(SELECT seq FROM shard_receipts), '{3}', 'than was asked for');
SELECT is(harel_receive_events('south', '{1}', '{a}', '{1}'), '{1}', 'what is forgotten');
SELECT is((SELECT count(*) FROM transport_messages), 4::bigint, 'is taken once more');

SELECT * FROM finish();
