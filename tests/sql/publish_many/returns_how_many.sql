SELECT plan(5);

SELECT is(harel_publish_many('{g,h,g}', '{a,b,c}', NULL, 1), 3, 'three messages');
SELECT is((SELECT count(*) FROM transport_messages), 3::bigint, 'are in the queue');
SELECT is(harel_publish_many('{}', '{}', '{}'), 0, 'no messages');
SELECT is(harel_publish_many(NULL, NULL), 0, 'nor are NULLs any');
SELECT is((SELECT count(*) FROM transport_messages), 3::bigint, 'and nothing is published then');

SELECT * FROM finish();
