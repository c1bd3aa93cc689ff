SELECT plan(10);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 2, 1); END $$;
CREATE TEMP TABLE before AS SELECT * FROM transport_groups;

SELECT throws_ok($$SELECT harel_publish_many('{g,NULL}', '{b,c}')$$, 'ST001', NULL, 'a NULL group');
SELECT throws_ok($$SELECT harel_publish_many('{g,""}', '{b,c}')$$, 'ST001', NULL, 'an empty group');
SELECT throws_ok($$SELECT harel_publish_many(ARRAY['g', repeat('x', 1001)], '{b,c}')$$, 'ST001', NULL, '1001 bytes');
SELECT throws_ok($$SELECT harel_publish_many('{g,h}', '{b,NULL}')$$, 'ST003', NULL, 'a NULL event');
SELECT throws_ok($$SELECT harel_publish_many('{g,h}', '{b,c}', '{0,5}')$$, 'ST010', NULL, 'a priority of 5');
SELECT throws_ok($$SELECT harel_publish_many('{g,h}', '{b,c}', '{0,-1}')$$, 'ST010', NULL, 'a priority of -1');
SELECT throws_ok($$SELECT harel_publish_many('{g,h}', '{b,c}', '{0,NULL}')$$, 'ST010', NULL, 'a NULL priority');
SELECT throws_ok(
    $$SELECT harel_publish_many('{g,h}', '{b,c}', NULL, 'NaN')$$, 'ST006', NULL, 'a clock that is no number'
);
SELECT results_eq('SELECT * FROM transport_groups', 'SELECT * FROM before', 'the group stays as it was');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{a}', 'and so do its messages');

SELECT * FROM finish();
