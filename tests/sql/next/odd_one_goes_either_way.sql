SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(e, 'd', '{}', 0) FROM unnest('{old,urgent}'::text[]) e;
    PERFORM harel_publish('old', 'ev', 0, 100);
    PERFORM harel_publish('urgent', 'ev', 1, 101);
END
$$;
CREATE TEMP TABLE seen (group_id text);
-- Each way has a chance of one half.
DO $$
BEGIN
    FOR i IN 1 .. 200 LOOP
        INSERT INTO seen SELECT n.group_id FROM harel_next('w', 0, p_max_attempts => NULL, p_now => 200) n;
        UPDATE transport_groups SET available_at = CASE group_id WHEN 'old' THEN 100 ELSE 101 END;
    END LOOP;
END
$$;

SELECT is((SELECT count(*) FROM seen), 200::bigint, 'one at a time is handed out');
SELECT is(
    ARRAY(SELECT DISTINCT group_id FROM seen ORDER BY group_id), '{old,urgent}', 'neither kind keeps the other waiting'
);

SELECT * FROM finish();
