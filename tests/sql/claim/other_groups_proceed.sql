SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_publish('busy', 'a', 0, 1), harel_publish('busy', 'b', 0, 1);
    PERFORM harel_claim('w', 1000, p_now => 2);
    PERFORM harel_publish('g', 'c', 0, 3), harel_publish('h', 'd', 0, 4);
END
$$;

SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 5)), 'c', 'while one group is leased');
SELECT is((SELECT event FROM harel_claim('v', 10, p_now => 5)), 'd', 'by whoever asks');
SELECT is_empty('SELECT * FROM harel_claim($$v$$, 10, p_now => 5)', 'and that one stays where it is');

SELECT * FROM finish();
