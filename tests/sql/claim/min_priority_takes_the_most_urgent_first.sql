SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_publish(g.id, g.id, g.priority, g.at)
    FROM (
        VALUES ('0a', 0, 1), ('1a', 1, 2), ('3b', 3, 9), ('3a', 3, 3), ('4a', 4, 8), ('2a', 2, 4), ('2b', 2, 5)
    ) AS g (id, priority, at);
END
$$;

SELECT is(ARRAY(SELECT event FROM harel_claim('w', 100, 2, 1, p_now => 10)), '{4a,3a}', 'of all, the highest priority');
SELECT is(
    ARRAY(SELECT event FROM harel_claim('w', 100, 9, 2, p_now => 10)), '{3b,2a,2b}',
    'of one priority, the longest available'
);
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 100, 9, 2, p_now => 10)', 'those below are not taken');
SELECT is(ARRAY(SELECT event FROM harel_claim('w', 100, 9, 1, p_now => 10)), '{1a}', 'but from their priority on');
SELECT is(ARRAY(SELECT event FROM harel_claim('w', 100, 9, 0, p_now => 10)), '{0a}', 'and 0 is every priority');

SELECT * FROM finish();
