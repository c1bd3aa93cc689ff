SELECT plan(2);

CREATE TEMP TABLE sample (value text, priority integer);
INSERT INTO sample VALUES
('0', 0), ('1', 1), ('2', 2), ('3', 3), ('4', 4), ('5', 0), ('-1', 0), ('100', 0), ('1.5', 0), ('32768', 0),
('1e99', 0), ('null', 0), ('true', 0), ('"high"', 0), ('""', 0), ('[1]', 0), ('{"a":1}', 0);
DO $$
BEGIN
    PERFORM harel_commit_cas('first ' || value, 'd', format('{"priority": %s}', value), 0) FROM sample;
    PERFORM harel_commit_cas('odd ' || value, 'd', format('{"priority": %s, "a": "\u0000"}', value), 0) FROM sample;
    PERFORM harel_commit_cas('later ' || value, 'd', '{"priority": 3}', 0) FROM sample;
    PERFORM harel_commit_cas('later ' || value, 'd', format('{"priority": %s}', value), 1) FROM sample;
    PERFORM harel_commit_cas('none', 'd', '{"a": {"priority": 3}}', 0);
    PERFORM harel_commit_cas('list', 'd', '["priority", 3]', 0);
    PERFORM harel_commit_cas('twice', 'd', '{"priority": 3, "priority": 1}', 0);
END
$$;

SELECT is_empty(
    $$SELECT e.id, e.priority FROM sample s CROSS JOIN unnest('{first,odd,later}'::text[]) k
    LEFT JOIN executions e ON e.id = k || ' ' || s.value WHERE e.priority IS DISTINCT FROM s.priority$$,
    '0 to 4 are one, and anything else is 0'
);
SELECT is(
    ARRAY(SELECT id || priority FROM executions WHERE id IN ('none', 'list', 'twice') ORDER BY id),
    '{list0,none0,twice1}',
    'it stands at the top level of data, and the last one counts'
);

SELECT * FROM finish();
