SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 0, 1);
    PERFORM harel_publish('h', 'b', 0, 2);
    PERFORM harel_publish('g', 'c', 0, 3);
END
$$;

SELECT is(
    (SELECT available_at FROM transport_groups WHERE group_id = 'g'), 1::double precision, 'it waits since the first'
);
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 4)), 'a', 'and comes first');
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 4)), 'b', 'before the next group');

SELECT * FROM finish();
