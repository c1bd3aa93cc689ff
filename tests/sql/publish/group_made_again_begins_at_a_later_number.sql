SELECT plan(2);

CREATE TEMP TABLE numbers AS SELECT harel_publish('g', 'a', 0, 1) AS first;
DO $$ BEGIN PERFORM harel_ack('g', c.token, 3) FROM harel_claim('w', 10, p_now => 2) c; END $$;

SELECT is_empty('SELECT * FROM transport_groups', 'the group is drained');
SELECT ok(harel_publish('g', 'b', 0, 1) > (SELECT first FROM numbers), 'whatever clock was given');

SELECT * FROM finish();
