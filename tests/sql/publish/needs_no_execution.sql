SELECT plan(2);

SELECT lives_ok($$SELECT harel_publish('no such execution', 'a', 0, 1)$$, 'whether there is one is asked later');
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 2)), 'a', 'the message can be claimed');

SELECT * FROM finish();
