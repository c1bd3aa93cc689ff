SELECT plan(3);

SELECT throws_ok($$SELECT harel_outcome(NULL, 0, '00000000-0000-0000-0000-000000000001')$$, 'ST001', NULL, 'no id');
SELECT throws_ok($$SELECT harel_outcome('e', NULL, '00000000-0000-0000-0000-000000000001')$$, 'ST001', NULL, 'no version');
SELECT throws_ok($$SELECT harel_outcome('e', 0, NULL)$$, 'ST001', NULL, 'no commit id');

SELECT * FROM finish();
