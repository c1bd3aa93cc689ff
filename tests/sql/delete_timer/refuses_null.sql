SELECT plan(5);

INSERT INTO timers VALUES ('e', 'a', 1);

SELECT throws_ok($$SELECT harel_delete_timer(NULL, 'a', 1)$$, 'ST001', NULL, 'a NULL id');
SELECT throws_ok($$SELECT harel_delete_timer('e', NULL, 1)$$, 'ST001', NULL, 'a NULL path');
SELECT throws_ok($$SELECT harel_delete_timer('e', 'a', NULL)$$, 'ST006', NULL, 'a NULL time');
SELECT is(harel_delete_timer('e', 'a', 'NaN'), 0, 'NaN matches none');
SELECT is((SELECT count(*) FROM timers), 1::bigint, 'and nothing goes');

SELECT * FROM finish();
