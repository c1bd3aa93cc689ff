# From messages, as harel_next() gives them, to the arguments of harel_finish() and harel_nack().
include "orders";

def step:
  . as $message
  | {exe: (.data | fromjson), event: (.event | fromjson)} as $now
  # After a conflict it may be so; harel_next() gives none of these.
  | if $now.exe.status | IN("SUSPENDED", "CANCELLED", "FAILED") then error("the execution is held back") else . end
  | ($now | machine($message.definition_id))
  | if . == null then {} else
      {
        event_id: $now.event.id,
        # Fields that this worker does not know stay as they are.
        new: ($now.exe + {active_path: .to, status: (.status // "RUNNING"), outcome, version: ($message.version + 1)}
          + (if .context then {context} else {} end) | tojson),
        trace: ({event: $now.event.kind, from: $now.exe.active_path, to, worker: $me} | tojson),
        emits: (.emits // [] | map([.[0], (.[1] | tojson)])),
        timers
      }
    end;

# The items of all steps in one list, each with the number of its step, from 1; by columns.
def columns(items; $width):
  [to_entries[] | (.key + 1) as $n | .value | items[]? | [$n] + .] as $rows
  | [range($width) as $i | $rows | map(.[$i])];

# Without `new` there is no step, and the message only goes.
map(. as $message | if .already_processed then . else try ($message + step) catch ($message + {error: .}) end)
| map(select(.error)) as $failed
| map(select(.error | not)) as $steps
| ($steps | columns(.emits; 3)) as $emits
| ($steps | columns(.timers; 4)) as $timers
| {
    $failed,
    $steps,
    columns: {
      group_ids: ($steps | map(.group_id)), tokens: ($steps | map(.token)), defns: ($steps | map(.definition_id)),
      datas: ($steps | map(.new)), olds: ($steps | map(.version)), events: ($steps | map(.event_id)),
      traces: ($steps | map(.trace)),
      emit_commits: $emits[0], emit_targets: $emits[1], emit_events: $emits[2],
      timer_commits: $timers[0], timer_actions: $timers[1], timer_paths: $timers[2], timer_fire_ats: $timers[3]
    }
  }
