SELECT plan(5);

SELECT throws_ok(
    $$SELECT harel_publish(NULL, 'a')$$, 'ST001', 'the group id must be a text of 1 to 1000 bytes', 'NULL'
);
SELECT throws_ok($$SELECT harel_publish('', 'a')$$, 'ST001', 'the group id must be a text of 1 to 1000 bytes', 'empty');
SELECT throws_ok($$SELECT harel_publish(repeat('x', 1001), 'a')$$, 'ST001', NULL, '1001 bytes');
SELECT throws_ok($$SELECT harel_publish(repeat('ü', 501), 'a')$$, 'ST001', NULL, '1002 bytes of 501 characters');
SELECT is_empty('SELECT * FROM transport_groups', 'nothing is published');

SELECT * FROM finish();
