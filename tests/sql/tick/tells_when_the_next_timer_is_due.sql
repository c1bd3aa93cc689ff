SELECT plan(2);

INSERT INTO timers VALUES ('e', 'late', 300), ('e', 'soon', 200), ('e', 'due', 100);

SELECT is((SELECT next_at FROM harel_tick(p_now => 100)), 200::float8, 'the earliest of those left');
SELECT is((SELECT next_at FROM harel_tick(p_now => 200)), 300::float8, 'and then the other');

SELECT * FROM finish();
