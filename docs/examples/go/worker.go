// A worker in Go: harel's SQL functions, called through lib/pq. The calls are in harel.go, the machines in orders.go.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lib/pq"
)

const (
	batch = 20 // messages, each of another execution
	lease = 30 // seconds; harel_extend() prolongs the leases of steps that take longer
)

func (w worker) decide(m message) (*decided, error) {
	d := &decided{message: m}
	if m.processed {
		return d, nil
	}
	var exe Object
	var event Event
	if err := parse(m.data.String, &exe); err != nil {
		return nil, err
	}
	if err := parse(m.event, &event); err != nil {
		return nil, err
	}
	switch exe["status"] {
	case "SUSPENDED", "CANCELLED", "FAILED":
		// After a conflict it may be so; harel_next() gives none of these.
		return nil, errors.New("the execution is held back")
	}
	machine, ok := machines[m.definition]
	if !ok {
		return nil, fmt.Errorf("there is no machine for %s", m.definition)
	}
	step, err := machine(exe, event)
	if step == nil || err != nil {
		return d, err
	}
	d.Step, d.eventID = *step, text(event.ID)
	d.trace = text(marshal(Object{
		"event": event.Kind, "from": exe["active_path"], "to": step.Changes["active_path"], "worker": w.name,
	}))
	// Fields that this worker does not know stay as they are.
	for name, value := range step.Changes {
		exe[name] = value
	}
	exe["version"] = m.version.Int64 + 1
	d.newData = text(marshal(exe))
	return d, nil
}

// handle settles messages, and again those that another commit was faster for.
func (w worker) handle(messages []message) error {
	var steps []*decided
	for _, m := range messages {
		if d, err := w.decide(m); err == nil {
			steps = append(steps, d)
		} else if err := w.giveBack(m, err); err != nil {
			return err
		}
	}
	results, err := w.finish(steps)
	if strings.HasPrefix(sqlstate(err), "ST") {
		if len(steps) == 1 {
			return w.giveBack(steps[0].message, err)
		}
		// One of the steps was refused, and so none is settled: each by itself.
		for _, d := range steps {
			if err := w.handle([]message{d.message}); err != nil {
				return err
			}
		}
		return nil
	}
	var again []message
	for i, result := range results {
		// finished is done, and expired: another has the message now.
		if result == "conflict" {
			m, err := w.reload(steps[i])
			if err != nil {
				return err
			}
			again = append(again, m)
		}
	}
	if err != nil || len(again) == 0 {
		return err
	}
	return w.handle(again)
}

func (w worker) work(ctx context.Context, woken <-chan *pq.Notification) {
	var ticked time.Time
	for ctx.Err() == nil {
		messages, err := w.next()
		pause := 0.0
		if err == nil && len(messages) > 0 {
			err = w.handle(messages)
		}
		if err == nil && (len(messages) == 0 || time.Since(ticked) > time.Second) {
			ticked = time.Now()
			pause, err = w.tick()
		}
		if err != nil {
			if !passes(err) {
				end(1, "the database says: "+err.Error())
			}
			fmt.Fprintf(os.Stderr, "%v; once more in a second\n", err)
			pause = 1
		} else if len(messages) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-woken:
		case <-time.After(time.Duration(pause * float64(time.Second))):
		}
	}
}

// passes says whether an error is of a lost connection, a server that ends or is full, or a deadlock. database/sql
// connects again by itself, and the leases come back by themselves.
func passes(err error) bool {
	state := sqlstate(err)
	return state == "" || strings.Contains("08 40 53 57", state[:2])
}

func end(code int, message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(code)
}

func main() {
	dsn := os.Getenv("HAREL_DSN")
	if dsn == "" {
		end(2, "HAREL_DSN is not set: it names the database, as in postgresql://localhost/app")
	}
	host, _ := os.Hostname()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	db, err := sql.Open("postgres", dsn)
	var channel string
	if err == nil {
		err = db.QueryRow(`SELECT harel_channel()`).Scan(&channel)
	}
	var unreadable *url.Error
	if errors.As(err, &unreadable) {
		err = unreadable.Err // without the URL, which may hold a password
	}
	if sqlstate(err) == "42883" {
		end(1, "there is no harel in this database: CREATE EXTENSION harel")
	} else if err != nil {
		end(1, "the database says: "+err.Error())
	}
	listener := pq.NewListener(dsn, time.Second, time.Minute, nil)
	if err := listener.Listen(channel); err != nil {
		end(1, "the database says: "+err.Error())
	}
	worker{db, fmt.Sprintf("go:%s:%d", host, os.Getpid())}.work(ctx, listener.Notify)
}
