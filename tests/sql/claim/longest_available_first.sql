SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_publish(g.id, g.id, g.priority, g.at)
    FROM (VALUES ('a', 0, 30), ('b', 4, 40), ('c', 0, 10), ('d', 2, 20), ('e', 0, 50)) AS g (id, priority, at);
END
$$;

SELECT is(ARRAY(SELECT event FROM harel_claim('w', 10, 2, p_now => 60)), '{c,d}', 'those that have waited longest');
SELECT is(
    ARRAY(SELECT event FROM harel_claim('w', 100, 9, p_now => 60)), '{a,b,e}', 'and then the others, in that order'
);
DO $$ BEGIN PERFORM harel_publish('f', 'f', 0, 69), harel_publish('g', 'g', 0, 71); END $$;
SELECT is(
    ARRAY(SELECT CASE WHEN event < 'f' THEN 'expired' ELSE event END FROM harel_claim('w', 10, 9, p_now => 80)),
    '{f,expired,expired,g}', 'a lease that expired counts from its deadline'
);

SELECT * FROM finish();
