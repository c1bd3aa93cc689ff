SELECT plan(2);

SELECT throws_ok($$SELECT harel_publish('g', NULL)$$, 'ST003', 'an event must not be NULL', 'NULL is no event');
SELECT is_empty('SELECT * FROM transport_groups', 'nothing is published');

SELECT * FROM finish();
