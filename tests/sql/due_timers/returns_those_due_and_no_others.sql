SELECT plan(5);

INSERT INTO timers VALUES ('e', 'a', 9.999), ('e', 'b', 10), ('e', 'c', 10.001), ('f', 'a', -5);

SELECT is(ARRAY(SELECT execution_id || path FROM harel_due_timers(10)), '{fa,ea,eb}', 'up to and with the time given');
SELECT is_empty('SELECT * FROM harel_due_timers(-5.001)', 'none before the first');
SELECT is((SELECT count(*) FROM harel_due_timers('Infinity')), 4::bigint, 'all up to infinity');
SELECT is_empty($$SELECT * FROM harel_due_timers('-Infinity')$$, 'none up to minus infinity');
SELECT is((SELECT count(*) FROM timers), 4::bigint, 'to ask disarms none');

SELECT * FROM finish();
