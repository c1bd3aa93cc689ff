SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 3, 1), harel_publish('h', 'b', 0, 2); END $$;

SELECT is(
    (SELECT harel_ack('g', c.token, 4) FROM harel_claim('w', 10, p_now => 3) c), true, 'the only message of a group'
);
SELECT is((SELECT array_agg(group_id) FROM transport_groups), '{h}', 'leaves no group');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{b}', 'and no message');
SELECT isnt(harel_publish('g', 'c', 0, 5), NULL, 'the group can be made again');

SELECT * FROM finish();
