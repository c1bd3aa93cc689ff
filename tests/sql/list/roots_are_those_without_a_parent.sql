SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('a', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_commit_cas('b', 'd', '{"status": "RUNNING", "parent_id": null}', 0);
    PERFORM harel_commit_cas('c', 'd', '{"status": "RUNNING", "parent_id": "a"}', 0);
    PERFORM harel_commit_cas('d', 'd', '{"status": "RUNNING", "parent_id": ""}', 0);
END
$$;

SELECT is(ARRAY(SELECT id FROM harel_list(p_roots_only => true)), '{a,b}', 'missing and null are no parent');
SELECT is(ARRAY(SELECT id FROM harel_list(p_roots_only => false)), '{a,b,c,d}', 'false is no filter');
SELECT is(ARRAY(SELECT id FROM harel_list(p_roots_only => NULL)), '{a,b,c,d}', 'and NULL is none');

SELECT * FROM finish();
