# A worker in Ruby: harel's SQL functions, called through the gem pg.
require "json"
require "pg"
require "socket"
require_relative "orders"

class Worker
  BATCH = 20 # messages, each of another execution
  LEASE = 30 # seconds; harel_extend() prolongs the leases of steps that take longer
  ME = "ruby:#{Socket.gethostname}:#{Process.pid}".freeze

  FINISH = <<~SQL.freeze
    SELECT group_id, result FROM harel_finish(
      p_group_ids => $1, p_tokens => $2, p_defns => $3, p_datas => $4, p_olds => $5, p_events => $6, p_traces => $7,
      p_emit_commits => $8, p_emit_targets => $9, p_emit_events => $10, p_timer_commits => $11,
      p_timer_actions => $12, p_timer_paths => $13, p_timer_fire_ats => $14, p_trace_max => 200)
  SQL
  TICK = <<~SQL.freeze
    SELECT CASE WHEN spawned + relayed + fired > 0 THEN 0
      ELSE greatest(0.01, least(1, next_at - extract(epoch FROM clock_timestamp()))) END AS pause FROM harel_tick()
  SQL
  # A text in the form that PostgreSQL gives it; nil is NULL.
  ARRAY = PG::TextEncoder::Array.new(elements_type: PG::TextEncoder::String.new)

  def decide(message)
    group_id, token, definition_id, version = message.values_at("group_id", "token", "definition_id", "version")
    nothing = { row: [group_id, token, definition_id, nil, version, nil, nil], emits: [], timers: [] }
    return nothing if message["already_processed"] == "t"

    exe, event = JSON.parse(message["data"] || "null"), JSON.parse(message["event"])
    # After a conflict it may be so; harel_next() gives none of these.
    raise "the execution is held back" if exe.nil? || %w[SUSPENDED CANCELLED FAILED].include?(exe["status"])

    step = MACHINES.fetch(definition_id).call(exe, event)
    return nothing if step.nil? # the event changes nothing

    trace = { event: event["kind"], from: exe["active_path"], to: step[:to], worker: ME }
    # Fields that this worker does not know stay as they are.
    exe.update("active_path" => step[:to], "status" => step.fetch(:status, "RUNNING"), "outcome" => step[:outcome],
               "context" => step[:context] || exe.fetch("context", {}), "version" => Integer(version) + 1)
    row = [group_id, token, definition_id, JSON.generate(exe), version, event["id"], JSON.generate(trace)]
    { row:, emits: step.fetch(:emits, []), timers: step.fetch(:timers, []) }
  end

  def finish(steps)
    # The items of all steps in one list, each with the number of its step, from 1.
    numbered = ->(name) { steps.each.with_index(1).flat_map { |step, n| step[name].map { |item| [n, *item] } } }
    emits = numbered[:emits].map { |n, target, event| [n, target, JSON.generate(event)] }
    columns = [[steps.map { |step| step[:row] }, 7], [emits, 3], [numbered[:timers], 4]].flat_map do |rows, width|
      Array.new(width) { |i| ARRAY.encode(rows.map { |row| row[i] }) }
    end
    @db.exec_params(FINISH, columns).column_values(1)
  end

  # Later and later; after 20 deliveries the message is a dead letter, for this reason.
  def give_back(message, error)
    delay = [60, 0.1 * 2**Integer(message["attempts"])].min
    @db.exec_params("SELECT harel_nack($1, $2, $3, $4)", [message["group_id"], message["token"], delay, error.message])
  end

  # Settles the messages, and returns those that are to be decided anew.
  def handle(messages)
    decided, steps = messages.filter_map { |message| attempt(message) }.transpose
    return [] if decided.nil?

    results = finish(steps)
    # finished is done, and expired: another has the message now.
    decided.zip(results).filter_map { |message, result| reload(message) if result == "conflict" }
  rescue PG::Error => e
    raise unless sqlstate(e).start_with?("ST")

    # One of the steps was refused, and so none is settled: each by itself.
    return decided.flat_map { |message| handle([message]) } if decided.size > 1

    give_back(decided.first, e)
    []
  end

  def attempt(message)
    [message, decide(message)]
  rescue StandardError => e
    give_back(message, e)
    nil
  end

  # Another commit came first: the message, with what that has left. The lease still holds.
  def reload(message)
    load = "SELECT data, version, already_processed FROM harel_load_for_event($1, $2)"
    message.merge(@db.exec_params(load, [message["group_id"], JSON.parse(message["event"])["id"]]).first)
  end

  def work
    ticked = 0
    until @stopping
      messages = @db.exec_params("SELECT * FROM harel_next($1, $2, $3, p_sleep => 2)", [ME, LEASE, BATCH]).to_a
      idle = messages.empty?
      messages = handle(messages) until messages.empty?
      next unless idle || Time.now.to_f > ticked + 1

      pause = Float(@db.exec(TICK).getvalue(0, 0))
      ticked = Time.now.to_f
      @db.wait_for_notify(pause) if idle && pause.positive? && !@stopping
    end
  end

  def run(dsn)
    %w[TERM INT].each { |signal| trap(signal) { @stopping = true } }
    until @stopping
      begin
        @db = PG.connect(dsn)
        @db.exec("LISTEN #{@db.quote_ident(@db.exec("SELECT harel_channel()").getvalue(0, 0))}")
        begun = true
        work
      rescue PG::Error => e
        say = e.message.split.join(" ")
        abort "there is no harel in this database: CREATE EXTENSION harel" if sqlstate(e) == "42883"
        # Lost connections, servers that end or are full, and deadlocks pass. The leases come back by themselves.
        abort "the database says: #{say}" unless begun && sqlstate(e).match?(/\A(08|40|53|57|\z)/)
        warn "#{say}; once more in a second"
        sleep 1
      ensure
        @db&.finish unless @db&.finished?
      end
    end
  end

  def sqlstate(error) = error.result&.error_field(PG::Result::PG_DIAG_SQLSTATE).to_s
end

dsn = ENV.fetch("HAREL_DSN", "")
if dsn.empty?
  warn "HAREL_DSN is not set: it names the database, as in postgresql://localhost/app"
  exit 2
end
Worker.new.run(dsn)
