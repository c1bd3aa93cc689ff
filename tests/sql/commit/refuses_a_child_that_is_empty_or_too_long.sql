SELECT plan(3);

SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, '{""}', '{p}', '{k}')$$, 'ST001', NULL, 'an empty child'
);
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, ARRAY[repeat('x', 1001)], '{p}', '{k}')$$, 'ST001', NULL,
    '1001 bytes'
);
SELECT lives_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, NULL, NULL, ARRAY[repeat('x', 1000)], '{p}', '{k}')$$, '1000 bytes are taken'
);

SELECT * FROM finish();
