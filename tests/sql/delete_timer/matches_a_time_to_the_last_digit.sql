SELECT plan(2);

INSERT INTO timers VALUES ('e', 'a', 0.1::double precision + 0.2::double precision), ('e', 'b', 1764430000.1234567);

SELECT is(harel_delete_timer('e', 'a', 0.3), 0, 'a time that is nearly the same does not match');
SELECT is((SELECT sum(harel_delete_timer(execution_id, path, fire_at)) FROM harel_due_timers('Infinity')), 2::bigint, 'the one read does');

SELECT * FROM finish();
