SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_publish('g', 'a', 4, 1), harel_publish('h', 'b', 0, 2);
    UPDATE transport_groups SET available_at = 'Infinity' WHERE group_id = 'g';
END
$$;

SELECT is(ARRAY(SELECT event FROM harel_claim('w', 0, 5, p_now => 3)), '{b}', 'the others are not held up');
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 0, 5, 1, p_now => 3)', 'nor is it taken by its priority');
SELECT is_empty(
    $$SELECT * FROM harel_claim('w', 0, 5, p_now => 1.7e308) WHERE group_id = 'g'$$, 'however late it gets'
);
DO $$ BEGIN PERFORM harel_publish('g', 'c', 4, 5); END $$;
SELECT is_empty($$SELECT * FROM harel_claim('w', 0, 5, 1, p_now => 6)$$, 'or what is published');
UPDATE transport_groups SET available_at = 7 WHERE group_id = 'g';
SELECT is(ARRAY(SELECT event FROM harel_claim('w', 10, 5, 1, p_now => 8)), '{a}', 'it goes on where it stood');
SELECT is((SELECT attempts FROM transport_groups WHERE group_id = 'g'), 1, 'with no delivery used up');

SELECT * FROM finish();
