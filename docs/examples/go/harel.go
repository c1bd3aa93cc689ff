package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/lib/pq"
)

const (
	nextSQL = `SELECT group_id, token, event, attempts, definition_id, data, version, already_processed
		FROM harel_next($1, $2, $3, p_sleep => 2)`
	finishSQL = `SELECT result FROM harel_finish(
		p_group_ids => $1, p_tokens => $2, p_defns => $3, p_datas => $4, p_olds => $5, p_events => $6, p_traces => $7,
		p_emit_commits => $8, p_emit_targets => $9, p_emit_events => $10, p_timer_commits => $11,
		p_timer_actions => $12, p_timer_paths => $13, p_timer_fire_ats => $14, p_trace_max => 200)`
	loadSQL = `SELECT data, version, already_processed FROM harel_load_for_event($1, $2)`
	tickSQL = `SELECT CASE WHEN spawned + relayed + fired > 0 THEN 0
		ELSE greatest(0.01, least(1, next_at - extract(epoch FROM clock_timestamp()))) END FROM harel_tick()`
)

type message struct {
	group, token, event, definition string
	attempts                        int
	data                            sql.NullString
	version                         sql.NullInt64
	processed                       bool
}

// decided is a message with its step: what is written, and what that causes. Without data the message only goes.
type decided struct {
	message
	eventID, newData, trace sql.NullString
	Step
}

type worker struct {
	*sql.DB
	name string
}

// next leases messages.
func (w worker) next() (messages []message, err error) {
	rows, err := w.Query(nextSQL, w.name, lease, batch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m message
		err := rows.Scan(&m.group, &m.token, &m.event, &m.attempts, &m.definition, &m.data, &m.version, &m.processed)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, rows.Err()
}

// finish settles a batch, and returns the result for each.
func (w worker) finish(batch []*decided) (results []string, err error) {
	var groups, tokens, definitions, targets, events, actions, paths []string
	var datas, ids, traces []sql.NullString
	var versions, emitters, timed []int64
	var fireAts []float64
	for i, d := range batch {
		groups, tokens, definitions = append(groups, d.group), append(tokens, d.token), append(definitions, d.definition)
		datas, versions, ids = append(datas, d.newData), append(versions, d.version.Int64), append(ids, d.eventID)
		traces = append(traces, d.trace)
		// The items of all steps in one list, each with the number of its step, from 1.
		for _, e := range d.Emits {
			emitters, targets, events = append(emitters, int64(i+1)), append(targets, e.Target), append(events, marshal(e.Event))
		}
		for _, t := range d.Timers {
			timed, actions = append(timed, int64(i+1)), append(actions, t.Action)
			paths, fireAts = append(paths, t.Path), append(fireAts, t.FireAt)
		}
	}
	rows, err := w.Query(finishSQL, pq.Array(groups), pq.Array(tokens), pq.Array(definitions), pq.Array(datas),
		pq.Array(versions), pq.Array(ids), pq.Array(traces), pq.Array(emitters), pq.Array(targets), pq.Array(events),
		pq.Array(timed), pq.Array(actions), pq.Array(paths), pq.Array(fireAts))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var result string
		if err := rows.Scan(&result); err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, rows.Err()
}

// giveBack makes a message wait, longer each time; after 20 deliveries it is a dead letter, for this reason.
func (w worker) giveBack(m message, reason error) error {
	delay := math.Min(60, 0.1*math.Pow(2, float64(m.attempts)))
	_, err := w.Exec(`SELECT harel_nack($1, $2, $3, $4)`, m.group, m.token, delay, reason.Error())
	return err
}

// reload brings a message with what another commit, which came first, has left. The lease still holds.
func (w worker) reload(d *decided) (message, error) {
	m := d.message
	err := w.QueryRow(loadSQL, m.group, d.eventID).Scan(&m.data, &m.version, &m.processed)
	return m, err
}

// tick fires timers and moves what waits elsewhere, and returns for how many seconds there is nothing more to do.
func (w worker) tick() (pause float64, err error) {
	err = w.QueryRow(tickSQL).Scan(&pause)
	return pause, err
}

func sqlstate(err error) string {
	var refused *pq.Error
	if errors.As(err, &refused) {
		return string(refused.Code)
	}
	return ""
}

func parse(s string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(s))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func marshal(value any) string {
	bytes, err := json.Marshal(value)
	if err != nil {
		panic(err) // what was parsed can be written
	}
	return string(bytes)
}

func text(s string) sql.NullString { return sql.NullString{String: s, Valid: true} }
