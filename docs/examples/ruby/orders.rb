# An order and its warehouse. A machine decides where an event leads an execution, and what that causes: events for
# other executions, and timers. It does nothing else.

ORDER = lambda do |exe, event|
  case [exe["active_path"], event["kind"]]
  in [nil, "Place"]
    { to: "/paying", timers: [["schedule", "/paying", Float(event.fetch("data").fetch("pay_until"))]] }
  in ["/paying", "Paid"]
    # The id is the dedupe key of an event: the same, whoever decides this step.
    ship = { id: "#{exe["id"]}:Ship", kind: "Ship", data: { order: exe["id"] } }
    { to: "/shipping", timers: [["cancel", "/paying", 0.0]], emits: [["warehouse", ship]] }
  in ["/paying", "Timeout"]
    { to: "/expired", status: "DONE", outcome: "expired" }
  in ["/shipping", "Shipped"]
    { to: "/shipped", status: "DONE", outcome: "shipped" }
  else
    nil # the event changes nothing
  end
end

WAREHOUSE = lambda do |exe, event|
  next unless event["kind"] == "Ship"

  order = event.fetch("data").fetch("order")
  context = exe.fetch("context", {})
  context = context.merge("shipped" => context.fetch("shipped", 0) + 1)
  { to: "/open", context:, emits: [[order, { id: "#{order}:Shipped", kind: "Shipped" }]] }
end

MACHINES = { "order" => ORDER, "warehouse" => WAREHOUSE }.freeze
