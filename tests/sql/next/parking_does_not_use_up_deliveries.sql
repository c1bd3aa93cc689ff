SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "SUSPENDED"}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
    FOR i IN 1 .. 5 LOOP
        PERFORM harel_next('w', 30, p_max_attempts => 2, p_now => 1e15);
        UPDATE transport_groups SET available_at = 100;
    END LOOP;
END
$$;

SELECT is(harel_resume('e'), true, 'after five looks at a suspended execution it is resumed');
SELECT is(
    (SELECT attempts FROM harel_next('w', 30, p_max_attempts => 2, p_now => 1e15)), 1, 'this is the first delivery'
);

SELECT * FROM finish();
