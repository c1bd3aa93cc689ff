SELECT plan(4);

INSERT INTO processed_events
SELECT 'e', 'ev' || n, to_timestamp(100 + n) FROM generate_series(1, 5) n;

SELECT is(harel_purge_processed(10, 2, p_now => 114.5), 2, 'says how many');
SELECT is(ARRAY(SELECT event_id FROM processed_events ORDER BY 1), '{ev3,ev4,ev5}', 'the oldest are forgotten');
SELECT is(harel_purge_processed(10, p_now => 114.5), 2, 'up to the age');
SELECT is(ARRAY(SELECT event_id FROM processed_events), '{ev5}', 'and no younger one');

SELECT * FROM finish();
