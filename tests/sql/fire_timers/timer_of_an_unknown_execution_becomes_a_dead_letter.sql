SELECT plan(3);

INSERT INTO timers VALUES ('unknown', 'p', 100);

SELECT is(harel_fire_timers(100), 1, 'it fires');
SELECT is_empty($$SELECT * FROM harel_next('w', 30, p_now => 100)$$, 'for nobody');
SELECT is(ARRAY(SELECT event::jsonb ->> 'kind' FROM harel_dead_letters()), '{Timeout}', 'and is a dead letter');

SELECT * FROM finish();
