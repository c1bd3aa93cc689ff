SELECT plan(2);

CREATE TEMP TABLE answer AS
SELECT 1 AS step, c.outbox_seqs FROM harel_commit('e', 'd', '{}', 0, NULL, '{x,x}', '{1,2}') c;
INSERT INTO answer SELECT 2, c.outbox_seqs FROM harel_commit('e', 'd', '{}', 1, NULL, '{x,x}', '{3,4}') c;

SELECT is(ARRAY(SELECT event FROM harel_pending_outbox()), '{1,2,3,4}', 'the outbox is in the order of the commits');
SELECT is(
    ARRAY(SELECT unnest(outbox_seqs) FROM answer ORDER BY step), ARRAY(SELECT seq FROM outbox ORDER BY version, ord),
    'and so are the seqs returned'
);

SELECT * FROM finish();
