# An order and its warehouse. A machine decides where an event leads an execution, and what that causes: events for
# other executions, and timers. It does nothing else, and null changes nothing.

def order:
  .exe.id as $id
  | [.exe.active_path, .event.kind] as $case
  | if $case == [null, "Place"] then
      .event.data.pay_until as $pay_until
      | if $pay_until | type != "number" then error("Place has no pay_until") else . end
      | {to: "/paying", timers: [["schedule", "/paying", $pay_until]]}
    elif $case == ["/paying", "Paid"] then
      # The id of an event is its dedupe key: the same, whoever decides this step.
      {id: "\($id):Ship", kind: "Ship", data: {order: $id}} as $ship
      | {to: "/shipping", timers: [["cancel", "/paying", 0]], emits: [["warehouse", $ship]]}
    elif $case == ["/paying", "Timeout"] then {to: "/expired", status: "DONE", outcome: "expired"}
    elif $case == ["/shipping", "Shipped"] then {to: "/shipped", status: "DONE", outcome: "shipped"}
    else null
    end;

def warehouse:
  .event.data.order as $order
  | if .event.kind == "Ship" then
      if $order | type != "string" then error("Ship has no order") else . end
      | (.exe.context // {} | .shipped += 1) as $context
      | {to: "/open", context: $context, emits: [[$order, {id: "\($order):Shipped", kind: "Shipped"}]]}
    else null
    end;

def machine($definition_id):
  if $definition_id == "order" then order
  elif $definition_id == "warehouse" then warehouse
  else error("there is no machine for \($definition_id)")
  end;
