// A worker in JavaScript: harel's SQL functions, called through node-postgres.
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { machines } from './orders.js';

const BATCH = 20; // messages, each of another execution
const LEASE = 30; // seconds; harel_extend() prolongs the leases of steps that take longer
const ME = `node:${hostname()}:${process.pid}`;

function decide(message) {
  const { group_id, token, definition_id, version, already_processed } = message;
  const nothing = { row: [group_id, token, definition_id, null, version, null, null], emits: [], timers: [] };
  if (already_processed) return nothing;
  const [exe, event] = [JSON.parse(message.data), JSON.parse(message.event)];
  // After a conflict it may be so; harel_next() gives none of these.
  if (!exe || ['SUSPENDED', 'CANCELLED', 'FAILED'].includes(exe.status)) throw new Error('the execution is held back');
  if (!machines.has(definition_id)) throw new Error(`there is no machine for ${definition_id}`);
  const step = machines.get(definition_id)(exe, event);
  if (!step) return nothing;
  const { to, status = 'RUNNING', outcome = null, context = exe.context, emits = [], timers = [] } = step;
  // Fields that this worker does not know stay as they are.
  const data = JSON.stringify({ ...exe, active_path: to, status, outcome, context, version: version + 1 });
  const trace = JSON.stringify({ event: event.kind, from: exe.active_path ?? null, to, worker: ME });
  return { row: [group_id, token, definition_id, data, version, event.id ?? null, trace], emits, timers };
}

const columns = (rows, width) => Array.from({ length: width }, (_, i) => rows.map((row) => row[i]));

async function finish(db, steps) {
  // The items of all steps in one list, each with the number of its step, from 1.
  const emits = steps.flatMap((step, i) => step.emits.map(([target, event]) => [i + 1, target, JSON.stringify(event)]));
  const timers = steps.flatMap((step, i) => step.timers.map((timer) => [i + 1, ...timer]));
  const { rows } = await db.query(
    `SELECT group_id, result FROM harel_finish(
       p_group_ids => $1, p_tokens => $2, p_defns => $3, p_datas => $4, p_olds => $5, p_events => $6, p_traces => $7,
       p_emit_commits => $8, p_emit_targets => $9, p_emit_events => $10, p_timer_commits => $11,
       p_timer_actions => $12, p_timer_paths => $13, p_timer_fire_ats => $14, p_trace_max => 200)`,
    [...columns(steps.map(({ row }) => row), 7), ...columns(emits, 3), ...columns(timers, 4)],
  );
  return rows;
}

// Later and later; after 20 deliveries the message is a dead letter, for this reason.
const giveBack = (db, { group_id, token, attempts }, { message: reason }) =>
  db.query('SELECT harel_nack($1, $2, $3, $4)', [group_id, token, Math.min(60, 0.1 * 2 ** attempts), reason]);

// Settles the messages, and returns those that are to be decided anew.
async function handle(db, messages) {
  const steps = new Map();
  for (const message of messages) {
    try {
      steps.set(message, decide(message));
    } catch (error) {
      await giveBack(db, message, error);
    }
  }
  try {
    const results = await finish(db, [...steps.values()]);
    // finished is done, and expired: another has the message now.
    const lost = [...steps.keys()].filter((_, i) => results[i].result === 'conflict');
    for (const message of lost) {
      const load = 'SELECT data, version, already_processed FROM harel_load_for_event($1, $2)';
      Object.assign(message, (await db.query(load, [message.group_id, JSON.parse(message.event).id])).rows[0]);
    }
    return lost;
  } catch (error) {
    if (!error.code?.startsWith('ST')) throw error;
    // One of the steps was refused, and so none is settled: each by itself.
    const again = [];
    for (const message of steps.keys()) {
      if (steps.size === 1) await giveBack(db, message, error);
      else again.push(...(await handle(db, [message])));
    }
    return again;
  }
}

let stopping = false;
let wake = () => {};
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    stopping = true;
    wake();
  });
}

async function work(db) {
  for (let ticked = 0; !stopping; ) {
    // Made before the look at the queue: what comes in between wakes too.
    const woken = new Promise((resolve) => { wake = resolve; });
    const next = 'SELECT * FROM harel_next($1, $2, $3, p_sleep => 2)';
    let { rows: messages } = await db.query(next, [ME, LEASE, BATCH]);
    const idle = messages.length === 0;
    while (messages.length) messages = await handle(db, messages);
    if (!idle && Date.now() < ticked + 1000) continue;
    const { rows: [{ pause }] } = await db.query(
      `SELECT CASE WHEN spawned + relayed + fired > 0 THEN 0
         ELSE greatest(0.01, least(1, next_at - extract(epoch FROM clock_timestamp()))) END AS pause
       FROM harel_tick()`,
    );
    ticked = Date.now();
    if (idle && !stopping) await Promise.race([woken, sleep(pause * 1000, null, { ref: false })]);
  }
}

function end(code, message) {
  console.error(message);
  process.exit(code);
}

const dsn = process.env.HAREL_DSN;
if (!dsn) end(2, 'HAREL_DSN is not set: it names the database, as in postgresql://localhost/app');
for (let begun = false; !stopping; ) {
  let db;
  try {
    db = new pg.Client({ connectionString: dsn });
    db.on('error', () => wake()).on('notification', () => wake());
    await db.connect();
    const { rows: [{ channel }] } = await db.query('SELECT harel_channel() AS channel');
    await db.query(`LISTEN ${db.escapeIdentifier(channel)}`);
    begun = true;
    await work(db);
  } catch (error) {
    if (error.code === '42883') end(1, 'there is no harel in this database: CREATE EXTENSION harel');
    // Lost connections, servers that end or are full, and deadlocks pass. The leases come back by themselves.
    const passes = !(error instanceof pg.DatabaseError) || /^(08|40|53|57)/.test(error.code);
    if (!begun || !passes) end(1, `the database says: ${error.message || error.code}`);
    console.error(`${error.message || error.code}; once more in a second`);
    await sleep(1000);
  }
  await db?.end().catch(() => {});
}
