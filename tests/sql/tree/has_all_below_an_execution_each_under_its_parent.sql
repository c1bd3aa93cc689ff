SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd', format('{"parent_id": %s, "status": "RUNNING", "active_path": "/%s"}', coalesce(to_json(parent), 'null'), id), 0)
    FROM (VALUES ('r', NULL), ('r/b', 'r'), ('r/a', 'r'), ('z', 'r/a'), ('a', 'r/b'), ('other', NULL)) v (id, parent);
END
$$;
SELECT results_eq(
    $$SELECT depth, id, parent_id, active_path FROM harel_tree('r')$$,
    $$VALUES
        (0, 'r', NULL, '/r'), (1, 'r/a', 'r', '/r/a'), (2, 'z', 'r/a', '/z'), (1, 'r/b', 'r', '/r/b'), (2, 'a', 'r/b', '/a')$$,
    'depth first'
);
SELECT results_eq($$SELECT id FROM harel_tree('r', 3)$$, $$VALUES ('r'), ('r/a'), ('z')$$, 'no more than asked for');
SELECT results_eq($$SELECT depth, id FROM harel_tree('r/a')$$, $$VALUES (0, 'r/a'), (1, 'z')$$, 'from anywhere');
SELECT is_empty($$SELECT * FROM harel_tree('unknown') UNION ALL SELECT * FROM harel_tree(NULL)$$, 'of nobody');
UPDATE executions SET parent_id = 'a' WHERE id = 'r';
SELECT results_eq(
    $$SELECT depth, id FROM harel_tree('r')$$,
    $$VALUES (0, 'r'), (1, 'r/a'), (2, 'z'), (1, 'r/b'), (2, 'a')$$,
    'a circle of parents ends'
);
SELECT harel_commit_cas('left', 'd', '{"parent_id": "gone"}', 0);
SELECT is_empty($$SELECT * FROM harel_tree('gone')$$, 'of nobody, where there are children that were left behind');

SELECT * FROM finish();
