SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 2, 1);
    PERFORM harel_publish('g', 'b', 4, 2);
    PERFORM harel_publish('g', 'c', 0, 3);
END
$$;

SELECT is((SELECT priority FROM transport_groups), 2::smallint, 'it is that of the first message');
DO $$ BEGIN PERFORM harel_ack('g', c.token, 5) FROM harel_claim('w', 10, p_now => 4) c; END $$;
SELECT is((SELECT priority FROM transport_groups), 2::smallint, 'also when that is gone');
SELECT is((SELECT event FROM harel_claim('w', 10, 1, 2, p_now => 6)), 'b', 'the next is claimed by it');
DO $$
BEGIN
    PERFORM harel_ack('g', (SELECT token FROM transport_groups), 7);
    PERFORM harel_ack('g', c.token, 9) FROM harel_claim('w', 10, p_now => 8) c;
END
$$;
SELECT is_empty('SELECT * FROM transport_groups', 'once the group is drained');
SELECT lives_ok($$SELECT harel_publish('g', 'd', 4, 10)$$, 'the next message');
SELECT is((SELECT priority FROM transport_groups), 4::smallint, 'has its own');

SELECT * FROM finish();
