SELECT plan(3);

SELECT lives_ok($$SELECT * FROM harel_next('w', 30, p_sleep => 0, p_now => 200)$$, 'none');
SELECT lives_ok(
    $$SELECT * FROM harel_next('w', 30, p_sleep => 1e300, p_now => 200)$$, 'longer than a register can say'
);
SELECT ok(
    (SELECT last_value / 1e6 > 1e12 FROM transport_asleep_until), 'which is for ever'
);

SELECT * FROM finish();
