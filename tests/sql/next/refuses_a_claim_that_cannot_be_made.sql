SELECT plan(19);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;

SELECT throws_ok($$SELECT harel_next(NULL, 30)$$, 'ST001', NULL, 'a NULL worker');
SELECT throws_ok($$SELECT harel_next('', 30)$$, 'ST001', NULL, 'an empty worker');
SELECT throws_ok($$SELECT harel_next(repeat('w', 1001), 30)$$, 'ST001', NULL, 'a worker of 1001 bytes');
SELECT throws_ok($$SELECT harel_next('w', NULL)$$, 'ST011', NULL, 'a NULL visibility');
SELECT throws_ok($$SELECT harel_next('w', -1)$$, 'ST011', NULL, 'a negative one');
SELECT throws_ok($$SELECT harel_next('w', 'NaN')$$, 'ST011', NULL, 'NaN');
SELECT throws_ok($$SELECT harel_next('w', 'Infinity')$$, 'ST011', NULL, 'Infinity');
SELECT throws_ok($$SELECT harel_next('w', 30, NULL)$$, 'ST008', NULL, 'a NULL limit');
SELECT throws_ok($$SELECT harel_next('w', 30, -1)$$, 'ST008', NULL, 'a negative one');
SELECT throws_ok($$SELECT harel_next('w', 30, 1, NULL)$$, 'ST010', NULL, 'a NULL priority');
SELECT throws_ok($$SELECT harel_next('w', 30, 1, -1)$$, 'ST010', NULL, 'a negative one');
SELECT throws_ok($$SELECT harel_next('w', 30, 1, 5)$$, 'ST010', NULL, 'one above 4');
SELECT throws_ok($$SELECT harel_next('w', 30, p_max_attempts => 0)$$, 'ST008', NULL, 'no attempts');
SELECT throws_ok($$SELECT harel_next('w', 30, p_sleep => -1)$$, 'ST011', NULL, 'a negative sleep');
SELECT throws_ok($$SELECT harel_next('w', 30, p_sleep => 'NaN')$$, 'ST011', NULL, 'a sleep of NaN');
SELECT throws_ok($$SELECT harel_next('w', 30, p_sleep => 'Infinity')$$, 'ST011', NULL, 'an infinite sleep');
SELECT throws_ok($$SELECT harel_next('w', 30, p_now => 'NaN')$$, 'ST006', NULL, 'a time of NaN');
SELECT throws_ok($$SELECT harel_next('w', 30, p_now => '-Infinity')$$, 'ST006', NULL, 'an infinite time');
SELECT is((SELECT attempts FROM transport_groups), 0, 'nothing is delivered');

SELECT * FROM finish();
