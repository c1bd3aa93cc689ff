SELECT plan(7);

SELECT throws_ok($$SELECT harel_publish('g', 'a', -1)$$, 'ST010', 'a priority must be between 0 and 4', '-1');
SELECT throws_ok($$SELECT harel_publish('g', 'a', 5)$$, 'ST010', 'a priority must be between 0 and 4', '5');
SELECT throws_ok($$SELECT harel_publish('g', 'a', NULL)$$, 'ST010', 'a priority must be between 0 and 4', 'NULL');
SELECT throws_ok($$SELECT harel_publish('g', 'a', 2147483647)$$, 'ST010', NULL, 'the greatest integer');
DO $$ BEGIN PERFORM harel_publish('h', 'a', 4, 1); END $$;
SELECT throws_ok($$SELECT harel_publish('h', 'b', 5)$$, 'ST010', NULL, 'also where the group has one already');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{a}', 'nothing is published');
SELECT lives_ok($$SELECT harel_publish('p' || n, 'a', n) FROM generate_series(0, 4) n$$, '0 to 4 are taken');

SELECT * FROM finish();
