SELECT plan(3);

INSERT INTO timers VALUES ('e', 'a', 1), ('e', 'b', 1), ('f', 'a', 1);

SELECT is(harel_delete_timer('e', 'a', 1), 1, 'it was armed');
SELECT is(ARRAY(SELECT execution_id || path FROM harel_due_timers(1)), '{eb,fa}', 'another path and another execution keep theirs');
SELECT is(harel_delete_timer('e', 'a', 1), 0, 'it is no longer');

SELECT * FROM finish();
