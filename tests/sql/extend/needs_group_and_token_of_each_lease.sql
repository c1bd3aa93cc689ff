SELECT plan(4);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 0, 1), harel_publish('h', 'b', 0, 2), harel_publish('i', 'c', 0, 2); END $$;
CREATE TEMP TABLE leases AS SELECT * FROM harel_claim('w', 10, p_now => 3);
INSERT INTO leases SELECT * FROM harel_claim('w', 10, p_now => 3);

SELECT is_empty(
    $$SELECT * FROM harel_extend('{h,g}', ARRAY(SELECT token FROM leases ORDER BY group_id), 10, 4)$$, 'not crosswise'
);
SELECT is_empty('SELECT * FROM harel_extend($${g,i}$$, $${NULL,NULL}$$, 10, 4)', 'a NULL token holds nothing');
SELECT is_empty(
    'SELECT * FROM harel_extend($${NULL}$$, (SELECT ARRAY[token] FROM leases LIMIT 1), 10, 4)', 'nor a NULL group'
);
SELECT is(
    ARRAY(
        SELECT group_id FROM harel_extend('{g,h}', ARRAY(SELECT token FROM leases ORDER BY group_id), 10, 4) ORDER BY 1
    ),
    '{g,h}', 'each with its own'
);

SELECT * FROM finish();
