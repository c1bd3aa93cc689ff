SELECT plan(7);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1), harel_publish('g', 'b', 0, 1); END $$;
CREATE TEMP TABLE first AS SELECT * FROM harel_claim('w', 10, p_now => 2);

SELECT is_empty('SELECT * FROM harel_claim($$v$$, 10, p_now => 11.999)', 'not before the deadline');
CREATE TEMP TABLE second AS SELECT * FROM harel_claim('v', 10, p_now => 12);
SELECT is((SELECT event FROM second), 'a', 'at the deadline it is delivered again');
SELECT is((SELECT seq FROM second), (SELECT seq FROM first), 'under the same number');
SELECT is((SELECT attempts FROM second), 2, 'for the second time');
SELECT is((SELECT deadline FROM second), 22::double precision, 'with a deadline of its own');
SELECT isnt((SELECT token FROM second), (SELECT token FROM first), 'and another token');
SELECT is((SELECT worker FROM transport_groups), 'v', 'to the other worker');

SELECT * FROM finish();
