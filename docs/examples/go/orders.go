package main

import (
	"encoding/json"
	"errors"
)

// Object is a JSON object. Its numbers are json.Number, so that they go back as they came.
type Object = map[string]any

// Event is what an execution reacts to. ID is its dedupe key.
type Event struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Data Object `json:"data,omitempty"`
}

// Step is what an event changes in an execution, its active path among it, and what else it causes.
type Step struct {
	Changes Object
	Emits   []Emit
	Timers  []Timer
}

type Emit struct {
	Target string
	Event  Event
}

type Timer struct {
	Action, Path string
	FireAt       float64 // seconds since the epoch
}

// A Machine decides a step and does nothing else. A nil Step changes nothing.
type Machine func(exe Object, event Event) (*Step, error)

var machines = map[string]Machine{"order": order, "warehouse": warehouse}

func order(exe Object, event Event) (*Step, error) {
	id, _ := exe["id"].(string)
	path, _ := exe["active_path"].(string)
	switch [2]string{path, event.Kind} {
	case [2]string{"", "Place"}:
		payUntil, ok := event.Data["pay_until"].(json.Number)
		if !ok {
			return nil, errors.New("Place has no pay_until")
		}
		fireAt, err := payUntil.Float64()
		return &Step{moved("/paying", "RUNNING", nil), nil, []Timer{{"schedule", "/paying", fireAt}}}, err
	case [2]string{"/paying", "Paid"}:
		// The id is the same, whoever decides this step.
		ship := Event{id + ":Ship", "Ship", Object{"order": id}}
		emits, timers := []Emit{{"warehouse", ship}}, []Timer{{"cancel", "/paying", 0}}
		return &Step{moved("/shipping", "RUNNING", nil), emits, timers}, nil
	case [2]string{"/paying", "Timeout"}:
		return &Step{Changes: moved("/expired", "DONE", "expired")}, nil
	case [2]string{"/shipping", "Shipped"}:
		return &Step{Changes: moved("/shipped", "DONE", "shipped")}, nil
	}
	return nil, nil
}

func warehouse(exe Object, event Event) (*Step, error) {
	if event.Kind != "Ship" {
		return nil, nil
	}
	id, ok := event.Data["order"].(string)
	if !ok {
		return nil, errors.New("Ship has no order")
	}
	context, _ := exe["context"].(Object)
	if context == nil {
		context = Object{}
	}
	shipped, _ := context["shipped"].(json.Number)
	count, _ := shipped.Int64()
	context["shipped"] = count + 1
	changes := moved("/open", "RUNNING", nil)
	changes["context"] = context
	return &Step{Changes: changes, Emits: []Emit{{id, Event{ID: id + ":Shipped", Kind: "Shipped"}}}}, nil
}

func moved(to, status string, outcome any) Object {
	return Object{"active_path": to, "status": status, "outcome": outcome}
}
