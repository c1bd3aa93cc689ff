import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.net.InetAddress;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.postgresql.Driver;
import org.postgresql.PGConnection;

/** A worker in Java: harel's SQL functions, called through JDBC. */
public class Worker {
    static final int BATCH = 20; // messages, each of another execution
    static final double LEASE = 30; // seconds; harel_extend() prolongs the leases of steps that take longer
    static final Set<String> HELD_BACK = Set.of("SUSPENDED", "CANCELLED", "FAILED");
    static final Gson JSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

    record Event(String id, String kind, JsonObject data) {}
    record Emit(String target, Event event) {}
    record Timer(String action, String path, double fireAt) {}
    /** Where an event leads an execution, and what that causes. */
    record Step(String to, String status, String outcome, List<Emit> emits, List<Timer> timers) {}

    /** A machine decides a step, and does nothing else; null changes nothing. */
    static final Map<String, BiFunction<JsonObject, Event, Step>> MACHINES =
        Map.of("order", Worker::order, "warehouse", Worker::warehouse);

    static Step order(JsonObject exe, Event event) {
        String id = exe.get("id").getAsString();
        return switch (text(exe, "active_path") + " " + event.kind) {
            case "null Place" -> new Step("/paying", "RUNNING", null, List.of(),
                List.of(new Timer("schedule", "/paying", event.data.get("pay_until").getAsDouble())));
            // The id of an event is its dedupe key: the same, whoever decides this step.
            case "/paying Paid" -> new Step("/shipping", "RUNNING", null,
                List.of(new Emit("warehouse", new Event(id + ":Ship", "Ship", object("order", id)))),
                List.of(new Timer("cancel", "/paying", 0)));
            case "/paying Timeout" -> new Step("/expired", "DONE", "expired", List.of(), List.of());
            case "/shipping Shipped" -> new Step("/shipped", "DONE", "shipped", List.of(), List.of());
            default -> null;
        };
    }

    static Step warehouse(JsonObject exe, Event event) {
        if (!event.kind.equals("Ship")) return null;
        String order = event.data.get("order").getAsString();
        JsonObject context = exe.has("context") ? exe.getAsJsonObject("context") : new JsonObject();
        context.addProperty("shipped", context.has("shipped") ? context.get("shipped").getAsLong() + 1 : 1);
        exe.add("context", context);
        Event shipped = new Event(order + ":Shipped", "Shipped", new JsonObject());
        return new Step("/open", "RUNNING", null, List.of(new Emit(order, shipped)), List.of());
    }

    record Message(String group, String token, String event, int attempts, String definition,
                   String data, long version, boolean processed) {}

    /** A message with what its step writes; without data the message only goes. */
    record Decided(Message message, String data, String eventId, String trace, List<Emit> emits, List<Timer> timers) {}

    static final String NEXT = "SELECT * FROM harel_next(?, ?, ?, p_sleep => 2)";
    static final String FINISH = """
        SELECT result FROM harel_finish(
          p_group_ids => ?, p_tokens => ?, p_defns => ?, p_datas => ?, p_olds => ?, p_events => ?, p_traces => ?,
          p_emit_commits => ?, p_emit_targets => ?, p_emit_events => ?,
          p_timer_commits => ?, p_timer_actions => ?, p_timer_paths => ?, p_timer_fire_ats => ?, p_trace_max => 200)""";
    static final String LOAD = "SELECT data, version, already_processed FROM harel_load_for_event(?, ?)";
    static final String TICK = """
        SELECT CASE WHEN spawned + relayed + fired > 0 THEN 0
          ELSE greatest(0.01, least(1, next_at - extract(epoch FROM clock_timestamp()))) END FROM harel_tick()""";

    final Connection db;
    final String me;

    Worker(Connection db, String me) {
        this.db = db;
        this.me = me;
    }

    Decided decide(Message m) {
        Decided nothing = new Decided(m, null, null, null, List.of(), List.of());
        if (m.processed) return nothing;
        JsonObject exe = JSON.fromJson(m.data, JsonObject.class);
        Event event = JSON.fromJson(m.event, Event.class);
        // After a conflict it may be so; harel_next() gives none of these.
        if (exe == null || HELD_BACK.contains(Objects.toString(text(exe, "status"))))
            throw new IllegalStateException("the execution is held back");
        if (!MACHINES.containsKey(m.definition))
            throw new IllegalStateException("there is no machine for " + m.definition);
        String from = text(exe, "active_path");
        Step step = MACHINES.get(m.definition).apply(exe, event);
        if (step == null) return nothing;
        // Fields that this worker does not know stay as they are.
        exe.addProperty("active_path", step.to);
        exe.addProperty("status", step.status);
        exe.addProperty("outcome", step.outcome);
        exe.addProperty("version", m.version + 1);
        JsonObject trace = object("event", event.kind);
        trace.addProperty("from", from);
        trace.addProperty("to", step.to);
        trace.addProperty("worker", me);
        return new Decided(m, JSON.toJson(exe), event.id, JSON.toJson(trace), step.emits, step.timers);
    }

    /** Settles a batch, and returns the result for each. */
    List<String> finish(List<Decided> batch) throws SQLException {
        // The items of all steps in one list, each with the number of its step, from 1.
        List<Integer> emitters = new ArrayList<>(), timed = new ArrayList<>();
        List<Emit> emits = new ArrayList<>();
        List<Timer> timers = new ArrayList<>();
        for (int i = 0; i < batch.size(); i++) {
            for (Emit emit : batch.get(i).emits) { emitters.add(i + 1); emits.add(emit); }
            for (Timer timer : batch.get(i).timers) { timed.add(i + 1); timers.add(timer); }
        }
        List<String> results = new ArrayList<>();
        query(FINISH, row -> results.add(row.getString(1)),
            array("text", batch, d -> d.message.group), array("uuid", batch, d -> d.message.token),
            array("text", batch, d -> d.message.definition), array("text", batch, Decided::data),
            array("bigint", batch, d -> d.message.version), array("text", batch, Decided::eventId),
            array("text", batch, Decided::trace),
            array("integer", emitters, n -> n), array("text", emits, Emit::target),
            array("text", emits, e -> JSON.toJson(e.event)),
            array("integer", timed, n -> n), array("text", timers, Timer::action), array("text", timers, Timer::path),
            array("float8", timers, Timer::fireAt));
        return results;
    }

    <T> Array array(String type, List<T> items, Function<T, Object> value) throws SQLException {
        return db.createArrayOf(type, items.stream().map(value).toArray());
    }

    /** It is delivered later and later; after 20 deliveries the message is a dead letter, for this reason. */
    void giveBack(Message m, Exception reason) throws SQLException {
        double delay = Math.min(60, 0.1 * Math.pow(2, m.attempts));
        query("SELECT harel_nack(?, ?::uuid, ?, ?)", row -> {}, m.group, m.token, delay, reason.toString());
    }

    /** Settles messages, and those again for which another commit was faster. */
    void handle(List<Message> messages) throws SQLException {
        List<Decided> steps = new ArrayList<>();
        for (Message m : messages) {
            try {
                steps.add(decide(m));
            } catch (RuntimeException e) {
                giveBack(m, e);
            }
        }
        List<Message> again = new ArrayList<>();
        try {
            List<String> results = finish(steps);
            for (int i = 0; i < results.size(); i++) {
                // finished is done, and expired: another has the message now.
                if (!results.get(i).equals("conflict")) continue;
                Message m = steps.get(i).message;
                query(LOAD, row -> again.add(new Message(m.group, m.token, m.event, m.attempts, m.definition,
                    row.getString(1), row.getLong(2), row.getBoolean(3))), m.group, steps.get(i).eventId);
            }
        } catch (SQLException e) {
            if (!state(e).startsWith("ST")) throw e;
            // One of the steps was refused, and so none is settled: each by itself.
            if (steps.size() == 1) giveBack(steps.get(0).message, e);
            else for (Decided d : steps) handle(List.of(d.message));
        }
        if (!again.isEmpty()) handle(again);
    }

    void work() throws SQLException {
        long ticked = 0;
        while (!stopping) {
            List<Message> messages = new ArrayList<>();
            query(NEXT, row -> messages.add(new Message(row.getString("group_id"), row.getString("token"),
                row.getString("event"), row.getInt("attempts"), row.getString("definition_id"), row.getString("data"),
                row.getLong("version"), row.getBoolean("already_processed"))), me, LEASE, BATCH);
            if (!messages.isEmpty()) {
                handle(messages);
                if (System.currentTimeMillis() < ticked + 1000) continue;
            }
            double[] pause = {0};
            query(TICK, row -> pause[0] = row.getDouble(1));
            ticked = System.currentTimeMillis();
            // A timeout of 0 would be for ever.
            if (messages.isEmpty() && pause[0] > 0 && !stopping)
                db.unwrap(PGConnection.class).getNotifications((int) Math.ceil(pause[0] * 1000));
        }
    }

    interface Rows {
        void accept(ResultSet row) throws SQLException;
    }

    void query(String sql, Rows rows, Object... parameters) throws SQLException {
        try (PreparedStatement statement = db.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) statement.setObject(i + 1, parameters[i]);
            if (!statement.execute()) return;
            try (ResultSet row = statement.getResultSet()) {
                while (row.next()) rows.accept(row);
            }
        }
    }

    static String text(JsonObject object, String name) {
        return object.has(name) && !object.get(name).isJsonNull() ? object.get(name).getAsString() : null;
    }

    static JsonObject object(String name, String value) {
        JsonObject object = new JsonObject();
        object.addProperty(name, value);
        return object;
    }

    /** Ends at once, without what is done at SIGTERM. */
    static void end(int code, String message) {
        System.err.println(message);
        Runtime.getRuntime().halt(code);
    }

    static String line(SQLException e) {
        return e.getMessage().replaceAll("\\s+", " ");
    }

    static String state(SQLException e) {
        return Objects.toString(e.getSQLState(), "");
    }

    static final Logger DRIVER_LOG = Logger.getLogger("org.postgresql");
    static volatile boolean stopping;
    static volatile int exitCode = 1;

    public static void main(String[] arguments) throws Exception {
        String dsn = System.getenv("HAREL_DSN");
        // The driver would log a URL that it cannot read, and the password in it.
        DRIVER_LOG.setLevel(Level.OFF);
        if (dsn == null || !new Driver().acceptsURL(dsn))
            end(2, "HAREL_DSN is not set to a JDBC URL, as in jdbc:postgresql://localhost/app?user=me");
        String me = "java:" + InetAddress.getLocalHost().getHostName() + ":" + ProcessHandle.current().pid();
        Thread main = Thread.currentThread();
        // On SIGTERM and Ctrl-C: what has begun is finished, and that is a good end.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping = true;
            try {
                main.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(exitCode);
        }));
        for (boolean begun = false; !stopping; ) {
            try (Connection db = DriverManager.getConnection(dsn)) {
                Worker worker = new Worker(db, me);
                worker.query("DO $$ BEGIN EXECUTE format('LISTEN %I', harel_channel()); END $$", row -> {});
                begun = true;
                worker.work();
            } catch (SQLException e) {
                if (state(e).equals("42883")) end(1, "there is no harel in this database: CREATE EXTENSION harel");
                // Lost connections, servers that end or are full, and deadlocks pass; leases come back by themselves.
                if (!begun || !state(e).matches("(08|40|53|57).*")) end(1, "the database says: " + line(e));
                System.err.println(line(e) + "; once more in a second");
                Thread.sleep(1000);
            }
        }
        exitCode = 0;
    }
}
